/**
 * The simplest engine that replication can use: maps in memory, merged by LatestUpdate, with a log
 * that becomes durable when the test requests it. A restart applies the durable changes again, in
 * any order, which must end in the same state.
 */
import { Span } from '../../src/base/span.ts';
import {
  APPLIED,
  EVERY_PARTITION,
  KNOWN,
  type OperationResult,
  OUTDATED,
  type Outcome,
  REFUSED,
  type Receiver,
} from '../../src/engine/engine.ts';
import { HybridClock } from '../../src/engine/hybrid-clock.ts';
import {
  CLEAR,
  compareChanges,
  DELETE,
  FROM_CLIENT,
  Mutation,
  type Operation,
  SET,
} from '../../src/engine/mutation.ts';
import { ADMITTED, type MutationSink } from '../../src/engine/mutation-sink.ts';
import type { StoredVisitor } from '../../src/engine/stored-engine.ts';
import { Version } from '../../src/engine/version.ts';
import type { WanEngine } from '../../src/wan/wan-engine.ts';
import { copyOf } from '../engine/sinks.ts';

export function spanOf(text: string): Span {
  const bytes = Buffer.from(text);
  return new Span().set(bytes, 0, bytes.length);
}

/** The part of an engine that the members of the specs need. */
export interface SimulatedEngine extends WanEngine {
  /** Every change in order; those from `durableCount` on are lost in a restart. */
  readonly log: Mutation[];
  durableCount: number;
  /** Returns the entries of all maps, each as a text, sorted. */
  contents(): string[];
  /** Makes a client's change. Returns false if a sink refuses it. */
  change(operation: Operation, map: string, key: string, value?: string, ttlMs?: number): boolean;
  /** Removes expired entries. */
  expire(): void;
  /** Applies the durable changes of an earlier life again. */
  restore(log: readonly Mutation[]): void;
  close(): void;
}

export class ModelEngine implements SimulatedEngine {
  readonly partitionCount = 7;
  /** Every change in order; those from `durableCount` on are lost in a restart. */
  readonly log: Mutation[] = [];
  durableCount = 0;
  /** Outcome of the next merges; undefined to apply them. */
  refusal: Outcome | undefined;
  /** Number of changes made by merging. */
  mergedCount = 0;
  readonly #clock: HybridClock;
  readonly #wall: () => number;
  readonly #sinks: MutationSink[] = [];
  readonly #entries = new Map<string, Mutation>();
  readonly #tombstones = new Map<string, Version>();
  readonly #clears = new Map<string, Version>();
  #sequence = 0;
  /** Whether any entry has had a lifetime. */
  #mayExpire = false;

  constructor(clock: { wall(): number }) {
    this.#clock = new HybridClock(clock);
    this.#wall = () => clock.wall();
  }

