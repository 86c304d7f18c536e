/**
 * Covers src/wan and src/persistence. A source that writes at random, on a storage that crashes at
 * random calls, and sends over a network that loses and delays messages to a target that is
 * sometimes down. The source restarts repeatedly, sometimes paused, with snapshots in between and a
 * disk that may become full. At the end both have equal entries, including writes that got no
 * response, except for changes that the source lost in a power loss after sending them. `make soak`
 * runs many seeds.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { EVERY_PARTITION } from '../../src/base/partition-number.ts';
import { CLEAR, type Mutation } from '../../src/engine/mutation.ts';
import type { SyncMode } from '../../src/persistence/write-ahead-log.ts';
import type { WanPublisherOptions } from '../../src/wan/wan-config.ts';
import { AtOnce } from '../engine/embedded/at-once.ts';
import { visited } from '../engine/stored-engine.case.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { durableMember, endpoint, type Member, Network, OPTIONS } from './members.ts';
import { PersistentSource } from './persistent-source.ts';
import { textOf } from './simulated-engine.ts';

const SEEDS = Number(process.env.WAN_SEEDS ?? 2);
const FIRST = Number(process.env.WAN_SEED ?? 1);
/** Number of seeds in which every counter of the report is above zero. */
const ENOUGH_SEEDS = 25;
const LIVES_MAX = 5;
const STEPS_MAX = 60;
const KEYS = 14;
/** Size of a disk that becomes full, in bytes. */
const DISK_BYTES = 60_000;

/**
 * Counts that show whether the rounds reach their cases: starts with events that were stored with a
 * snapshot, events that waited after starts, ends of each kind, and refused changes.
 */
type Report = Record<keyof typeof NONE, number>;
const NONE = { snapshots: 0, restored: 0, kills: 0, powerLosses: 0, stops: 0, refused: 0 };

describe('WanReplications with persistence, whose source ends at random points', () => {
  for (const sync of ['always', 'interval', 'never'] as const) {
    it(`makes both sides equal with ${sync}, seeds from ${FIRST} on`, async () => {
      const total: Report = { ...NONE };
      for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
        const round = new Round(seed, sync);
        await round.run();
        for (const key of Object.keys(total) as (keyof Report)[]) total[key] += round.report[key];
      }
      if (SEEDS < ENOUGH_SEEDS) return;
      for (const [name, count] of Object.entries(total)) assert.ok(count > 0, `no ${name}`);
    });
  }
});

class Round {
  readonly report: Report = { ...NONE };
  readonly #seed: number;
  readonly #sync: SyncMode;
  readonly #random: Random;
  readonly #network = new Network();
  readonly #target: Member;
  readonly #options: WanPublisherOptions;
  #storage: MemoryStorage;
  #boot = 0;
  /** Changes that exist. */
  #history: Mutation[] = [];
  /** Changes that the source lost in a power loss. */
  readonly #lost: Mutation[] = [];

