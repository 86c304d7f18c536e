/**
 * Rounds of a member on a disk of 48 to 200 MiB, ext4 or tmpfs, in one of the sync modes. It is filled
 * with overwrites until writes are refused, killed or not, and freed by deletes, clears, polls and
 * smaller values. Writes are taken within 5 s once there is room, and no answered change is lost. In the
 * end no handle is on a removed file, and no block belongs to no file. A round that fails tells the end
 * of the member's log and the files on the disk. SOAK_SEED is the first seed, SOAK_ROUNDS the number of
 * rounds. Needs to mount file systems; where that fails, the test says so and is skipped.
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { start } from '../cli/gridnode-process.ts';
import { RawClient } from '../integration/client.ts';
import { type FileSystem, MountedDisk } from './mounted-disk.ts';
import { portOf } from './port-of.ts';

const SIZE = Number(process.env.SOAK_SIZE ?? 1000);
const ROUNDS = Number(process.env.SOAK_ROUNDS ?? Math.ceil(SIZE / 50));
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const DATA = 'data';
const MODES = ['always', 'interval', 'never'] as const;
const CLIENTS = 6;
const MAPS = 3;
/** Live values of up to this share of the usable space leave room. */
const LIVE_SHARE = 0.7;
const CYCLES = 3;
const PATIENCE_MS = 5000;
/** Lines of the member's log that a failed round tells. */
const LINES_MAX = 60;
/** Bytes of a record beside key and value, at most. */
const RECORD_BYTES = 96;
/** Bytes by which a file system's own structures may have grown. */
const STRUCTURE_BYTES = 1_048_576;

/** A value by its key, its number and its length; undefined for none. */
type Stored = { readonly number: number; readonly length: number } | undefined;

class Round {
  readonly #random: Random;
  readonly #mode: string;
  readonly #disk: MountedDisk;
  readonly #keys: number;
  readonly #lengthMax: number;
  /** Values by map and key; two where an answer has not come. */
  readonly #stored = new Map<string, Stored[]>();
  /** Bytes of the items that were offered, answered or not, and not delivered, by their numbers. */
  readonly #items = new Map<number, number>();
  /** Number of items in the queue; below, by how many it may be wrong. */
  #itemCount = 0;
  #unsureOffers = 0;
  #unsurePolls = 0;
  #number = 0;
  #child!: ChildProcess;
  #port = 0;
  /** The end of the member's log, with the steps of the round. */
  readonly #lines: string[] = [];
  slowestMs = 0;
  refusedRemovals = 0;

  constructor(random: Random, mode: string, disk: MountedDisk) {
    this.#random = random;
    this.#mode = mode;
    this.#disk = disk;
    this.#lengthMax = [2000, 20_000, 60_000][random.below(3)] ?? 2000;
    // Live values alone may fill the disk, and half as much again.
    this.#keys = Math.floor((disk.usableBytes * (0.5 + random.below(100) / 100)) / this.#lengthMax);
  }

  async run(): Promise<void> {
    await this.#start();
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      await this.#fill();
      if (this.#random.below(2) === 0) await this.#restart('SIGKILL');
      await this.#free();
      await this.#awaitRoom();
      if (this.#random.below(3) === 0) await this.#restart('SIGTERM');
    }
    await this.#restart('SIGTERM');
    await sleep(1500);
    const folder = `/proc/${this.#child.pid}/fd`;
    const removed = readdirSync(folder)
      .map((name) => readLink(join(folder, name)))
      .filter((target) => target.endsWith('(deleted)') && target.startsWith(this.#disk.path));
    assert.deepEqual(removed, [], 'a removed file is open');
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
    assert.ok(
      this.#disk.unnamedBytes < STRUCTURE_BYTES,
      `${this.#disk.unnamedBytes} bytes are nobody's`,
    );
  }

  /** Ends a member that still runs. */
  stop(): void {
    this.#child.kill('SIGKILL');
  }

  /** The end of the member's log and the state of the disk, in lines. */
  describe(): string {
    return [...this.#lines, ...this.#disk.describe(DATA)].join('\n');
  }

  async #start(): Promise<void> {
    const directory = join(this.#disk.path, DATA);
    const flags = ['--port', '0', '--enable-group', 'DATA', '--data-dir', directory];
    this.#child = start(['serve', ...flags], { GRID_PERSISTENCE_SYNC: this.#mode });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', (line) => this.#note(line));
    }
    this.#port = await portOf(this.#child);
    await this.#check();
  }

  #note(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > LINES_MAX) this.#lines.shift();
  }

  #noteStep(step: string): void {
    const { freeBytes, usableBytes } = this.#disk;
    const time = new Date().toISOString();
    this.#note(`${time} ${step}: ${this.#liveBytes} of ${usableBytes} live, ${freeBytes} free`);
  }

  async #restart(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const exited = once(this.#child, 'exit');
    // Each change under way is there as a whole after that, or not at all.
    const under = signal === 'SIGKILL' ? this.#work(40) : Promise.resolve();
    if (signal === 'SIGKILL') await sleep(this.#random.below(60));
    this.#noteStep(signal);
    this.#child.kill(signal);
    await Promise.all([exited, under]);
    if (signal === 'SIGTERM') assert.equal((await exited)[0], 0);
    await this.#start();
  }

  /** Sets and offers until each is refused, or until twice the disk was written. */
  async #fill(): Promise<void> {
    this.#noteStep('fills');
    await this.#work((4 * this.#disk.usableBytes) / this.#lengthMax / CLIENTS);
  }

