/**
 * Covers src/persistence. Seeded lives of a member's data on a storage that crashes. The member
 * starts, performs random operations, crashes at a random call, and starts again, several times.
 * After each start the content must be the result of the first n recorded mutations, in order, for
 * some n. These include at least the mutations that were confirmed to a client and that the sync
 * mode guarantees. The seed determines everything; the soak runs many more.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { EVERY_PARTITION } from '../../src/base/partition-number.ts';
import { FOUND, NO_HOLD, NOBODY } from '../../src/engine/engine.ts';
import type { Mutation } from '../../src/engine/mutation.ts';
import type { SyncMode } from '../../src/persistence/write-ahead-log.ts';
import { AtOnce } from '../engine/embedded/at-once.ts';
import type { Seen } from '../engine/results.ts';
import { FakeClock } from '../fake-clock.ts';
import { DiskMember } from '../world/disk-member.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { checkPaths, PathSink } from './path-sink.ts';
import { contentOf, countThatLeaves } from './stored-model.ts';

/** Number of lives of each mode, without and with paths. */
const LIVES = Number(process.env.SOAK_SIZE ?? 64) / 8;
const FIRST = Number(process.env.SOAK_SEED ?? 1);
/** Size of a disk that fills up, in bytes. */
const DISK_BYTES = 50_000;
const KEYS = 12;
const STARTS_MAX = 4;

/**
 * Seeds for which the soak found a wrong state, a lost result, an older version of an item, or no
 * start on a full disk.
 */
const FAILED = {
  always: [57, 67, 151, 249, 1967, 1970, 2245, 2562],
  interval: [78, 462, 648, 1014, 1496, 1570],
  never: [1715, 301910],
};

/** Counters, which show whether the lives reach the intended cases. */
function noLife() {
  const counts = { starts: 0, mutations: 0, tornBytes: 0, snapshots: 0, compactions: 0, lost: 0 };
  // Items returned, lives that ended with a stop, and log records that have a path.
  return { ...counts, returns: 0, stops: 0, paths: 0 };
}

type LifeReport = ReturnType<typeof noLife>;

describe(`a data directory after a crash at any call, from seed ${FIRST} on`, () => {
  for (const mode of ['always', 'interval', 'never'] as const) {
    it(`with sync ${mode} contains all guaranteed data, and nothing that was never written`, async () => {
      const total = await lives(mode, false);
      // Compactions are rare, and no item returns if no response waits for a sync.
      const rare = mode === 'always' ? { compactions: 1 } : { compactions: 1, returns: 1 };
      for (const count of Object.values({ ...total, ...rare, paths: 1 }))
        assert.ok(count > 0, JSON.stringify(total));
    });

    it(`with sync ${mode} contains the paths of changes in its log`, async () => {
      const { paths, snapshots } = await lives(mode, true);
      assert.ok(paths > 0 && snapshots > 0, `${paths} paths, ${snapshots} snapshots`);
    });
  }

  it('is correct in the rounds that once failed', async () => {
    for (const [mode, seeds] of Object.entries(FAILED)) {
      for (const seed of seeds) await new Life(seed, mode as SyncMode, false).run();
    }
  });
});

/** With `hasPaths`, records are longer, so that the same seed results in another life. */
async function lives(mode: SyncMode, hasPaths: boolean): Promise<LifeReport> {
  const total = noLife();
  for (let seed = FIRST; seed < FIRST + LIVES; seed++) {
    await new Life(seed, mode, hasPaths, total).run().catch((error: unknown) => {
      const paths = hasPaths ? ' and paths' : '';
      throw new Error(`Seed ${seed} with sync ${mode}${paths} failed`, { cause: error });
    });
  }
  return total;
}

class Life {
  readonly report: LifeReport;
  readonly #random: Random;
  readonly #mode: SyncMode;
  readonly #hasPaths: boolean;
  readonly #clock = new FakeClock();
  #storage: MemoryStorage;
  #history: Mutation[] = [];
  /** Number of mutations that must exist after the next crash. */
  #promised = 0;
  /** Number of mutations that must exist after the next crash, unless the machine restarts. */
  #promisedInBoot = 0;
  #boot = 0;
  /**
   * Decides which lives end with a stop; separate, so that the other lives of a seed do not change.
   */
  readonly #stops: Random;