  constructor(seed: number, sync: SyncMode) {
    const random = new Random(seed * 2654435761);
    this.#seed = seed;
    this.#sync = sync;
    this.#random = random;
    const bytesMax = random.below(4) === 0 ? DISK_BYTES : Number.POSITIVE_INFINITY;
    this.#storage = new MemoryStorage(random, 'boot 0', bytesMax);
    this.#options = {
      ...OPTIONS,
      targetEndpoints: [endpoint('target')],
      batchSize: 1 + random.below(8),
      batchMaxDelayMs: 1 + random.below(50),
      snapshotEnabled: random.below(3) === 0,
      maxConcurrentInvocations: random.below(2) * 2,
    };
    this.#target = durableMember(this.#network, 'target');
    this.#network.random = () => random.below(1000) / 1000;
    const below = (count: number) => random.below(count);
    this.#network.disturb(below, { twiceMs: 800, delayMs: 60, answerMs: 30 });
  }

  async run(): Promise<void> {
    for (let life = 0; life < LIVES_MAX; life++) {
      if (this.#random.below(3) > 0) {
        this.#storage.crashAt = this.#storage.effectCount + 1 + this.#random.below(700);
      }
      const source = this.#source();
      const hasWaiting = [...Array(200).keys()].some((number) =>
        this.#storage.has(`wan-${String(number).padStart(10, '0')}`),
      );
      if (await source.open()) {
        if (hasWaiting) this.report.snapshots++;
        this.report.restored += source.status.queueSize;
        await this.#work(source);
      }
      await this.#end(source);
    }
    await this.#settle();
  }

  #source(): PersistentSource {
    const states = ['REPLICATING', 'REPLICATING', 'PAUSED', 'STOPPED'] as const;
    const initialPublisherState = states[this.#random.below(states.length)]!;
    const publishers = [{ ...this.#options, initialPublisherState }];
    const parts = { network: this.#network, storage: this.#storage, sync: this.#sync };
    return new PersistentSource({ ...parts, publishers });
  }

  async #work(source: PersistentSource): Promise<void> {
    const random = this.#random;
    // Changes made while it is STOPPED are not sent.
    if (source.status.state === 'STOPPED') source.control.pause();
    this.#target.isDown = random.below(3) === 0;
    const steps = random.below(STEPS_MAX);
    for (let step = 0; step < steps && !source.member.hasEnded; step++) {
      for (let count = random.below(6); count > 0 && !source.member.hasEnded; count--)
        this.#write(source);
      if (random.below(15) === 0) this.#target.isDown = !this.#target.isDown;
      if (random.below(10) === 0) source.control.resume();
      if (random.below(20) === 0) source.control.pause();
      const [passing, stepMs] = random.below(12) === 0 ? [1200, 100] : [random.below(30), 5];
      await this.#pass(passing, stepMs);
    }
  }

  #write(source: PersistentSource): void {
    const random = this.#random;
    const ask = new AtOnce(source.member.engine);
    const map = `map${random.below(2)}`;
    const key = `key${random.below(KEYS)}`;
    const kind = random.below(40);
    const before = source.history.length;
    if (kind < 26) ask.set(map, key, this.#value());
    else if (kind < 30) {
      const lifetime = { timeToLiveMs: 100 + random.below(3000), maxIdleSeconds: 0 };
      ask.set(map, key, this.#value(), '', lifetime);
    } else if (kind < 37) ask.delete(map, key);
    else if (kind < 38) ask.clear(map);
    else ask.set('own', key, this.#value());
    if (kind < 30 && source.history.length === before) this.report.refused++;
  }

  #value(): Buffer {
    const choice = this.#random.below(40);
    const length = choice === 0 ? 6000 : choice < 4 ? 1500 : this.#random.below(60);
    return Buffer.from(this.#random.bytes(length).toString('hex').slice(0, length));
  }

  async #pass(ms: number, stepMs: number): Promise<void> {
    for (let passed = 0; passed <= ms; passed += stepMs) {
      this.#network.clock.advance(stepMs);
      for (let calls = this.#random.below(8); calls > 0; calls--) this.#storage.pump();
      await this.#network.settle();
    }
  }

  /** Ends the process: by a stop, a kill or a power loss. */
  async #end(source: PersistentSource): Promise<void> {
    const random = this.#random;
    if (!source.member.hasEnded && random.below(4) === 0 && (await source.stop()))
      this.report.stops++;
    source.member.end();
    this.#history.push(...source.history);
    if (random.below(3) > 0) {
      this.report.kills++;
      this.#storage = this.#storage.afterKill();
      return;
    }
    this.report.powerLosses++;
    this.#storage = this.#storage.afterCrash(`boot ${++this.#boot}`);
    await this.#noteLost();
  }

  /**
   * Records the changes that no longer exist, including those of earlier lives that did not end
   * with a power loss.
   */
  async #noteLost(): Promise<void> {
    const probe = this.#source();
    assert.ok(await probe.open());
    const sequences = probe.member.engine.sequences();
    const isThere = ({ partition, sequence }: Mutation): boolean => {
      const last = partition === EVERY_PARTITION ? Math.min(...sequences) : sequences[partition]!;
      return sequence <= last;
    };
    this.#lost.push(...this.#history.filter((change) => !isThere(change)));
    this.#history = this.#history.filter(isThere);
    probe.member.end();
    this.#storage = this.#storage.afterKill();
  }

  /** Ends all faults, after which both sides must converge. */
  async #settle(): Promise<void> {
    this.#network.calm();
    this.#target.isDown = false;
    const source = this.#source();
    assert.ok(await source.open(), `seed ${this.#seed}: the source does not start`);
    this.report.restored += source.status.queueSize;
    source.control.resume();
    for (let round = 0; round < 200 && source.status.queueSize > 0; round++) {
      await this.#pass(100, 10);
    }
    const context = `seed ${this.#seed}, ${this.#sync}`;
    assert.equal(source.status.queueSize, 0, `${context}: ${source.status.lastError}`);
    assert.equal(source.status.eventsDropped, 0, context);
    assert.deepEqual(
      source.log.lines.filter((line) => line === 'marks lost'),
      [],
      context,
    );
    // All lifetimes have ended.
    await this.#pass(10_000, 1000);
    this.#compare(source, context);
    assert.ok(await source.stop(), context);
  }

  #compare({ member }: PersistentSource, context: string): void {
    const placeOf = (text: string) => text.split(' = ')[0]!;
    const own = visited(member.engine)
      .filter(({ name }) => !name.toBuffer().toString().startsWith('own'))
      .map(textOf);
    const there = this.#target.engine.contents();
    const excused = (text: string) => this.#lost.some((change) => isOf(change, placeOf(text)));
    if (this.#sync === 'always') assert.deepEqual(there, own.sort(), context);
    const strictly = (texts: readonly string[]) => texts.filter((text) => !excused(text)).sort();
    assert.deepEqual(strictly(there), strictly(own), context);
  }
}

function isOf({ operation, name, key }: Mutation, place: string): boolean {
  const map = name.toBuffer().toString();
  return operation === CLEAR ? place.startsWith(`${map}/`) : place === `${map}/${key.toBuffer()}`;
}
