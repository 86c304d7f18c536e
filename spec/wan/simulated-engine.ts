/**
 * The engine of a member in the specs of replication: an embedded engine whose log, which a sink
 * stores, becomes durable when the test requests it. A restart replays the durable part.
 */
import assert from 'node:assert/strict';
import type { Clock } from '../../src/base/clock.ts';
import { Span } from '../../src/base/span.ts';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import {
  APPLIED,
  EVERY_PARTITION,
  type OperationResult,
  type Outcome,
  type Receiver,
} from '../../src/engine/engine.ts';
import type { MergePolicy } from '../../src/engine/merge-policy.ts';
import {
  CLEAR,
  FROM_CLIENT,
  FROM_REPLAY,
  FROM_SOURCE,
  type Mutation,
  type Operation,
  SET,
} from '../../src/engine/mutation.ts';
import { ADMITTED, type MutationSink } from '../../src/engine/mutation-sink.ts';
import type { StoredVisitor, VisitCursor } from '../../src/engine/stored-engine.ts';
import type { Version } from '../../src/engine/version.ts';
import type { WanEngine } from '../../src/wan/wan-engine.ts';
import { copyOf } from '../engine/sinks.ts';
import { visited } from '../engine/stored-engine.case.ts';

export class SimulatedEngine implements WanEngine {
  readonly partitionCount: number;
  /** Every change in order; those from `durableCount` on are lost in a restart. */
  readonly log: Mutation[] = [];
  durableCount = 0;
  /** Outcome of the next merges; undefined to apply them. */
  refusal: Outcome | undefined;
  /** Number of changes made by merging. */
  mergedCount = 0;
  readonly #engine: EmbeddedEngine;

  constructor(clock: Clock, partitionCount: number) {
    this.partitionCount = partitionCount;
    const sink: MutationSink = {
      ignoresReplay: true,
      admit: () => ADMITTED,
      abandon: () => {},
      record: (mutation) => {
        if (mutation.origin === FROM_SOURCE) this.mergedCount++;
        this.log.push(copyOf(mutation));
      },
      durable: (partition) => this.#durable(partition),
    };
    this.#engine = new EmbeddedEngine({
      partitionCount: this.partitionCount,
      clock,
      queueCapacity: () => 1,
      sinks: [sink],
      keepsTombstones: () => true,
    });
  }

  /** Returns the entries of all maps, each as a text, sorted. */
  contents(): string[] {
    return visited(this.#engine).map(textOf).sort();
  }

  /** Makes a client's change. Returns false if a sink refuses it. */
  change(operation: Operation, map: string, key: string, value = '', timeToLiveMs = 0): boolean {
    let result = 0;
    const receiver: Receiver = {
      onResult({ outcome }) {
        result = outcome;
      },
    };
    const none = spanOf('');
    const lifetime = { timeToLiveMs, maxIdleSeconds: 0 };
    const name = spanOf(map);
    const place = spanOf(key);
    if (operation === SET) {
      this.#engine.set(name, place, spanOf(value), none, lifetime, undefined, receiver);
    } else if (operation === CLEAR) this.#engine.clear(name, receiver);
    else this.#engine.delete(name, place, undefined, receiver);
    return result === APPLIED;
  }

  merge(change: Mutation, policy: MergePolicy, receiver: Receiver, syncBegan?: Version): void {
    if (this.refusal === undefined) this.#engine.merge(change, policy, receiver, syncBegan);
    else receiver.onResult({ outcome: this.refusal } as OperationResult);
  }

  delays(partition: number, sequence: number): boolean {
    return this.#engine.delays(partition, sequence);
  }

  observe(version: Version): void {
    this.#engine.observe(version);
  }

  now(version: Version): void {
    this.#engine.now(version);
  }

  visit(partition: number, cursor: VisitCursor, budget: number, visitor: StoredVisitor): boolean {
    return this.#engine.visit(partition, cursor, budget, visitor);
  }

  addSink(sink: MutationSink): void {
    this.#engine.addSink(sink);
  }

  removeSink(sink: MutationSink): void {
    this.#engine.removeSink(sink);
  }

  /** Applies the durable changes of an earlier life again. */
  restore(log: readonly Mutation[]): void {
    const replay = this.#engine.replay();
    replay.beginLog();
    for (const change of log) {
      const again = copyOf(change);
      again.origin = FROM_REPLAY;
      assert.equal(replay.apply(again), APPLIED);
    }
    assert.ok(replay.end());
    this.#engine.invariants();
  }

  close(): void {
    void this.#engine.close();
  }

  /** The sequence up to which the partition is durable. */
  #durable(partition: number): number {
    for (let index = this.durableCount; index < this.log.length; index++) {
      const { partition: changed, sequence } = this.log[index]!;
      if (changed === partition || changed === EVERY_PARTITION) return sequence - 1;
    }
    return Number.POSITIVE_INFINITY;
  }
}

/** Returns a copy like a change of a client, but with the version of the original. */
export function ownCopyOf(change: Mutation): Mutation {
  const copy = copyOf(change);
  copy.origin = FROM_CLIENT;
  return copy;
}

/** Returns the entry as a text. */
export function textOf({ name, key, value, version, expiryMs }: Mutation): string {
  const place = `${name.toBuffer().toString('latin1')}/${key.toBuffer().toString('latin1')}`;
  return `${place} = ${value.toBuffer()} at ${version.high}:${version.low >>> 0}, ${expiryMs}`;
}

export function spanOf(text: string): Span {
  const bytes = Buffer.from(text);
  return new Span().set(bytes, 0, bytes.length);
}