  async #work(countMax: number): Promise<void> {
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, index) => {
        const client = new RawClient(this.#port);
        try {
          for (let count = 0, refused = 0; refused < 5 && count < countMax; count++) {
            const isOffer = this.#random.below(10) === 0;
            const length = this.#random.below(this.#lengthMax);
            const key = index + CLIENTS * this.#random.below(Math.ceil(this.#keys / CLIENTS));
            const taken = isOffer
              ? await this.#offer(client, length)
              : await this.#change(client, `m${key % MAPS}/k${key}`, length);
            refused = taken ? 0 : refused + 1;
            if (!taken) await sleep(20);
          }
        } catch (error) {
          // Otherwise the member was killed.
          if (error instanceof assert.AssertionError) throw error;
        } finally {
          client.destroy();
        }
      }),
    );
  }

  /** Removes entries and items, by random kinds of removals, until the live records leave room. */
  async #free(): Promise<void> {
    this.#noteStep('removes');
    const client = new RawClient(this.#port);
    const room = this.#disk.usableBytes * (LIVE_SHARE - 0.02);
    const kind = this.#random.below(3);
    if (kind === 0) {
      const map = `m${this.#random.below(MAPS)}`;
      await this.#insist(() => this.#clear(client, map));
    }
    if (kind === 1)
      for (let more = this.#itemCount; more > 0; more--) {
        await this.#insist(() => this.#poll(client));
      }
    let live = this.#liveBytes;
    for (const [key, [stored]] of this.#stored) {
      if (live <= room) break;
      if (stored === undefined) continue;
      await this.#insist(() => this.#change(client, key, undefined));
      live -= liveBytesOf(key, stored);
    }
    client.destroy();
  }

  /** Repeats a removal until it is taken: it is as long as there is room for a record. */
  async #insist(remove: () => Promise<boolean>): Promise<void> {
    const fromMs = performance.now();
    while (!(await remove())) {
      this.refusedRemovals++;
      assert.ok(performance.now() - fromMs < PATIENCE_MS, 'removals are still refused');
      await sleep(20);
    }
  }

  async #awaitRoom(): Promise<void> {
    this.#noteStep('waits for room');
    const client = new RawClient(this.#port);
    const fromMs = performance.now();
    while (!(await this.#change(client, 'm0/probe', 100))) {
      const live = `${this.#liveBytes} of ${this.#disk.usableBytes}, ${this.#disk.freeBytes} free`;
      assert.ok(performance.now() - fromMs < PATIENCE_MS, `writes are still refused: ${live}`);
      await sleep(20);
    }
    this.slowestMs = Math.max(this.slowestMs, performance.now() - fromMs);
    // Smaller values make room, too.
    for (const [key, [stored]] of [...this.#stored].slice(0, 200)) {
      if (stored !== undefined) await this.#change(client, key, stored.length >> 2);
    }
    client.destroy();
  }

  get #liveBytes(): number {
    let bytes = 0;
    for (const [key, [stored]] of this.#stored) {
      if (stored !== undefined) bytes += liveBytesOf(key, stored);
    }
    const lengths = [...this.#items.values()].reduce((sum, length) => sum + length, 0);
    return bytes + lengths + this.#items.size * RECORD_BYTES;
  }

  async #change(client: RawClient, key: string, length: number | undefined): Promise<boolean> {
    const number = ++this.#number;
    const next = length === undefined ? undefined : { number, length };
    const [before] = this.#stored.get(key) ?? [];
    this.#stored.set(key, [before, next]);
    const body = next && contentOf(key, next);
    const method = next === undefined ? 'DELETE' : 'POST';
    const { status, body: told } = await client.request(method, `maps/${key}`, body);
    this.#stored.set(key, [status === 200 ? next : before]);
    return isTaken(status, told);
  }

  async #clear(client: RawClient, map: string): Promise<boolean> {
    const { status, body } = await client.request('DELETE', `maps/${map}`);
    if (status === 200) {
      for (const key of this.#stored.keys())
        if (key.startsWith(map)) this.#stored.set(key, [undefined]);
    }
    return isTaken(status, body);
  }

  async #offer(client: RawClient, length: number): Promise<boolean> {
    const number = ++this.#number;
    const content = Buffer.alloc(length + 10, `${number} `);
    this.#items.set(number, content.length);
    this.#unsureOffers++;
    const { status, body } = await client.request('POST', 'queues/q', content);
    this.#unsureOffers--;
    if (status === 200) this.#itemCount++;
    else this.#items.delete(number);
    return isTaken(status, body);
  }

  async #poll(client: RawClient): Promise<boolean> {
    this.#unsurePolls++;
    const { status, body } = await client.request('DELETE', 'queues/q/0');
    this.#unsurePolls--;
    if (status === 503) return false;
    if (status === 204) return true;
    const number = Number(/^\d+/.exec(body.toString('latin1', 0, 12))?.[0]);
    const length = this.#items.get(number);
    assert.ok(length !== undefined && body.equals(Buffer.alloc(length, `${number} `)), 'an item');
    this.#items.delete(number);
    this.#itemCount--;
    return true;
  }

  /** Every answered change is there. */
  async #check(): Promise<void> {
    const client = new RawClient(this.#port);
    for (const [key, possible] of this.#stored) {
      const { status, body } = await client.request('GET', `maps/${key}`);
      const found = possible.find((each) =>
        each === undefined ? status === 204 : status === 200 && body.equals(contentOf(key, each)),
      );
      const isThere = found !== undefined || (status === 204 && possible.includes(undefined));
      assert.ok(isThere, `${key}: ${status}, ${body.toString('latin1', 0, 40)}`);
      this.#stored.set(key, [found]);
    }
    const size = Number((await client.request('GET', 'queues/q/size')).body.toString());
    const more = size - this.#itemCount;
    const isRight = more <= this.#unsureOffers && -more <= this.#unsurePolls;
    assert.ok(isRight, `${size} items, not ${this.#itemCount}`);
    this.#itemCount = size;
    this.#unsureOffers = 0;
    this.#unsurePolls = 0;
    client.destroy();
  }
}

