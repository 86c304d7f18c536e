/** Sinks for tests: one that records, one that refuses, one that delays results. */
import assert from 'node:assert/strict';
import { EVERY_PARTITION } from '../../src/base/partition-number.ts';
import type { Span } from '../../src/base/span.ts';
import { FROM_REPLAY, Mutation } from '../../src/engine/mutation.ts';
import { ADMITTED, type MutationSink, type Veto } from '../../src/engine/mutation-sink.ts';

/** Returns a copy of a mutation, as sinks and visitors must not retain their argument. */
export function copyOf(mutation: Mutation): Mutation {
  const copy = new Mutation();
  copy.operation = mutation.operation;
  copy.origin = mutation.origin;
  copy.partition = mutation.partition;
  copy.sequence = mutation.sequence;
  setTo(copy.name, mutation.name);
  setTo(copy.key, mutation.key);
  setTo(copy.value, mutation.value);
  setTo(copy.contentType, mutation.contentType);
  setTo(copy.path, mutation.path);
  copy.version.copyFrom(mutation.version);
  copy.replaced.copyFrom(mutation.replaced);
  copy.life.copyFrom(mutation.life);
  copy.maker = mutation.maker;
  copy.item = mutation.item;
  copy.expiryMs = mutation.expiryMs;
  copy.maxIdleSeconds = mutation.maxIdleSeconds;
  copy.hits = mutation.hits;
  copy.lastAccessSeconds = mutation.lastAccessSeconds;
  copy.tombstone.copyFrom(mutation.tombstone);
  return copy;
}

function setTo(span: Span, other: Span): void {
  const bytes = other.toBuffer();
  span.set(bytes, 0, bytes.length);
}

/**
 * The parts of a mutation that must be equal when the engine asks for admission and when it records
 * it.
 */
function outlineOf({
  operation,
  partition,
  sequence,
  key,
  value,
  version,
  item,
}: Mutation): string {
  const lengths = `${key.length} ${value.length}`;
  return `${operation} ${partition} ${sequence} ${lengths} ${version.high} ${version.low} ${item}`;
}

/** Accepts every mutation, which is durable at once. */
export class AcceptingSink implements MutationSink {
  admit(_mutation: Mutation): typeof ADMITTED | Veto {
    return ADMITTED;
  }

  abandon(_mutation: Mutation): void {}

  record(_mutation: Mutation): void {}

  durable(_partition: number): number {
    return Number.POSITIVE_INFINITY;
  }
}

/** Asserts the protocol, and stores or passes on a copy of each recorded mutation. */
export class RecordingSink extends AcceptingSink {
  readonly records: Mutation[] = [];
  readonly #onRecord: ((mutation: Mutation) => void) | undefined;
  /** The admitted mutation that is not recorded or abandoned yet; empty for none. */
  #admitted = '';
  abandonedCount = 0;
  readonly #sequences = new Map<number, number>();

  /** `onRecord` receives the copies instead of `records`. */
  constructor(onRecord?: (mutation: Mutation) => void) {
    super();
    this.#onRecord = onRecord;
  }

  override admit(mutation: Mutation): typeof ADMITTED {
    assert.equal(
      this.#admitted,
      '',
      'A mutation was submitted before the previous one was recorded or abandoned',
    );
    this.#admitted = outlineOf(mutation);
    return ADMITTED;
  }

  override abandon(mutation: Mutation): void {
    assert.equal(outlineOf(mutation), this.#admitted);
    this.#admitted = '';
    this.abandonedCount++;
  }

  override record(mutation: Mutation): void {
    assert.equal(outlineOf(mutation), this.#admitted);
    this.#admitted = '';
    const copy = copyOf(mutation);
    const { partition, sequence } = copy;
    // A mutation may be replayed twice.
    if (copy.origin === FROM_REPLAY) {
      assert.ok(sequence > 0);
    } else if (partition === EVERY_PARTITION) {
      for (const last of this.#sequences.values()) assert.ok(sequence > last);
    } else assert.ok(sequence > (this.#sequences.get(partition) ?? 0));
    this.#sequences.set(partition, sequence);
    if (this.#onRecord === undefined) this.records.push(copy);
    else this.#onRecord(copy);
  }
}

/** Refuses with `veto` while it is set. */
export class RefusingSink extends AcceptingSink {
  veto: Veto | undefined;
  refusedCount = 0;

  override admit(): typeof ADMITTED | Veto {
    if (this.veto === undefined) return ADMITTED;
    this.refusedCount++;
    return this.veto;
  }
}

/** Delays results beyond `upTo` of a partition, or beyond `upToElse` for other partitions. */
export class DelayingSink extends AcceptingSink {
  readonly upTo = new Map<number, number>();
  upToElse: number;
  /** Whether no more changes become durable. */
  hasFailed = false;

  constructor(upToElse = Number.POSITIVE_INFINITY) {
    super();
    this.upToElse = upToElse;
  }

  override durable(partition: number): number {
    return this.upTo.get(partition) ?? this.upToElse;
  }
}