  constructor(seed: number, mode: SyncMode, hasPaths: boolean, report = noLife()) {
    this.report = report;
    this.#random = new Random(seed * 2654435761);
    this.#stops = new Random(seed * 40503 + 1);
    this.#mode = mode;
    this.#hasPaths = hasPaths;
    const bytesMax = this.#random.below(3) === 0 ? DISK_BYTES : Number.POSITIVE_INFINITY;
    this.#storage = new MemoryStorage(this.#random, 'boot 0', bytesMax);
  }

  async run(): Promise<void> {
    for (let start = 0; start < STARTS_MAX; start++) {
      const hasTime = this.#random.below(3) > 0;
      this.#storage.crashAt = 1 + this.#random.below(hasTime ? 400 : 60);
      const clients = this.#start((mutation) => this.#history.push(mutation));
      const { member } = clients;
      if (await member.open()) {
        this.#check(member);
        await this.#work(clients);
      }
      this.report.snapshots += member.snapshotCount;
      this.report.compactions += member.compactionCount;
      this.report.returns += clients.returnCount;
      this.#end(clients);
    }
    this.report.mutations += this.#history.length;
    const { member } = this.#start(() => {});
    assert.ok(await member.open());
    this.#check(member);
    if (this.#hasPaths) this.report.paths += checkPaths(this.#storage.files);
  }

  #start(onRecord: (mutation: Mutation) => void): Clients {
    const member = new DiskMember({
      clock: this.#clock,
      storage: this.#storage,
      sync: this.#mode,
      snapshotBytesMin: 6144,
      sinksBefore: this.#hasPaths ? [new PathSink()] : [],
      onRecord,
      onReleased: () => clients.sendResponses(),
    });
    const clients = new Clients(member);
    return clients;
  }