function isTaken(status: number, body: Buffer): boolean {
  if (status !== 200) assert.match(body.toString(), /the disk is full/);
  return status === 200;
}

function contentOf(key: string, { number, length }: NonNullable<Stored>): Buffer {
  return Buffer.alloc(length, `${key} ${number} `);
}

function liveBytesOf(key: string, { length }: NonNullable<Stored>): number {
  return key.length + length + RECORD_BYTES;
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

for (let seed = SEED; seed < SEED + ROUNDS; seed++) {
  // Without the factor, neighbouring seeds begin with similar numbers.
  const random = new Random(seed * 2654435761);
  const system: FileSystem = random.below(2) === 0 ? 'ext4' : 'tmpfs';
  const megabytes = 48 + random.below(153);
  const mode = MODES[random.below(MODES.length)] ?? 'always';
  test(`${system} of ${megabytes} MiB with sync ${mode} is won back (seed ${seed})`, async (context) => {
    let disk: MountedDisk;
    try {
      disk = new MountedDisk(system, megabytes);
    } catch (error) {
      context.skip(`cannot mount a file system here: ${(error as Error).message}`);
      return;
    }
    const round = new Round(random, mode, disk);
    try {
      await round.run();
      const { slowestMs, refusedRemovals } = round;
      console.log(
        `${seed}: written after ${Math.round(slowestMs)} ms, ${refusedRemovals} removals had to wait`,
      );
    } catch (error) {
      console.log(`${seed} has failed\n${round.describe()}`);
      throw error;
    } finally {
      round.stop();
      disk.drop();
    }
  });
}
