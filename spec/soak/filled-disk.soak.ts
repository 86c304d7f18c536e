/**
 * SOAK_FILLS rounds of a member on each of ext4, xfs, btrfs and tmpfs, 400 MiB each, in one sync mode after
 * the other. Another file fills the disk while clients write. Until it is removed, writes are refused and
 * reads go on. In every second round the member is killed while the disk is full, and started again. Writes
 * are taken within PATIENCE_MS once there is room, nothing that was answered is lost, and the disk never
 * counts as a failed one. SOAK_SYSTEMS: the file systems. Needs to mount file systems.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { start } from '../cli/gridnode-process.ts';
import { RawClient } from '../integration/client.ts';
import { type FileSystem, MountedDisk } from './mounted-disk.ts';
import { portOf } from './port-of.ts';

const ROUNDS = Number(process.env.SOAK_FILLS ?? Number(process.env.SOAK_SIZE ?? 1000) / 500);
const SYSTEMS = (process.env.SOAK_SYSTEMS ?? 'ext4,xfs,btrfs,tmpfs').split(',') as FileSystem[];
const MODES = ['always', 'interval', 'never'] as const;
const MEGABYTES = 400;
const PATIENCE_MS = 10_000;
const CLIENTS = 4;
const KEYS = 40;
const VALUE_BYTES = 100_000;
/** Refusals that show that the disk is full, and the time within which they come, in ms. */
const REFUSALS = 20;
const FULL_MS_MAX = 120_000;

class Round {
  readonly #disk: MountedDisk;
  readonly #mode: string;
  /** The last value that was answered, by key, and one whose answer has not come. */
  readonly #sure = new Map<string, string>();
  readonly #unsure = new Map<string, string>();
  #child!: ChildProcess;
  #port = 0;
  #lines: string[] = [];
  #isWriting = false;
  #number = 0;
  taken = 0;
  refused = 0;
  slowestMs = 0;

  constructor(disk: MountedDisk, mode: string) {
    this.#disk = disk;
    this.#mode = mode;
  }

  async run(round: number): Promise<void> {
    const ballast = join(this.#disk.path, 'ballast');
    if (round === 0) await this.start();
    this.#isWriting = true;
    const clients = Array.from({ length: CLIENTS }, (_, client) => this.#write(client));
    await sleep(500);
    const refusedBefore = this.refused;
    const fromMs = performance.now();
    while (this.refused < refusedBefore + REFUSALS) {
      await fill(ballast);
      assert.ok(performance.now() - fromMs < FULL_MS_MAX, 'writes are refused on a full disk');
    }
    if (round % 2 === 1) {
      this.#isWriting = false;
      this.#child.kill('SIGKILL');
      await Promise.all([once(this.#child, 'exit'), ...clients]);
      await this.start().catch(async (error: Error) => {
        // Only xfs needs free blocks for any new file, and so for the lock (docs/durability.md).
        assert.match(error.message, /ENOSPC: no space left on device [^ ]*lock/);
        rmSync(ballast);
        await this.start();
      });
    } else {
      rmSync(ballast);
      await this.#awaitRoom();
      this.#isWriting = false;
      await Promise.all(clients);
    }
    await this.#check();
    rmSync(ballast, { force: true });
    await this.#awaitRoom();
    assert.ok(!this.#lines.some((line) => line.includes('failed')), this.#lines.join('\n'));
  }

  async start(): Promise<void> {
    const flags = ['--port', '0', '--enable-group', 'DATA'];
    const directory = join(this.#disk.path, 'data');
    this.#child = start(['serve', ...flags, '--data-dir', directory], {
      GRID_PERSISTENCE_SYNC: this.#mode,
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', (line) => this.#lines.push(line));
    }
    this.#port = await portOf(this.#child);
  }

  /** Ends the member as a stop does. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    assert.deepEqual(await once(this.#child, 'exit'), [0, null], this.#lines.join('\n'));
  }

  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  /** The end of the member's log, and the files. */
  describe(): string {
    return [...this.#lines.slice(-40), ...this.#disk.describe('data')].join('\n');
  }

  async #write(client: number): Promise<void> {
    const connection = new RawClient(this.#port);
    try {
      for (let count = 0; this.#isWriting; count++) {
        const isTaken = await this.#set(connection, `${client}-${count % KEYS}`);
        if (isTaken) this.taken++;
        else {
          this.refused++;
          await sleep(5);
        }
        const { status } = await connection.request('GET', `maps/m/${client}-0`);
        assert.ok(status === 200 || status === 204, `a read is answered with ${status}`);
      }
    } catch (error) {
      if (error instanceof assert.AssertionError || this.#isWriting) throw error;
    } finally {
      connection.destroy();
    }
  }

  async #set(connection: RawClient, key: string): Promise<boolean> {
    const value = `${key} ${++this.#number} ${'v'.repeat(VALUE_BYTES)}`;
    this.#unsure.set(key, value);
    const { status, body } = await connection.request('POST', `maps/m/${key}`, Buffer.from(value));
    this.#unsure.delete(key);
    if (status === 200) this.#sure.set(key, value);
    else assert.match(body.toString(), /the disk is full/);
    return status === 200;
  }

  async #awaitRoom(): Promise<void> {
    const connection = new RawClient(this.#port);
    const fromMs = performance.now();
    while (!(await this.#set(connection, 'probe'))) {
      assert.ok(performance.now() - fromMs < PATIENCE_MS, 'writes are still refused');
      await sleep(20);
    }
    this.slowestMs = Math.max(this.slowestMs, performance.now() - fromMs);
    connection.destroy();
  }

  async #check(): Promise<void> {
    const connection = new RawClient(this.#port);
    for (const key of new Set([...this.#sure.keys(), ...this.#unsure.keys()])) {
      const { status, body } = await connection.request('GET', `maps/m/${key}`);
      const found = status === 200 ? body.toString() : undefined;
      const possible = [
        this.#sure.get(key),
        ...(this.#unsure.has(key) ? [this.#unsure.get(key)] : []),
      ];
      assert.ok(possible.includes(found), `${key}: ${status} ${found?.slice(0, 30)}`);
      if (found !== undefined) this.#sure.set(key, found);
    }
    this.#unsure.clear();
    connection.destroy();
  }
}

/** Adds to the file until the disk is full. */
async function fill(path: string): Promise<void> {
  for (const bytes of ['1M', '4k']) {
    const words = ['if=/dev/zero', `of=${path}`, `bs=${bytes}`, 'oflag=append', 'conv=notrunc'];
    await once(spawn('dd', words, { stdio: 'ignore' }), 'exit');
  }
}

for (const system of SYSTEMS) {
  for (const mode of MODES) {
    test(`${system} with sync ${mode} is filled ${ROUNDS} times under writes`, async (context) => {
      let disk: MountedDisk;
      try {
        disk = new MountedDisk(system, MEGABYTES);
      } catch (error) {
        context.skip(`cannot mount a file system here: ${(error as Error).message}`);
        return;
      }
      const round = new Round(disk, mode);
      try {
        for (let count = 0; count < ROUNDS; count++) await round.run(count);
        await round.stop();
        const { taken, refused, slowestMs } = round;
        console.log(
          `${system}, ${mode}: ${taken} writes, ${refused} refused, room after ${Math.round(slowestMs)} ms`,
        );
      } catch (error) {
        console.log(`${system}, ${mode}\n${round.describe()}`);
        throw error;
      } finally {
        round.kill();
        disk.drop();
      }
    });
  }
}