  #end({ member, confirmed }: Clients): void {
    member.end();
    if (this.#random.below(4) > 0) {
      this.#storage = this.#storage.afterCrash(`boot ${++this.#boot}`);
      this.#promisedInBoot = 0;
      return;
    }
    // Only the process ends: all confirmed changes still exist, in every mode.
    this.#promisedInBoot = Math.max(this.#promisedInBoot, confirmed);
    this.#storage = this.#storage.afterKill();
  }

  #check({ engine, recovered }: DiskMember): void {
    this.report.starts++;
    this.report.tornBytes += recovered?.tornBytes ?? 0;
    const content = contentOf(engine);
    const all = this.#history.length;
    const promised = Math.max(this.#promised, this.#promisedInBoot);
    const count = countThatLeaves(this.#history, content);
    assert.ok(count >= 0, `This state never existed:\n${content.join('\n')}`);
    assert.ok(count >= promised, `${count} of ${all} exist, ${promised} were guaranteed`);
    this.report.lost += all - count;
    this.#history = this.#history.slice(0, count);
    this.#promised = count;
  }

  async #work(clients: Clients): Promise<void> {
    const stopsAfter =
      this.#stops.below(3) === 0 ? this.#stops.below(20) : Number.POSITIVE_INFINITY;
    for (let turns = 0; !this.#storage.hasCrashed; turns++) {
      if (turns >= stopsAfter) return await this.#stop(clients);
      const count = 1 + this.#random.below(5);
      for (let each = 0; each < count && !this.#storage.hasCrashed; each++) this.#operate(clients);
      if (this.#storage.hasCrashed) break;
      this.#clock.endTurn();
      clients.sendResponses();
      const completed = this.#random.below(6);
      for (let each = 0; each < completed; each++) if (this.#storage.pump()) await nextTurn();
      if (this.#random.below(20) === 0) this.#clock.advance(1000);
      if (this.#random.below(30) === 0) await this.#sync(clients.member);
      this.#promised = Math.max(this.#promised, clients.promised(this.#mode));
    }
    this.#promised = Math.max(this.#promised, clients.promised(this.#mode));
  }

  /** Stops the member. A crash may interrupt that; otherwise every mutation must exist. */
  async #stop(clients: Clients): Promise<void> {
    const count = this.#history.length;
    const { member } = clients;
    const hasStopped = await member.drive(member.persistence.close()).catch(() => false);
    if (hasStopped) this.report.stops++;
    this.#promised = Math.max(this.#promised, hasStopped ? count : clients.promised(this.#mode));
  }

  async #sync(member: DiskMember): Promise<void> {
    const count = this.#history.length;
    if (await member.drive(member.persistence.log.sync()))
      this.#promised = Math.max(this.#promised, count);
  }

  #operate(clients: Clients): void {
    const { engine } = clients.member;
    const random = this.#random;
    const ask = new AtOnce(engine);
    const map = `map ${random.below(3)}`;
    const key = `key ${random.below(KEYS)}`;
    const queue = `queue ${random.below(3)}`;
    const type = random.below(3) === 0 ? 'text/plain' : '';
    const before = this.#history.length;
    const choice = random.below(100);
    let seen: Seen | undefined;
    if (choice < 40) seen = ask.set(map, key, this.#value(), type);
    else if (choice < 45) {
      const lifetime = { timeToLiveMs: 10_000_000, maxIdleSeconds: random.below(2) * 100_000 };
      seen = ask.set(map, key, this.#value(), type, lifetime);
    } else if (choice < 55) seen = ask.delete(map, key);
    else if (choice < 58) seen = ask.clear(map);
    else if (choice < 75) seen = ask.offer(queue, this.#value(), type);
    else if (choice < 87) seen = ask.take(queue);
    else if (choice < 92) {
      const next = ask.peek(queue);
      if (next.outcome === FOUND) seen = random.below(4) > 0 ? ask.take(queue) : next;
    } else seen = ask.get(map, key);
    if (seen !== undefined) clients.answered(seen, before, this.#history, random.below(3) > 0);
  }

  #value(): Buffer {
    const choice = this.#random.below(40);
    // Some values take several sectors, some are longer than a segment.
    const length = choice === 0 ? 6000 : choice < 4 ? 1500 : this.#random.below(60);
    return this.#random.bytes(length);
  }
}

/** A result that was returned, and the number of mutations on which it depends. */
interface Result {
  readonly partition: number;
  readonly sequences: Float64Array;
  readonly depth: number;
  /** The hold of an item whose response is delayed; otherwise NO_HOLD. */
  readonly hold: number;
  /** Whether the client waits until the response is sent. */
  readonly isAwaited: boolean;
}

/** The clients of a member: what it responded, and on which mutations that depends. */
class Clients {
  readonly member: DiskMember;
  /** Items that returned because their clients had disconnected. */
  returnCount = 0;
  /** Number of mutations, from the first, on which the sent responses depend. */
  confirmed = 0;
  #results: Result[] = [];

  constructor(member: DiskMember) {
    this.member = member;
  }

  answered(seen: Seen, before: number, history: readonly Mutation[], isAwaited: boolean): void {
    const { partition, hold } = seen;
    if (partition < EVERY_PARTITION) return;
    const isMutation = history.length > before;
    const depth = isMutation
      ? history.length
      : 1 + history.findLastIndex((each) => [partition, EVERY_PARTITION].includes(each.partition));
    const sequences =
      partition === EVERY_PARTITION
        ? this.member.engine.sequences()
        : Float64Array.of(seen.sequence);
    this.#results.push({ partition, sequences, depth, hold, isAwaited });
    this.sendResponses();
  }

  /** Sends the responses that are no longer delayed. */
  sendResponses(): void {
    const { engine, storage } = this.member;
    const { log } = this.member.persistence;
    log.invariants();
    if (storage.hasCrashed || log.delaysAll) return;
    this.#results = this.#results.filter((result) => {
      if (this.#isHeld(result)) return true;
      const { hold, isAwaited } = result;
      if (hold !== NO_HOLD) engine.acknowledge(hold, isAwaited, NOBODY);
      if (hold === NO_HOLD || isAwaited) this.confirmed = Math.max(this.confirmed, result.depth);
      else this.returnCount++;
      return false;
    });
  }

  /** Returns the number of mutations that must survive a restart of the machine. */
  promised(mode: SyncMode): number {
    return mode === 'always' ? this.confirmed : 0;
  }

  #isHeld({ partition, sequences }: Result): boolean {
    const { engine } = this.member;
    if (partition !== EVERY_PARTITION) return engine.delays(partition, sequences[0]!);
    return sequences.some((sequence, each) => engine.delays(each, sequence));
  }
}
