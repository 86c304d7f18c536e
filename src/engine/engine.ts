/**
 * The contract of a data engine: maps and queues of bytes. The embedded engine implements it, and so
 * can one on a distributed store. The suite in spec/engine/engine.case.ts is its proof and runs on
 * every implementation.
 *
 * Answers. Each operation takes a receiver and answers it exactly once: during the call where the
 * engine can, otherwise in a later turn, never from inside another operation's call. An operation is
 * answered also where its client has gone; only a cancelled take is not. A receiver does not throw.
 *
 * Bytes. An argument passed as a Span is valid only during the call: an engine that answers later
 * copies it first. The bytes that an Answer names are valid only during onAnswer.
 *
 * Order. Operations on queues and changes of entries take effect, partition by partition, in the order
 * called; but unless the engine is ordered, takes that do not wait may come behind offers that are called
 * later in the same turn. A read of a map sees at least every operation that was answered before the read
 * was called. On an engine that is ordered everything, reads and other partitions included, takes effect in
 * the order called.
 *
 * A taken item goes through two steps, for takes that wait and takes that don't. The take is answered
 * FOUND when the item's removal is made. Then `acknowledge` reports whether the client got the item
 * (see the head of embedded/holds.ts).
 */
import type { Span } from '../base/span.ts';
import type { Version } from './version.ts';

/** The mapping or item is there: `value`, `contentType`, `version` or `hold` are set. */
export const FOUND = 1;
/** No such mapping, or no item in time. */
export const ABSENT = 2;
/** The change is made. */
export const APPLIED = 3;
/** The queue has `max-size` items; nothing changed. */
export const QUEUE_FULL = 4;
/** The change needs more memory than there is; nothing changed. */
export const MEMORY_FULL = 5;
/** The engine is not reachable now, for the reason in `reason`; nothing changed. */
export const UNREACHABLE = 6;
/** A number: `count` is set. */
export const COUNTED = 7;
/** A sink has refused the change, with the code in `veto` (see mutation-sink.ts); nothing changed. */
export const REFUSED = 8;
/** The change may have been made; a read may have seen data that is lost after a restart. */
export const UNKNOWN = 9;
/** The hold had ended by itself; nothing changed. */
export const LOST = 10;
/** The entry does not meet the condition; `version` is its own. Nothing changed. */
export const CONDITION_FAILED = 11;

/** A change that is merged was here already, the same version and bytes. Nothing changed. */
export const KNOWN = 12;
/** The merge policy keeps what is here. Nothing changed. */
export const OUTDATED = 13;

export type Outcome = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13;

/** `reason` of UNREACHABLE: the engine is closed, for good. */
export const CLOSED = 1;
/** `reason` of UNREACHABLE: the store behind the engine does not answer; it may answer again later. */
export const DISCONNECTED = 2;
/** `reason` of UNREACHABLE and UNKNOWN: too few replicas are there, or are known to have the change. */
export const TOO_FEW_REPLICAS = 3;
/** `reason` of UNREACHABLE: the servers of the store take no changes now. */
export const SERVERS_REFUSE = 4;
/** `reason` of UNREACHABLE: the servers do not permit it. */
export const NOT_PERMITTED = 5;
/** `reason` of UNREACHABLE: the member has lost touch with its cluster. */
export const NO_LEASE = 6;
/** `reason` of UNREACHABLE: the store has data there that is not of this program. */
export const FOREIGN_DATA = 7;
/** `reason` of UNREACHABLE: too many operations wait for the store. */
export const OVERLOADED = 8;
/** `reason` of MEMORY_FULL and UNKNOWN: of the servers of the store, not of this process. */
export const SERVERS = 9;

/** `reason` of UNREACHABLE: the data of the store has another layout than this process. */
export const DATA_LAYOUT = 10;

export type Reason = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10;

/** `partition` of an answer that depends on every partition, such as that of a clear. */
export const EVERY_PARTITION = -1;
/** `partition` of an answer that depends on none. */
export const NO_PARTITION = -2;

/** `ticket` of an operation that was answered during the call. */
export const ANSWERED = 0;
/** `hold` of an item without a hold: no acknowledge follows. */
export const NO_HOLD = 0;

/** The result of an operation. Owned by the engine and reused for the next one. */
export interface Answer {
  readonly outcome: Outcome;
  /**
   * The partition that the answer depends on, from 0; or EVERY_PARTITION, or NO_PARTITION. The answer
   * to an operation that was not done depends on none, nor does the end of a hold whose item was
   * delivered. An engine that is not a StoredEngine sets NO_PARTITION.
   */
  readonly partition: number;
  /**
   * The partition's sequence when the answer was made: the mutation's own, or for a read the last
   * one it saw. With EVERY_PARTITION 0: see StoredEngine.sequences. With NO_PARTITION 0.
   */
  readonly sequence: number;
  /** FOUND: the bytes stored. */
  readonly value: Span;
  /** FOUND: the content type stored with the value; empty for none. */
  readonly contentType: Span;
  /** COUNTED: entries or items. */
  readonly count: number;
  /** FOUND by take: the argument of acknowledge, or NO_HOLD. */
  readonly hold: number;
  /**
   * FOUND by get, APPLIED by set, CONDITION_FAILED: the entry's version; none where there is no
   * entry (any more), and of all other answers.
   */
  readonly version: Version;
  /** REFUSED: the sink's code. */
  readonly veto: number;
  /** UNREACHABLE, and of servers MEMORY_FULL and UNKNOWN: the reason; otherwise 0. */
  readonly reason: Reason | 0;
  /**
   * FOUND: keeps the bytes that `value` names in place until release is called, even if the entry
   * changes. Only for values longer than VALUE_COPY_BYTES_MAX; shorter ones are copied instead.
   */
  pin(): Pin;
}

