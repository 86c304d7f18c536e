/**
 * SOAK_FILLS rounds of a member on each of ext4, xfs, btrfs and tmpfs, 400 MiB each, in each sync
 * mode. Another file fills the disk while clients write. Until the file is removed, writes are
 * refused and reads are served. In every second round the member is killed while the disk is full,
 * and started again. Writes are accepted within PATIENCE_MS once there is space, no acknowledged
 * change is lost, and the disk is never reported as failed. SOAK_SYSTEMS: the file systems. Needs
 * to mount file systems.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RawClient } from '../integration/client.ts';
import { type LogLine, serveWith } from '../integration/member-process.ts';
import { type FileSystem, isAccepted, type MountedDisk, testOnDisk } from './mounted-disk.ts';
import { PossibleEntries } from './possible-entries.ts';

const ROUNDS = Number(process.env.SOAK_FILLS ?? Number(process.env.SOAK_SIZE ?? 1000) / 500);
const SYSTEMS = (process.env.SOAK_SYSTEMS ?? 'ext4,xfs,btrfs,tmpfs').split(',') as FileSystem[];
const MODES = ['always', 'interval', 'never'] as const;
const MEGABYTES = 400;
const PATIENCE_MS = 10_000;
const CLIENTS = 4;
const KEYS = 40;
const VALUE_BYTES = 100_000;
/** Number of refusals that show that the disk is full, and the maximum time until then, in ms. */
const REFUSALS = 20;
const FULL_MS_MAX = 120_000;

class FilledMember {
  readonly #disk: MountedDisk;
  readonly #mode: string;
  readonly #entries = new PossibleEntries();
  #child!: ChildProcess;
  #port = 0;
  #lines: readonly LogLine[] = [];
  #isWriting = false;
  #number = 0;
  #accepted = 0;
  #refused = 0;
  #slowestMs = 0;

  constructor(disk: MountedDisk, mode: string) {
    this.#disk = disk;
    this.#mode = mode;
  }

  async run(): Promise<string> {
    await this.#start();
    for (let round = 0; round < ROUNDS; round++) await this.#round(round);
    this.#child.kill('SIGTERM');
    assert.deepEqual(await once(this.#child, 'exit'), [0, null]);
    const slowestMs = Math.round(this.#slowestMs);
    return `${this.#accepted} writes, ${this.#refused} refused, writes accepted after ${slowestMs} ms`;
  }

  async #round(round: number): Promise<void> {
    const ballast = join(this.#disk.path, 'ballast');
    this.#isWriting = true;
    const clients = Array.from({ length: CLIENTS }, (_, client) => this.#write(client));
    await sleep(500);
    const refusedBefore = this.#refused;
    const fromMs = performance.now();
    while (this.#refused < refusedBefore + REFUSALS) {
      await fill(ballast);
      assert.ok(performance.now() - fromMs < FULL_MS_MAX, 'writes are not refused on a full disk');
    }
    if (round % 2 === 1) {
      this.#isWriting = false;
      this.#child.kill('SIGKILL');
      await Promise.all([once(this.#child, 'exit'), ...clients]);
      await this.#start().catch(async (error: Error) => {
        // Only xfs needs free blocks for every new file, and thus for the lock
        // (docs/durability.md).
        assert.match(error.message, /ENOSPC: no space left on device [^ ]*lock/);
        rmSync(ballast);
        await this.#start();
      });
    } else {
      rmSync(ballast);
      await this.#awaitSpace();
      this.#isWriting = false;
      await Promise.all(clients);
    }
    await this.#entries.check(this.#port);
    rmSync(ballast, { force: true });
    await this.#awaitSpace();
    assert.ok(!this.#lines.some(({ msg }) => msg.includes('failed')));
  }

  async #start(): Promise<void> {
    const directory = join(this.#disk.path, 'data');
    const environment = { GRID_PERSISTENCE_SYNC: this.#mode };
    const flags = ['--enable-group', 'DATA', '--data-dir', directory];
    const { child, port, lines } = await serveWith({ environment }, ...flags);
    this.#child = child;
    this.#port = port;
    this.#lines = lines;
  }

  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  /** Returns the end of the member's log. */
  describe(): string {
    return this.#lines
      .slice(-40)
      .map((line) => JSON.stringify(line))
      .join('\n');
  }

  async #write(client: number): Promise<void> {
    const connection = new RawClient(this.#port);
    try {
      for (let count = 0; this.#isWriting; count++) {
        const isSet = await this.#set(connection, `${client}-${count % KEYS}`);
        if (isSet) this.#accepted++;
        else {
          this.#refused++;
          await sleep(5);
        }
        const { status } = await connection.request('GET', `maps/m/${client}-0`);
        assert.ok(status === 200 || status === 204, `a read got ${status}`);
      }
    } catch (error) {
      if (error instanceof assert.AssertionError || this.#isWriting) throw error;
    } finally {
      connection.destroy();
    }
  }

  async #set(connection: RawClient, key: string): Promise<boolean> {
    const value = `${key} ${++this.#number} ${'v'.repeat(VALUE_BYTES)}`;
    return isAccepted(await this.#entries.change(connection, `maps/m/${key}`, Buffer.from(value)));
  }

  async #awaitSpace(): Promise<void> {
    const connection = new RawClient(this.#port);
    const fromMs = performance.now();
    while (!(await this.#set(connection, 'probe'))) {
      assert.ok(performance.now() - fromMs < PATIENCE_MS, 'writes are still refused');
      await sleep(20);
    }
    this.#slowestMs = Math.max(this.#slowestMs, performance.now() - fromMs);
    connection.destroy();
  }
}

/** Appends to the file until the disk is full. */
async function fill(path: string): Promise<void> {
  for (const bytes of ['1M', '4k']) {
    const words = ['if=/dev/zero', `of=${path}`, `bs=${bytes}`, 'oflag=append', 'conv=notrunc'];
    await once(spawn('dd', words, { stdio: 'ignore' }), 'exit');
  }
}

for (const system of SYSTEMS) {
  for (const mode of MODES) {
    const name = `A member with sync ${mode} on ${system} survives a full disk ${ROUNDS} times`;
    testOnDisk(name, system, MEGABYTES, (disk) => new FilledMember(disk, mode));
  }
}
