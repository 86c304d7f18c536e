/**
 * The engine of a member in the specs of replication: an embedded engine whose log, which a sink
 * stores, becomes durable when the test requests it. A restart replays the durable part.
 */
import assert from 'node:assert/strict';
import type { Clock } from '../../src/base/clock.ts';
import { EVERY_PARTITION } from '../../src/base/partition-number.ts';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import { APPLIED, type OperationResult, type Outcome } from '../../src/engine/engine.ts';
import {
  CLEAR,
  FROM_REPLAY,
  FROM_SOURCE,
  type Mutation,
  type Operation,
  SET,
} from '../../src/engine/mutation.ts';
import { ADMITTED } from '../../src/engine/mutation-sink.ts';
import { AtOnce } from '../engine/embedded/at-once.ts';
import { copyOf } from '../engine/sinks.ts';
import { visited } from '../engine/stored-engine.case.ts';

export class SimulatedEngine extends EmbeddedEngine {
  /** Every change in order; those from `durableCount` on are lost in a restart. */
  readonly log: Mutation[] = [];
  durableCount: number;
  /** Outcome of the next merges; undefined to apply them. */
  refusal: Outcome | undefined;
  /** Number of changes made by merging. */
  mergedCount = 0;

  constructor(clock: Clock, partitionCount: number, durableCount = 0) {
    const options = { queueCapacity: () => 1, keepsTombstones: () => true };
    super({ partitionCount, clock, ...options });
    this.durableCount = durableCount;
    this.addSink({
      ignoresReplay: true,
      admit: () => ADMITTED,
      abandon: () => {},
      record: (mutation) => {
        if (mutation.origin === FROM_SOURCE) this.mergedCount++;
        this.log.push(copyOf(mutation));
      },
      durable: (partition) => this.#durable(partition),
    });
  }

  /** Returns the entries of all maps, each as a text, sorted. */
  contents(): string[] {
    return visited(this).map(textOf).sort();
  }

  /** Makes a client's change. Returns false if a sink refuses it. */
  change(operation: Operation, map: string, key: string, value = '', timeToLiveMs = 0): boolean {
    const ask = new AtOnce(this);
    const lifetime = { timeToLiveMs, maxIdleSeconds: 0 };
    if (operation === SET) {
      return ask.set(map, key, Buffer.from(value), '', lifetime).outcome === APPLIED;
    }
    const { outcome } = operation === CLEAR ? ask.clear(map) : ask.delete(map, key);
    return outcome === APPLIED;
  }

  override merge(...change: Parameters<EmbeddedEngine['merge']>): void {
    if (this.refusal === undefined) super.merge(...change);
    else change[2].onResult({ outcome: this.refusal } as OperationResult);
  }

  /** Applies the durable changes of an earlier life again. */
  restore(log: readonly Mutation[]): void {
    const replay = this.replay();
    replay.beginLog();
    for (const change of log) {
      const again = copyOf(change);
      again.origin = FROM_REPLAY;
      assert.equal(replay.apply(again), APPLIED);
    }
    assert.ok(replay.end());
    this.invariants();
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

/** Returns the entry as a text. */
export function textOf({ name, key, value, version, expiryMs }: Mutation): string {
  const place = `${name.toBuffer().toString('latin1')}/${key.toBuffer().toString('latin1')}`;
  return `${place} = ${value.toBuffer()} at ${version.high}:${version.low >>> 0}, ${expiryMs}`;
}
