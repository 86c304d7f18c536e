/**
 * An embedded engine instead of a model engine. A sink stores the log; a restart replays its
 * durable part.
 */
import assert from 'node:assert/strict';
import type { Clock } from '../../src/base/clock.ts';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import { APPLIED, EVERY_PARTITION, type Receiver } from '../../src/engine/engine.ts';
import type { MergePolicy } from '../../src/engine/merge-policy.ts';
import {
  CLEAR,
  FROM_REPLAY,
  type Mutation,
  type Operation,
  SET,
} from '../../src/engine/mutation.ts';
import { ADMITTED, type MutationSink } from '../../src/engine/mutation-sink.ts';
import type { StoredVisitor, VisitCursor } from '../../src/engine/stored-engine.ts';
import type { Version } from '../../src/engine/version.ts';
import { copyOf } from '../engine/sinks.ts';
import { visited } from '../engine/stored-engine.case.ts';
import { type SimulatedEngine, spanOf, textOf } from './model-engine.ts';

export class EmbeddedModel implements SimulatedEngine {
  readonly partitionCount: number;
  readonly log: Mutation[] = [];
  durableCount = 0;
  readonly #engine: EmbeddedEngine;

  constructor(clock: Clock, partitionCount = 7) {
    this.partitionCount = partitionCount;
    const sink: MutationSink = {
      ignoresReplay: true,
      admit: () => ADMITTED,
      abandon: () => {},
      record: (mutation) => void this.log.push(copyOf(mutation)),
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

  contents(): string[] {
    return visited(this.#engine).map(textOf).sort();
  }

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

  /** The engine expires entries itself. */
  expire(): void {}

  merge(change: Mutation, policy: MergePolicy, receiver: Receiver, syncBegan?: Version): void {
    this.#engine.merge(change, policy, receiver, syncBegan);
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
