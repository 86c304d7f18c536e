/**
 * Members with the defaults in containers of 128, 256 and 512 MiB, SOAK_SECONDS each. Clients
 * upload 15 MiB at a time, some incompletely. They write values of all lengths until there is no
 * memory, delete, and read; some do not read the responses. A second test has a data directory, and
 * starts the member again after a clean stop and after kill -9. The system kills no member, and
 * every acknowledged change is present. Needs root and control groups.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { residentMibOf } from '../../bench/load/process-figures.ts';
import { RawClient } from '../integration/client.ts';
import { serveWith } from '../integration/member-process.ts';
import { ControlGroup } from './control-group.ts';
import { PossibleEntries } from './possible-entries.ts';

const SECONDS = Number(process.env.SOAK_SECONDS ?? 10);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const MIB = 1_048_576;
const SIZES_MIB = (process.env.SOAK_SIZES_MIB ?? '128,256,512').split(',').map(Number);
const UPLOADERS = 16;
const UPLOAD_BYTES = 15 * MIB;
const UPLOAD_PIECE = Buffer.alloc(262_144, 'u');
const WRITERS = 8;
const READERS = 4;
const UNREAD_CLIENTS = 8;
const LENGTHS = [200, 4000, 20_000, 60_000, 400_000];
const REFUSALS = 20;
/** Signals that end a member whose data is on the disk, and its exit codes. */
const ENDS = [
  ['SIGTERM', 0],
  ['SIGKILL', null],
] as const;

class Work {
  readonly entries = new PossibleEntries();
  refusals = 0;
  uploads = 0;
  readonly #port: number;
  readonly #random: Random;
  readonly #endMs = Date.now() + SECONDS * 1000;

  constructor(port: number, random: Random) {
    this.#port = port;
    this.#random = random;
  }

  async run(): Promise<void> {
    const all = [
      ...Array.from({ length: UPLOADERS }, (_, index) => this.#upload(index)),
      ...Array.from({ length: WRITERS }, (_, index) => this.#write(index)),
      ...Array.from({ length: READERS }, () => this.#read()),
      ...Array.from({ length: UNREAD_CLIENTS }, () => this.#requestUnread()),
    ];
    await Promise.all(all);
  }

  get #isOver(): boolean {
    return Date.now() >= this.#endMs;
  }

  /** Uploads values of 15 MiB, one after the other; every third one is cut short. */
  async #upload(index: number): Promise<void> {
    for (let count = 0; !this.#isOver; count++) {
      const path = `maps/uploads/${index}`;
      const socket = connect(this.#port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(
        `POST /grid/rest/${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${UPLOAD_BYTES}\r\n\r\n`,
      );
      const sent = (index + count) % 3 === 0 ? UPLOAD_BYTES / 2 : UPLOAD_BYTES;
      const responded = Promise.race([once(socket, 'data'), once(socket, 'close')]).catch(() => {});
      for (let at = 0; at < sent && socket.writable; at += UPLOAD_PIECE.length) {
        const drained = socket.write(UPLOAD_PIECE) || once(socket, 'drain').catch(() => {});
        await Promise.race([drained, sleep(1000)]);
      }
      await Promise.race([responded, sleep(6000, undefined, { ref: false })]);
      socket.destroy();
      this.uploads++;
      await sleep(this.#random.below(200));
    }
  }

  /** Fills the memory with values of one range of lengths after the other, and frees some. */
  async #write(index: number): Promise<void> {
    const client = new RawClient(this.#port);
    for (let round = 0; !this.#isOver; round++) {
      const lengthMax = LENGTHS[this.#random.below(LENGTHS.length)] ?? 1;
      for (let refused = 0; refused < REFUSALS && !this.#isOver; ) {
        const path = `maps/m${index}/${this.#random.below(100_000)}`;
        const value = Buffer.alloc(this.#random.below(lengthMax), `${index}.${round}.${refused} `);
        const { status } = await this.entries.change(client, path, value);
        if (status === 200) continue;
        assert.equal(status, 503);
        refused++;
        this.refusals++;
      }
      await this.#free(client, `maps/m${index}/`);
    }
    client.destroy();
  }

  async #free(client: RawClient, map: string): Promise<void> {
    const share = 1 + this.#random.below(4);
    for (const [path, value] of [...this.entries.confirmed]) {
      if (value === undefined || !path.startsWith(map)) continue;
      if (this.#random.below(share) > 0 || this.#isOver) continue;
      assert.equal((await this.entries.change(client, path)).status, 200);
    }
    await client.request('DELETE', `maps/uploads/${this.#random.below(UPLOADERS)}`);
  }

  async #read(): Promise<void> {
    const client = new RawClient(this.#port);
    while (!this.#isOver) {
      const paths = [...this.entries.confirmed.keys()].slice(-1000);
      const path = paths[this.#random.below(Math.max(paths.length, 1))] ?? 'maps/m0/0';
      const { status } = await client.request('GET', path);
      assert.ok(status === 200 || status === 204);
    }
    client.destroy();
  }

  /** Requests large values repeatedly without reading the responses. */
  async #requestUnread(): Promise<void> {
    while (!this.#isOver) {
      const socket = connect(this.#port, '127.0.0.1');
      socket.on('error', () => {}).pause();
      for (let index = 0; index < UPLOADERS; index++) {
        socket.write(`GET /grid/rest/maps/uploads/${index} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      }
      await sleep(500 + this.#random.below(2000));
      socket.destroy();
    }
  }
}

for (const mib of SIZES_MIB) {
  for (const isStored of [false, true]) {
    const kind = isStored ? ' with data on the disk' : '';
    test(`A member in a container of ${mib} MiB${kind} is not killed (seed ${SEED})`, async () => {
      const directory = mkdtempSync(join(tmpdir(), 'gridnode-container-'));
      const group = new ControlGroup(`gridnode-${process.pid}-${mib}-${isStored}`, mib * MIB);
      const flags = isStored ? ['--data-dir', join(directory, 'data')] : [];
      const launch = { runner: group.runner, isBuilt: true };
      const start = () => serveWith(launch, '--enable-group', 'DATA', ...flags);
      let member: Awaited<ReturnType<typeof start>> | undefined;
      try {
        member = await start();
        const work = new Work(member.port, new Random(SEED));
        await work.run();
        await work.entries.check(member.port);
        const resident = [residentMibOf(member.child.pid)];
        for (const [signal, code] of isStored ? ENDS : []) {
          member.child.kill(signal);
          assert.equal((await member.exited)[0], code);
          member = await start();
          resident.push(residentMibOf(member.child.pid));
          await work.entries.check(member.port);
        }
        member.child.kill('SIGTERM');
        assert.equal((await member.exited)[0], 0);
        assert.equal(group.killed, 0);
        const { refusals, uploads, entries } = work;
        const summary = `${entries.confirmed.size} keys, ${refusals} refused, ${uploads} uploads`;
        console.log(
          `${mib} MiB${kind}: ${summary}; resident ${resident.map((each) => each?.toFixed()).join(', ')} MiB`,
        );
      } finally {
        member?.child.kill('SIGKILL');
        await sleep(200);
        group.remove();
        rmSync(directory, { recursive: true, force: true });
      }
    });
  }
}