  /** Returns the entries of all maps, each as a text, sorted. */
  contents(): string[] {
    const all = [...this.#entries.values()].filter((entry) => !this.#isOver(entry));
    return all.map(textOf).sort();
  }

  /** Makes a client's change. Returns false if a sink refuses it. */
  change(operation: Operation, map: string, key: string, value = '', timeToLiveMs = 0): boolean {
    this.expire();
    this.#clock.tick();
    const change = new Mutation();
    change.operation = operation;
    change.name.copyFrom(spanOf(map));
    if (operation !== CLEAR) change.key.copyFrom(spanOf(key));
    if (operation === SET) change.value.copyFrom(spanOf(value));
    change.version.set(this.#clock.low, this.#clock.high);
    change.expiryMs = timeToLiveMs === 0 ? 0 : this.#wall() + timeToLiveMs;
    if (operation === DELETE && !this.#entries.has(placeOf(change))) return true;
    return this.#make(change);
  }

  /** Removes expired entries, each with a tombstone just below its version. */
  expire(): void {
    if (!this.#mayExpire) return;
    for (const [place, entry] of this.#entries) {
      if (!this.#isOver(entry)) continue;
      this.#entries.delete(place);
      const below = new Version().copyFrom(entry.version);
      below.set(below.low - 1, below.low === 0 ? below.high - 1 : below.high);
      this.#raise(this.#tombstones, place, below);
    }
  }

  merge(change: Mutation, _policy: number, receiver: Receiver): void {
    this.observe(change.version);
    this.expire();
    const outcome = this.refusal ?? this.#judge(change);
    const isMade = outcome === APPLIED && this.#make(copyOf(change));
    if (isMade) this.mergedCount++;
    const result = outcome === APPLIED && !isMade ? REFUSED : outcome;
    const partition = change.operation === CLEAR ? EVERY_PARTITION : partitionOf(change);
    receiver.onResult({ outcome: result, partition, sequence: this.#sequence } as OperationResult);
  }

  delays(_partition: number, sequence: number): boolean {
    return sequence > this.durableCount;
  }

  observe(version: Version): void {
    this.#clock.restore(version);
  }

  now(version: Version): void {
    version.set(this.#clock.low, this.#clock.high);
  }

  addSink(sink: MutationSink): void {
    this.#sinks.push(sink);
  }

  removeSink(sink: MutationSink): void {
    this.#sinks.splice(this.#sinks.indexOf(sink), 1);
  }

  /** Visits the complete partition at once, so that no step misses an entry that moves. */
  visit(partition: number, _cursor: object, _budget: number, visitor: StoredVisitor): boolean {
    for (const entry of this.#entries.values()) {
      if (partitionOf(entry) !== partition || this.#isOver(entry)) continue;
      const given = ownCopyOf(entry);
      given.path.clear();
      given.partition = partition;
      given.sequence = this.#sequence;
      visitor.onStored(given);
    }
    return false;
  }

  close(): void {}

  restore(log: readonly Mutation[]): void {
    for (const change of log) {
      this.observe(change.version);
      if (this.#judge(change) === APPLIED) this.#apply(change);
    }
  }

  #judge(change: Mutation): Outcome {
    const place = placeOf(change);
    const map = change.name.toBuffer().toString();
    const clear = this.#clears.get(map);
    if (change.operation === CLEAR) {
      return clear !== undefined && !change.version.isAfter(clear) ? KNOWN : APPLIED;
    }
    const tombstone = this.#tombstones.get(place);
    const entry = this.#entries.get(place);
    if (clear !== undefined && !change.version.isAfter(clear)) return OUTDATED;
    if (change.operation === DELETE) {
      if (tombstone?.is(change.version)) return KNOWN;
      return entry?.version.isAfter(change.version) ? OUTDATED : APPLIED;
    }
    if (tombstone !== undefined && !change.version.isAfter(tombstone)) return OUTDATED;
    const order = entry === undefined ? 1 : compareChanges(change, entry);
    return order > 0 ? APPLIED : order === 0 ? KNOWN : OUTDATED;
  }

  #make(change: Mutation): boolean {
    change.partition = change.operation === CLEAR ? EVERY_PARTITION : partitionOf(change);
    change.sequence = this.#sequence + 1;
    for (const sink of this.#sinks) if (sink.admit(change) !== ADMITTED) return false;
    this.#sequence++;
    this.log.push(change);
    this.#apply(change);
    for (const sink of this.#sinks) sink.record(change);
    return true;
  }

  #apply(change: Mutation): void {
    const place = placeOf(change);
    const map = change.name.toBuffer().toString();
    if (change.expiryMs !== 0) this.#mayExpire = true;
    if (change.operation === SET) this.#entries.set(place, change);
    else if (change.operation === DELETE) {
      this.#entries.delete(place);
      this.#raise(this.#tombstones, place, change.version);
    } else {
      this.#raise(this.#clears, map, change.version);
      for (const [other, entry] of this.#entries) {
        if (entry.name.toBuffer().toString() !== map) continue;
        if (!entry.version.isAfter(change.version)) this.#entries.delete(other);
      }
    }
  }

  #raise(among: Map<string, Version>, place: string, version: Version): void {
    const known = among.get(place);
    if (known === undefined || version.isAfter(known)) {
      among.set(place, new Version().copyFrom(version));
    }
  }

  #isOver({ expiryMs }: Mutation): boolean {
    return expiryMs !== 0 && expiryMs <= this.#wall();
  }
}

/** Returns a copy like a change of a client, but with the version of the original. */
export function ownCopyOf(change: Mutation): Mutation {
  const copy = copyOf(change);
  copy.origin = FROM_CLIENT;
  return copy;
}

function placeOf({ name, key }: Mutation): string {
  return `${name.toBuffer().toString('latin1')}/${key.toBuffer().toString('latin1')}`;
}

function partitionOf({ key }: Mutation): number {
  return [...key.toBuffer()].reduce((sum, byte) => sum + byte, 0) % 7;
}

/** Returns the entry as a text. */
export function textOf(entry: Mutation): string {
  const { low, high } = entry.version;
  return `${placeOf(entry)} = ${entry.value.toBuffer()} at ${high}:${low >>> 0}, ${entry.expiryMs}`;
}
