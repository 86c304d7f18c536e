/**
 * Data sets that merge each other's changes under LATEST_UPDATE, at random: a simulation of only
 * the engines. Their links have random delays, and restart from an earlier event after a restart of
 * the sender. There are writes with and without a lifetime, deletes, clears and expiry; clocks that
 * differ, or are so close that versions are equal; restarts by a replay of all records, or of a
 * snapshot and the records since its beginning, as a compaction leaves them. At the end all must
 * have the same entries, and each must equal the result of its replay.
 */
import assert from 'node:assert/strict';
import { Random } from '../../bench/harness.ts';
import { EVERY_PARTITION } from '../../src/base/partition-number.ts';
import type { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import { APPLIED, KNOWN, OUTDATED } from '../../src/engine/engine.ts';
import {
  CLEAR,
  DATA_SET_ID_BYTES,
  EXPIRE,
  FROM_CLIENT,
  FROM_REPLAY,
  FROM_SOURCE,
  type Mutation,
  OFFER,
  PATH_LENGTH_MAX,
} from '../../src/engine/mutation.ts';
import { type Replay, TombstoneCursor, VisitCursor } from '../../src/engine/stored-engine.ts';
import { FakeClock } from '../fake-clock.ts';
import { merged } from './changes.ts';
import { AtOnce } from './embedded/at-once.ts';
import { engineOf } from './embedded/components-of.ts';
import { copyOf, RecordingSink } from './sinks.ts';
import { visited } from './stored-engine.case.ts';

const PARTITIONS = 3;
const KEYS = 3;
const STEPS = 100;
const OFFSETS_MS = [0, 10_000, -5000];
const VALUES = ['a', 'b', 'c'];

/** Pairs of data sets, by number: the changes of the first are sent to the second. */
export const TOPOLOGIES: Readonly<Record<string, readonly (readonly [number, number])[]>> = {
  pair: [...both(0, 1)],
  mesh: [...both(0, 1), ...both(1, 2), ...both(0, 2)],
  ring: [
    [0, 1],
    [1, 2],
    [2, 0],
  ],
  chain: [
    [0, 1],
    [1, 2],
  ],
  line: [...both(0, 1), ...both(1, 2)],
};

function both(one: number, other: number): readonly (readonly [number, number])[] {
  return [
    [one, other],
    [other, one],
  ];
}

/** Runs the topology with the seed; throws if the data sets end unequal. */
export function runMergeRound(topology: string, seed: number): void {
  const random = new Random(seed);
  const links = TOPOLOGIES[topology]!;
  const count = Math.max(...links.flat()) + 1;
  const areApart = random.below(2) === 0;
  const isEqual = random.below(3) === 0;
  const sets = Array.from({ length: count }, (_, number) => {
    const offsetMs = areApart ? OFFSETS_MS[number]! : 0;
    return new DataSet(isEqual ? 0 : number, number, 1_700_000_000_000 + offsetMs);
  });
  // In a chain only the clients of the first data set write, because nothing is sent back.
  const writers = topology === 'chain' ? sets.slice(0, 1) : sets;
  const lines = links.map(([from, to]) => new Link(sets[from]!, sets[to]!));
  for (let step = 0; step < STEPS; step++) {
    const choice = random.below(100);
    if (choice < 45) writers[random.below(writers.length)]!.change(random);
    else if (choice < 80) lines[random.below(lines.length)]!.deliver(1 + random.below(4));
    else if (choice < 87) sets[random.below(count)]!.snapshot(1 + random.below(4));
    else if (choice < 88) sets[random.below(count)]!.compact();
    else if (choice < 95) advance(sets, random.below(3) === 0 ? 40 : random.below(2));
    else restart(sets[random.below(count)]!, lines, random);
  }
  deliverAll(lines);
  advance(sets, 20_000);
  advance(sets, 20_000);
  deliverAll(lines);
  const contents = sets.map((set) => set.content());
  for (const content of contents) assert.deepEqual(content, contents[0], `${topology} ${seed}`);
  for (const set of sets) {
    set.finish();
    set.restart();
  }
  for (const set of sets) {
    assert.deepEqual(set.content(), contents[0], `${topology} ${seed}, after a restart`);
    set.close();
  }
}

function deliverAll(lines: readonly Link[]): void {
  for (let left = 1; left > 0; ) {
    left = 0;
    for (const line of lines) left += line.deliver(Number.POSITIVE_INFINITY);
  }
}

function advance(sets: readonly DataSet[], ms: number): void {
  for (const set of sets) set.clock.advance(ms);
}

function restart(set: DataSet, lines: readonly Link[], random: Random): void {
  if (random.below(2) === 0) set.finish();
  set.restart();
  for (const line of lines) if (line.from === set) line.repeat(random);
}

/** A snapshot: results of visits, and the position at which the log continues. */
interface Visited {
  readonly results: Mutation[];
  /** For each visited partition, the sequence at which the visit began. */
  readonly bases: number[];
  /** Number of log records before the snapshot began. */
  readonly recordCount: number;
}

class DataSet {
  readonly clock: FakeClock;
  readonly id: Buffer;
  readonly #versionId: Buffer;
  /** Everything recorded, in order. */
  readonly records: Mutation[] = [];
  /**
   * The input of a restart's replay: the last complete snapshot, and the records since its
   * beginning.
   */
  #snapshot: Visited | undefined;
  #log: Mutation[] = [];
  /** The snapshot in progress. */
  #begun: Visited | undefined;
  /** Whether no entry remains to be removed by expiry or a clear. */
  #isFinished = false;
  readonly number: number;
  engine: EmbeddedEngine;

  /** Data sets with equal `versionNumber` often generate equal versions. */
  constructor(versionNumber: number, number: number, wallMs: number) {
    this.clock = new FakeClock(0, wallMs);
    this.number = number;
    this.id = Buffer.alloc(DATA_SET_ID_BYTES, number + 1);
    this.#versionId = Buffer.alloc(DATA_SET_ID_BYTES, versionNumber + 1);
    this.engine = this.#open();
  }

  change(random: Random): void {
    const ask = new AtOnce(this.engine);
    const map = `m${random.below(2)}`;
    const key = `k${random.below(KEYS)}`;
    const choice = random.below(10);
    if (choice === 0) ask.clear(map);
    else if (choice < 4) ask.delete(map, key);
    else {
      const timeToLiveMs = [0, 0, 1, 30, 10_000][random.below(5)]!;
      const value = Buffer.from(VALUES[random.below(VALUES.length)]!);
      ask.set(map, key, value, '', { timeToLiveMs, maxIdleSeconds: 0 });
    }
  }

  merge(change: Mutation): void {
    const before = this.records.length;
    const { outcome } = merged(this.engine, change);
    assert.ok(outcome === APPLIED || outcome === KNOWN || outcome === OUTDATED);
    assert.ok(this.records.length > before || outcome !== APPLIED, 'a change was not recorded');
  }

  /**
   * Does up to `steps` steps of a snapshot: each visits a partition, the last one the tombstones.
   */
  snapshot(steps: number): void {
    for (let left = steps; left > 0; left--) {
      this.#begun ??= { results: [], bases: [], recordCount: this.#log.length };
      const { results, bases, recordCount } = this.#begun;
      const visitor = { onStored: (stored: Mutation) => results.push(copyOf(stored)) };
      const partition = bases.length;
      if (partition < PARTITIONS) {
        bases.push(this.engine.sequences()[partition]!);
        const cursor = new VisitCursor();
        while (this.engine.visit(partition, cursor, 2, visitor));
        continue;
      }
      const cursor = new TombstoneCursor();
      while (this.engine.visitTombstones(cursor, 2, visitor));
      this.#snapshot = this.#begun;
      this.#log.splice(0, recordCount);
      this.#begun = undefined;
    }
  }

  /** Drops dead records of the snapshot and the log. */
  compact(): void {
    if (this.#begun !== undefined) return;
    this.#log = this.#log.filter((record) => this.engine.isStored(record));
    const { results = [], bases = [] } = this.#snapshot ?? {};
    const left = results.filter((result) => this.engine.isStored(result));
    if (this.#snapshot !== undefined) this.#snapshot = { results: left, bases, recordCount: 0 };
  }

  /** Removes the entries that are due for removal by expiry or a clear. */
  finish(): void {
    for (const map of ['m0', 'm1']) new AtOnce(this.engine).size(map);
    this.#isFinished = true;
  }

  /** Replaces the engine by another one, with the result of a replay. */
  restart(): void {
    const before = this.content();
    const remembered = this.engine.tombstones.count;
    this.engine.close();
    this.engine = this.#open();
    const replay = this.engine.replay();
    const { results = [], bases = [] } = this.#snapshot ?? {};
    for (const result of results) apply(replay, result);
    for (const [partition, base] of bases.entries()) replay.restoreSequence(partition, base);
    replay.beginLog();
    for (const record of this.#log) {
      const { partition, sequence } = record;
      if (partition === EVERY_PARTITION || sequence > (bases[partition] ?? 0))
        apply(replay, record);
    }
    assert.ok(replay.end());
    assert.deepEqual(this.content(), before, 'a replay changed the content');
    const isSame = this.engine.tombstones.count === remembered;
    assert.ok(isSame || !this.#isFinished, 'a replay changed the tombstones');
    this.#isFinished = false;
    this.#begun = undefined;
  }

  content(): string[] {
    return visited(this.engine)
      .map(({ name, key, value, version, expiryMs }) => {
        const entry = `${name.toBuffer()}/${key.toBuffer()} = ${value.toBuffer()}`;
        return `${entry} ${version.high}.${version.low} ${expiryMs}`;
      })
      .sort();
  }

  close(): void {
    this.engine.invariants();
    this.engine.close();
  }

  #open(): EmbeddedEngine {
    const sink = new RecordingSink((record) => {
      if (record.origin === FROM_REPLAY) return;
      this.records.push(record);
      this.#log.push(record);
    });
    return engineOf({
      partitionCount: PARTITIONS,
      clock: this.clock,
      dataSetId: this.#versionId,
      keepsTombstones: () => true,
      sinks: [sink],
    }).engine;
  }
}

function apply(replay: Replay, recorded: Mutation): void {
  const again = copyOf(recorded);
  again.origin = FROM_REPLAY;
  assert.equal(replay.apply(again), APPLIED);
}

/** Sends the records of one data set to another, in order. */
class Link {
  readonly from: DataSet;
  readonly #to: DataSet;
  #next = 0;

  constructor(from: DataSet, to: DataSet) {
    this.from = from;
    this.#to = to;
  }

  /** Sends at most `most` events. Returns their number. */
  deliver(most: number): number {
    let sent = 0;
    while (sent < most && this.#next < this.from.records.length) {
      if (this.#send(this.from.records[this.#next++]!)) sent++;
    }
    return sent;
  }

  /** Sends some of the last events again. */
  repeat(random: Random): void {
    this.#next = Math.max(this.#next - random.below(5), 0);
  }

  #send(record: Mutation): boolean {
    const { id } = this.from;
    if (record.operation === EXPIRE || record.operation >= OFFER) return false;
    const path = record.path.toBuffer();
    const ids = path.length / DATA_SET_ID_BYTES;
    if (ids >= PATH_LENGTH_MAX) return false;
    for (let at = 0; at < path.length; at += DATA_SET_ID_BYTES) {
      if (path.subarray(at, at + DATA_SET_ID_BYTES).equals(this.#to.id)) return false;
    }
    const change = copyOf(record);
    assert.ok(change.operation === CLEAR || change.key.length > 0);
    assert.ok(change.origin === FROM_CLIENT || change.origin >= FROM_SOURCE);
    change.origin = FROM_SOURCE + this.from.number;
    const whole = Buffer.concat([path, id]);
    change.path.set(whole, 0, whole.length);
    this.#to.merge(change);
    return true;
  }
}
