/**
 * Rounds of a member on a disk of 48 to 200 MiB, ext4 or tmpfs, in one of the sync modes. The
 * member is filled with overwrites until writes are refused, possibly killed, and freed by deletes,
 * clears, polls and smaller values. Writes are accepted within 5 s once there is space, and no
 * acknowledged change is lost. At the end, no open handle refers to a removed file, and every used
 * block belongs to a file. A failed round prints the end of the member's log and the files on the
 * disk. SOAK_SEED is the first seed, SOAK_ROUNDS the number of rounds. Mounts file systems; if that
 * fails, the test is skipped with the reason.
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { RawClient } from '../integration/client.ts';
import { serveWith } from '../integration/member-process.ts';
import { type FileSystem, isAccepted, type MountedDisk, testOnDisk } from './mounted-disk.ts';
import { PossibleEntries } from './possible-entries.ts';

const SIZE = Number(process.env.SOAK_SIZE ?? 1000);
const ROUNDS = Number(process.env.SOAK_ROUNDS ?? Math.ceil(SIZE / 50));
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const MODES = ['always', 'interval', 'never'] as const;
const CLIENTS = 6;
const MAPS = 3;
/** Share of the usable space up to which live values leave enough space for writes. */
const LIVE_SHARE = 0.7;
const CYCLES = 3;
const PATIENCE_MS = 5000;
/** Number of lines of the member's log that a failed round prints. */
const LINES_MAX = 60;
/** Maximum overhead of a record besides key and value, in bytes. */
const RECORD_BYTES = 96;
/** Maximum growth of the metadata of the file system, in bytes. */
const STRUCTURE_BYTES = 1_048_576;

class Round {
  readonly #random: Random;
  readonly #mode: string;
  readonly #disk: MountedDisk;
  readonly #keys: number;
  readonly #lengthMax: number;
  readonly #entries = new PossibleEntries();
  /**
   * Lengths of the items that were offered, acknowledged or not, and not delivered, by their
   * numbers.
   */
  readonly #items = new Map<number, number>();
  /** Number of items in the queue, and the numbers of offers and polls without a response. */
  #itemCount = 0;
  #uncertainOffers = 0;
  #uncertainPolls = 0;
  #number = 0;
  #child!: ChildProcess;
  #port = 0;
  /** The end of the member's log, with the steps of the round. */
  readonly #lines: string[] = [];
  #slowestMs = 0;
  #refusedRemovals = 0;

  constructor(random: Random, mode: string, disk: MountedDisk) {
    this.#random = random;
    this.#mode = mode;
    this.#disk = disk;
    this.#lengthMax = [2000, 20_000, 60_000][random.below(3)] ?? 2000;
    // Live values may take 0.5 to 1.5 times the usable space.
    this.#keys = Math.floor((disk.usableBytes * (0.5 + random.below(100) / 100)) / this.#lengthMax);
  }