/** A value that is being sent. release is called once, when the last byte has been taken. */
export interface Pin {
  /** Whether its memory is counted as stored data; otherwise it is there for the pin alone. */
  readonly isCounted: boolean;
  release(): void;
}

/** Values up to this many bytes share memory with others, are copied by readers and never pinned. */
export const VALUE_COPY_BYTES_MAX = 65536;

/** How long an entry stays. */
export interface Lifetime {
  /** Time after its write, in ms; 0 for ever. Up to 2^52. */
  readonly timeToLiveMs: number;
  /** Time without a write or read, in seconds; 0 for ever. Up to 2^31-1. */
  readonly maxIdleSeconds: number;
}

export const FOREVER: Lifetime = { timeToLiveMs: 0, maxIdleSeconds: 0 };

/**
 * The condition of a change: an entry of this version; no entry, where the version is none; undefined
 * for any. Read during the call.
 */
export type Condition = Version | undefined;

/** Where an operation's answer arrives. */
export interface Receiver {
  onAnswer(answer: Answer): void;
}

export interface Engine {
  /** Whether everything takes effect in the order called, reads and other partitions included. */
  readonly isOrdered: boolean;
  /**
   * Whether operations can be done now; false after close, while DISCONNECTED, and before open, unless
   * there is nothing to open.
   */
  readonly isReachable: boolean;

  /** FOUND or ABSENT. */
  get(map: Span, key: Span, receiver: Receiver): void;
  /**
   * APPLIED, CONDITION_FAILED or MEMORY_FULL. An empty content type is none. Once its lifetime is over,
   * the entry is neither found nor counted.
   */
  set(
    map: Span,
    key: Span,
    value: Span,
    contentType: Span,
    lifetime: Lifetime,
    condition: Condition,
    receiver: Receiver,
  ): void;
  /** APPLIED, also when there was no such entry (then no sequence rises); or CONDITION_FAILED. */
  delete(map: Span, key: Span, condition: Condition, receiver: Receiver): void;
  /**
   * APPLIED: every entry of the map is gone. The answer depends on EVERY_PARTITION: if there was such a
   * map, all partitions now have the same sequence, greater than each had before.
   */
  clear(map: Span, receiver: Receiver): void;
  /** COUNTED: the entries of the map. O(1), unless entries with a lifetime have just ended. */
  size(map: Span, receiver: Receiver): void;

  /** APPLIED, QUEUE_FULL or MEMORY_FULL. */
  offer(queue: Span, value: Span, contentType: Span, receiver: Receiver): void;
  /** FOUND, with the item that would be taken next, or ABSENT. */
  peek(queue: Span, receiver: Receiver): void;
  /** COUNTED: the items of the queue. */
  queueSize(queue: Span, receiver: Receiver): void;
  /**
   * Takes an item, and waits up to `timeoutMs` (0 to (2^31-1) x 1000) for one, first come, first
   * served. FOUND: the item's removal is made, and is recorded like any change; its `hold` is open
   * until acknowledge, unless it is NO_HOLD. ABSENT: none came in time. REFUSED: the item has stayed.
   * UNKNOWN has no hold: where an item was removed, the engine returns it by itself. MEMORY_FULL: there
   * is no memory to wait. Returns ANSWERED, or a ticket for cancel where the answer comes later.
   *
   * Between FOUND and the hold's end the item counts neither in the queue's size nor against its
   * `max-size`. The end of the process loses an item whose hold is open.
   */
  take(queue: Span, timeoutMs: number, receiver: Receiver): number;
  /**
   * Ends a take without an answer, also one without a timeout. An item that is already on its way to
   * the take returns to its old place. A ticket that was answered already is ignored. O(1).
   */
  cancel(ticket: number): void;
  /**
   * Ends a hold: APPLIED. `isDelivered`: the item is gone for good. Otherwise it returns to its old
   * place, before later items, also into a queue of `max-size` items; while a sink refuses that, the
   * engine tries again, and answers when the item is back. The bytes that the take's answer named stay
   * valid until its onAnswer returns, also when acknowledge is called inside it. LOST: the hold had
   * already ended, or its end was under way. After close UNREACHABLE, also for an item that was to
   * return: the end of the engine has lost it. Never UNREACHABLE with DISCONNECTED: an engine that
   * cannot tell its store does so later, or answers UNKNOWN, and the hold ends by itself.
   */
  acknowledge(hold: number, isDelivered: boolean, receiver: Receiver): void;

  /** Resolves when operations can be done. */
  open(): Promise<void>;
  /**
   * Releases everything. Takes that wait are answered ABSENT during the call, later operations
   * UNREACHABLE with CLOSED. Resolves when no operation is under way any more.
   */
  close(): Promise<void>;
}

/** How many items a queue may have: a positive number, or Infinity. Asked when a queue is created. */
export type QueueCapacity = (queue: Buffer) => number;

/** The receiver of an operation whose answer is ignored. */
export const NOBODY: Receiver = { onAnswer() {} };
