/**
 * The contract of a data engine: maps and queues of bytes, each mutation numbered within its
 * partition. The embedded engine and one on a distributed store stand behind it alike; the suite in
 * spec/engine/engine.case.ts is its proof and runs on every implementation.
 *
 * Each operation takes a receiver and answers it exactly once: during the call where the engine can,
 * otherwise in a later turn, never from inside another operation's call. What is passed as a Span is
 * valid only during the call; whoever answers later copies it first. What an Answer names is valid
 * only during onAnswer. Operations on one partition take effect in the order called. A mutation that
 * changes something raises its partition's sequence by one; any may be answered REFUSED, where a
 * sink is asked about it.
 */
import type { Span } from '../base/span.ts';

/** The mapping or item is there: `value`, `contentType` and, for a held item, `hold` are set. */
export const FOUND = 1;
/** No such mapping, or no item in time. */
export const ABSENT = 2;
/** The mutation is done. */
export const APPLIED = 3;
/** The queue has `max-size` items, held ones included; nothing changed. */
export const QUEUE_FULL = 4;
/** The mutation needs more memory than there is; nothing changed. */
export const MEMORY_FULL = 5;
/** The engine is closed; nothing changed. */
export const UNAVAILABLE = 6;
/** A number: `count` is set. */
export const COUNTED = 7;
/** A sink has refused the mutation, `refusal` says why (see mutation-sink.ts); nothing changed. */
export const REFUSED = 8;

export type Outcome = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

/** `partition` of an answer that depends on every partition, such as that of a clear. */
export const EVERY_PARTITION = -1;
/** `partition` of an answer that depends on none. */
export const NO_PARTITION = -2;

/** `ticket` of an operation that was answered during the call. */
export const ANSWERED = 0;

/** What an operation came to. Owned by the engine and used again for the next one. */
export interface Answer {
  readonly outcome: Outcome;
  /** The partition that the answer depends on, from 0; or EVERY_PARTITION, or NO_PARTITION. */
  readonly partition: number;
  /**
   * The partition's sequence when the answer was made: the mutation's own, or for a read the last
   * one it saw. With EVERY_PARTITION 0: see Engine.sequences.
   */
  readonly sequence: number;
  /** FOUND: the bytes stored. */
  readonly value: Span;
  /** FOUND: the content type stored with the value; empty for none. */
  readonly contentType: Span;
  /** COUNTED: entries or items. */
  readonly count: number;
  /**
   * FOUND by take: what settle is called with. FOUND by poll, and APPLIED by settle: what conclude is
   * to be called with, or 0.
   */
  readonly hold: number;
  /** REFUSED: the sink's code. */
  readonly refusal: number;
  /**
   * FOUND: keeps the bytes that `value` names in place until release is called, whatever happens to
   * the entry. Only for values longer than VALUE_COPY_BYTES_MAX; shorter ones are copied instead.
   */
  pin(): Pin;
}

/** A value that is being sent. release is called once, when the last byte has been taken. */
export interface Pin {
  release(): void;
}

/** Values up to this many bytes share memory with others, are copied by readers and never pinned. */
export const VALUE_COPY_BYTES_MAX = 65536;

/** How long an entry stays by itself. */
export interface Lifetime {
  /** From when it is written, in ms; 0 for ever. Up to 2^52. */
  readonly timeToLiveMs: number;
  /** Without being written or read, in seconds; 0 for ever. Up to 2^31-1. */
  readonly maxIdleSeconds: number;
}

export const FOREVER: Lifetime = { timeToLiveMs: 0, maxIdleSeconds: 0 };

/** Where an operation's answer arrives. */
export interface Receiver {
  onAnswer(answer: Answer): void;
}

export interface Engine {
  /** Number of partitions, fixed for the life of the data. */
  readonly partitionCount: number;

  /** FOUND or ABSENT. */
  get(map: Span, key: Span, receiver: Receiver): void;
  /**
   * APPLIED or MEMORY_FULL. An empty content type is none. Once its lifetime is over, the entry is
   * neither found nor counted any more.
   */
  set(
    map: Span,
    key: Span,
    value: Span,
    contentType: Span,
    lifetime: Lifetime,
    receiver: Receiver,
  ): void;
  /** APPLIED, also when there was no such entry (then no sequence rises). */
  delete(map: Span, key: Span, receiver: Receiver): void;
  /**
   * APPLIED: every entry of the map is gone. The answer depends on EVERY_PARTITION: if there was such
   * a map, the sequence of each is now the same number, greater than all of them were.
   */
  clear(map: Span, receiver: Receiver): void;
  /** COUNTED: the entries of the map. O(1), unless entries with a lifetime have just ended. */
  size(map: Span, receiver: Receiver): void;

  /** APPLIED, QUEUE_FULL or MEMORY_FULL. */
  offer(queue: Span, value: Span, contentType: Span, receiver: Receiver): void;
  /** FOUND, the item that would be polled next, or ABSENT. */
  peek(queue: Span, receiver: Receiver): void;
  /** COUNTED: the items of the queue that no poll holds. */
  queueSize(queue: Span, receiver: Receiver): void;
  /**
   * FOUND, and the item is gone; or ABSENT. Take and confirm in one, for who need not wait. Where the
   * answer has to wait for a sink, conclude follows, as after settle.
   */
  poll(queue: Span, receiver: Receiver): void;
  /**
   * Waits up to `timeoutMs` (0 to (2^31-1) x 1000) for an item, first come, first served. FOUND: the
   * item is held for this receiver: not counted by queueSize, counted against `max-size`, given to
   * nobody else, until settle. ABSENT: none came in time.
   * MEMORY_FULL: there is none to wait with. Returns ANSWERED, or a ticket for cancel where the
   * answer comes later.
   */
  take(queue: Span, timeoutMs: number, receiver: Receiver): number;
  /** The waiting take goes away unanswered. A ticket that was answered already is ignored. O(1). */
  cancel(ticket: number): void;
  /**
   * Ends a hold. `confirm`: the item is gone for good. Otherwise it returns to its old place, before
   * later items, also where several return. APPLIED with the mutation's partition and sequence, or
   * why not: then the item has returned. The bytes that the take's answer named stay valid until its
   * onAnswer returns, also when settle is called inside it. A hold that has ended: RangeError.
   * Where the answer has to wait for a sink, a confirmed item can still come back: the answer names
   * its hold, and conclude follows.
   */
  settle(hold: number, confirm: boolean, receiver: Receiver): void;
  /**
   * The answer that tells of a removed item leaves; or it cannot be delivered any more, and the item
   * is back at its old place: a mutation, which also a queue with `max-size` items has room for. As
   * long as a sink refuses it, it is tried again. A hold that has ended: RangeError.
   */
  conclude(hold: number, isDelivered: boolean): void;

  /** The last sequence of each partition, copied. */
  sequences(): Float64Array;
  /**
   * Lets go of everything. Takes that wait are answered ABSENT during the call, later operations
   * UNAVAILABLE.
   */
  close(): void;
}

/** How many items a queue may hold: a positive number, or Infinity. Asked when a queue comes to be. */
export type QueueCapacity = (queue: Buffer) => number;