  async run(): Promise<string> {
    await this.#start();
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      await this.#fill();
      if (this.#random.below(2) === 0) await this.#restart('SIGKILL');
      await this.#free();
      await this.#awaitSpace();
      if (this.#random.below(3) === 0) await this.#restart('SIGTERM');
    }
    await this.#restart('SIGTERM');
    await sleep(1500);
    const folder = `/proc/${this.#child.pid}/fd`;
    const removed = readdirSync(folder)
      .map((name) => readLink(join(folder, name)))
      .filter((target) => target.endsWith('(deleted)') && target.startsWith(this.#disk.path));
    assert.deepEqual(removed, [], 'a removed file is still open');
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
    assert.ok(
      this.#disk.unnamedBytes < STRUCTURE_BYTES,
      `${this.#disk.unnamedBytes} bytes belong to no file`,
    );
    const slowestMs = Math.round(this.#slowestMs);
    return `writes accepted after ${slowestMs} ms, ${this.#refusedRemovals} removals refused first`;
  }

  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  /** Returns the end of the member's log, with the steps of the round. */
  describe(): string {
    return this.#lines.join('\n');
  }

  async #start(): Promise<void> {
    const directory = join(this.#disk.path, 'data');
    const flags = ['--enable-group', 'DATA', '--data-dir', directory];
    const environment = { GRID_PERSISTENCE_SYNC: this.#mode };
    const { child, port } = await serveWith({ environment }, ...flags);
    this.#child = child;
    this.#port = port;
    const lines = createInterface({ input: child.stdout });
    lines.on('line', (line) => this.#note(line));
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
    // A change that was under way has been applied completely or not at all.
    const work = signal === 'SIGKILL' ? this.#work(40) : Promise.resolve();
    if (signal === 'SIGKILL') await sleep(this.#random.below(60));
    this.#noteStep(signal);
    this.#child.kill(signal);
    await Promise.all([exited, work]);
    if (signal === 'SIGTERM') assert.equal((await exited)[0], 0);
    await this.#start();
  }

  /** Sets and offers until every change is refused, or twice the usable space has been written. */
  async #fill(): Promise<void> {
    this.#noteStep('fill');
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
            const isAccepted = isOffer
              ? await this.#offer(client, length)
              : await this.#change(client, `maps/m${key % MAPS}/k${key}`, length);
            refused = isAccepted ? 0 : refused + 1;
            if (!isAccepted) await sleep(20);
          }
        } catch (error) {
          // Any other error is the end of the killed member.
          if (error instanceof assert.AssertionError) throw error;
        } finally {
          client.destroy();
        }
      }),
    );
  }

  /**
   * Removes entries and items, by a random kind of removal, until the live records leave enough
   * space.
   */
  async #free(): Promise<void> {
    this.#noteStep('remove');
    const client = new RawClient(this.#port);
    const limit = this.#disk.usableBytes * (LIVE_SHARE - 0.02);
    const kind = this.#random.below(3);
    if (kind === 0) {
      const map = `maps/m${this.#random.below(MAPS)}`;
      await this.#remove(async () => isAccepted(await this.#entries.clear(client, map)));
    }
    if (kind === 1)
      for (let more = this.#itemCount; more > 0; more--) {
        await this.#remove(() => this.#poll(client));
      }
    let live = this.#liveBytes;
    for (const [path, value] of this.#entries.confirmed) {
      if (live <= limit) break;
      if (value === undefined) continue;
      await this.#remove(async () => isAccepted(await this.#entries.change(client, path)));
      live -= liveBytesOf(path, value);
    }
    client.destroy();
  }

  /** Removes; that may be refused until there is space for a record. */
  async #remove(remove: () => Promise<boolean>): Promise<void> {
    await this.#retry(remove, () => {
      this.#refusedRemovals++;
    });
  }

  /** Repeats a change until it is accepted. Resolves with the time that it took, in ms. */
  async #retry(change: () => Promise<boolean>, onRefused = () => {}): Promise<number> {
    const fromMs = performance.now();
    while (!(await change())) {
      onRefused();
      const live = `${this.#liveBytes} of ${this.#disk.usableBytes}, ${this.#disk.freeBytes} free`;
      assert.ok(performance.now() - fromMs < PATIENCE_MS, `changes are still refused: ${live}`);
      await sleep(20);
    }
    return performance.now() - fromMs;
  }

  async #awaitSpace(): Promise<void> {
    this.#noteStep('wait for space');
    const client = new RawClient(this.#port);
    const waitedMs = await this.#retry(() => this.#change(client, 'maps/m0/probe', 100));
    this.#slowestMs = Math.max(this.#slowestMs, waitedMs);
    // Smaller values also free space.
    for (const [path, value] of [...this.#entries.confirmed].slice(0, 200)) {
      if (value !== undefined) await this.#change(client, path, value.length >> 2);
    }
    client.destroy();
  }

  get #liveBytes(): number {
    let bytes = 0;
    for (const [path, value] of this.#entries.confirmed) {
      if (value !== undefined) bytes += liveBytesOf(path, value);
    }
    const lengths = [...this.#items.values()].reduce((sum, length) => sum + length, 0);
    return bytes + lengths + this.#items.size * RECORD_BYTES;
  }

  async #change(client: RawClient, path: string, length: number): Promise<boolean> {
    const value = Buffer.alloc(length, `${path} ${++this.#number} `);
    return isAccepted(await this.#entries.change(client, path, value));
  }

  async #offer(client: RawClient, length: number): Promise<boolean> {
    const number = ++this.#number;
    const content = Buffer.alloc(length + 10, `${number} `);
    this.#items.set(number, content.length);
    this.#uncertainOffers++;
    const response = await client.request('POST', 'queues/q', content);
    this.#uncertainOffers--;
    if (response.status === 200) this.#itemCount++;
    else this.#items.delete(number);
    return isAccepted(response);
  }

  async #poll(client: RawClient): Promise<boolean> {
    this.#uncertainPolls++;
    const { status, body } = await client.request('DELETE', 'queues/q/0');
    this.#uncertainPolls--;
    if (status === 503) return false;
    if (status === 204) return true;
    const number = Number(/^\d+/.exec(body.toString('latin1', 0, 12))?.[0]);
    const length = this.#items.get(number);
    assert.ok(
      length !== undefined && body.equals(Buffer.alloc(length, `${number} `)),
      'the polled item is not one that was offered',
    );
    this.#items.delete(number);
    this.#itemCount--;
    return true;
  }

  /** Asserts that every acknowledged change is present. */
  async #check(): Promise<void> {
    await this.#entries.check(this.#port);
    const client = new RawClient(this.#port);
    const size = Number((await client.request('GET', 'queues/q/size')).body.toString());
    const more = size - this.#itemCount;
    const isRight = more <= this.#uncertainOffers && -more <= this.#uncertainPolls;
    assert.ok(isRight, `${size} items, not ${this.#itemCount}`);
    this.#itemCount = size;
    this.#uncertainOffers = 0;
    this.#uncertainPolls = 0;
    client.destroy();
  }
}

function liveBytesOf(path: string, value: Buffer): number {
  return path.length - 'maps/'.length + value.length + RECORD_BYTES;
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

for (let seed = SEED; seed < SEED + ROUNDS; seed++) {
  // Without the factor, consecutive seeds begin with similar numbers.
  const random = new Random(seed * 2654435761);
  const system: FileSystem = random.below(2) === 0 ? 'ext4' : 'tmpfs';
  const megabytes = 48 + random.below(153);
  const mode = MODES[random.below(MODES.length)] ?? 'always';
  const name = `${system} of ${megabytes} MiB with sync ${mode} frees its space (seed ${seed})`;
  testOnDisk(name, system, megabytes, (disk) => new Round(random, mode, disk));
}
