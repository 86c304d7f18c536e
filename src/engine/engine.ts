/**
 * The contract of a data engine: maps and queues of bytes. The embedded engine implements it, and
 * an engine on a distributed store can implement it as well. The suite in
 * spec/engine/engine.case.ts proves it and runs on every implementation.
 *
 * Results. Each operation accepts a receiver and calls it exactly once: during the call if the
 * engine can, otherwise in a later turn, but never from inside another operation's call. An
 * operation has its result even if its client has disconnected; only a cancelled take has none. A
 * receiver does not throw.
 *
 * Bytes. An argument passed as a Span is valid only during the call: an engine that finishes later
 * copies it first. The bytes that an OperationResult refers to are valid only during onResult.
 *
 * Order. The operations on a queue take effect in the order of the calls, and so do the changes of
 * a map's entries within a partition. An item counts against its queue's `max-size` until its take
 * has the result. A read of a map sees at least every operation whose result arrived before the
 * read was called. On an ordered engine everything, including reads and other names and partitions,
 * takes effect in the order of the calls.
 *
 * A taken item goes through two steps, whether or not the take waits. The result is FOUND when the
 * removal of the item is made. Then `acknowledge` reports whether the client received the item (see
 * the header of embedded/holds.ts).
 */
import type { Pin } from '../base/pin.ts';
import { Span } from '../base/span.ts';
import type { Condition } from './condition.ts';
import type { Version } from './version.ts';

/** The mapping or item exists: `value`, `contentType`, `version` or `hold` are set. */
export const FOUND = 1;
/** There is no such mapping, or no item arrived in time. */
export const ABSENT = 2;
/** The change is made. */
export const APPLIED = 3;
/** The queue has `max-size` items; nothing changed. */
export const QUEUE_FULL = 4;
/** The change needs more memory than is available; nothing changed. */
export const MEMORY_FULL = 5;
/** The engine is currently unreachable, for the reason in `reason`; nothing changed. */
export const UNREACHABLE = 6;
/** The result is a number: `count` is set. */
export const COUNTED = 7;
/**
 * A sink has refused the change, with the code in `veto` (see mutation-sink.ts). Nothing changed.
 */
export const REFUSED = 8;
/** The change may have been made; a read may have seen data that is lost after a restart. */
export const UNKNOWN = 9;
/** The hold had already ended by itself; nothing changed. */
export const LOST = 10;
/**
 * The entry does not meet the condition; `version` is the entry's current version. Nothing changed.
 */
export const CONDITION_FAILED = 11;

/** The merged change is stored already, with the same version and bytes. Nothing changed. */
export const KNOWN = 12;
/** The merge policy keeps the stored entry. Nothing changed. */
export const OUTDATED = 13;

/** The value is not a 64-bit integer, or the sum would not be one. Nothing changed. */
export const NO_NUMBER = 14;

/** A part of a list has been passed: `place` is set. */
export const LISTED = 15;

export type Outcome = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15;

/** `reason` of UNREACHABLE: the engine is closed and stays closed. */
export const CLOSED = 1;
/** `reason` of UNREACHABLE: the engine's store does not respond; it may respond again later. */
export const DISCONNECTED = 2;
/**
 * `reason` of UNREACHABLE and UNKNOWN: too few replicas are connected, or have confirmed the
 * change.
 */
export const TOO_FEW_REPLICAS = 3;
/** `reason` of UNREACHABLE: the store's servers do not accept changes at present. */
export const SERVERS_REFUSE = 4;
/** `reason` of UNREACHABLE: the servers do not permit the operation. */
export const NOT_PERMITTED = 5;
/** `reason` of UNREACHABLE: the member has lost the connection to its cluster. */
export const NO_LEASE = 6;
/** `reason` of UNREACHABLE: the store contains data of another program. */
export const FOREIGN_DATA = 7;
/** `reason` of UNREACHABLE: too many operations wait for the store. */
export const OVERLOADED = 8;
/**
 * `reason` of MEMORY_FULL and UNKNOWN: the cause is in the store's servers, not in this process.
 */
export const SERVERS = 9;

/** `reason` of UNREACHABLE: the layout of the store's data differs from this process's layout. */
export const DATA_LAYOUT = 10;

export type Reason = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10;

/** `ticket` of an operation whose result arrived during the call. */
export const NO_TICKET = 0;
/** `hold` of an item without a hold: no acknowledge follows. */
export const NO_HOLD = 0;

/** `bytes` of an engine that does not count them. */
export const NOT_COUNTED = -1;

/** The result of an operation. Owned by the engine and reused for the next one. */
export interface OperationResult {
  readonly outcome: Outcome;
  /**
   * The partition that the result depends on, from 0; or EVERY_PARTITION, or NO_PARTITION. The
   * result of an operation that was not done depends on no partition, nor does the end of a hold
   * whose item was delivered. An engine that is not a StoredEngine sets NO_PARTITION.
   */
  readonly partition: number;
  /**
   * The partition's sequence at the time of the result: that of the mutation, or for a read the
   * last one it saw. 0 with EVERY_PARTITION (see StoredEngine.sequences) and with NO_PARTITION.
   */
  readonly sequence: number;
  /** FOUND: the stored bytes. APPLIED by add: the sum as text. */
  readonly value: Span;
  /** FOUND: the content type stored with the value; empty if there is none. */
  readonly contentType: Span;
  /** COUNTED: number of entries or items. */
  readonly count: number;
  /** COUNTED by size: bytes that the map's entries occupy, or NOT_COUNTED. */
  readonly bytes: number;
  /** FOUND by take: the argument for acknowledge, or NO_HOLD. */
  readonly hold: number;
  /**
   * FOUND by get, APPLIED by set and add, CONDITION_FAILED: the entry's version. None if there is no entry
   * (any more), and in all other results.
   */
  readonly version: Version;
  /** APPLIED by a set with a condition: whether it replaced an entry. Otherwise false. */
  readonly wasPresent: boolean;
  /** FOUND by get: time left of the entry's time to live, in ms, above 0; 0 for no limit. */
  readonly timeToLiveMs: number;
  /** FOUND by get: the entry's max idle, in seconds; 0 for none. */
  readonly maxIdleSeconds: number;
  /** LISTED: where the list continues, LIST_PLACE_BYTES long; empty at its end. */
  readonly place: Span;
  /** REFUSED: the sink's code. */
  readonly veto: number;
  /** UNREACHABLE, and MEMORY_FULL and UNKNOWN of servers: the reason; otherwise 0. */
  readonly reason: Reason | 0;
  /**
   * FOUND: keeps the bytes of `value` in place until release is called, even if the entry changes.
   * Only for values longer than VALUE_COPY_BYTES_MAX; shorter values are copied instead.
   */
  pin(): Pin;
}

/**
 * Values of up to this many bytes share memory with others, are copied by readers and never pinned.
 */
export const VALUE_COPY_BYTES_MAX = 65536;

/** How long an entry is stored. */
export interface Lifetime {
  /** Time to live after the write, in ms, up to 2^52; 0 for no limit. */
  readonly timeToLiveMs: number;
  /** Time without a write or read, in seconds, up to 2^31-1; 0 for no limit. */
  readonly maxIdleSeconds: number;
}

export const FOREVER: Lifetime = { timeToLiveMs: 0, maxIdleSeconds: 0 };

/** Receives an operation's result. */
export interface Receiver {
  onResult(result: OperationResult): void;
}

/** Length of a place in a list, in bytes. */
export const LIST_PLACE_BYTES = 24;
/** The place at which a list begins. */
export const LIST_START = Span.of(Buffer.alloc(LIST_PLACE_BYTES));
/** Maximum number of elements that a call lists. */
export const LIST_COUNT_MAX = 10_000;
/**
 * A call ends its list after the element with which names, keys and values reach this many bytes; each
 * element counts LISTED_ELEMENT_BYTES more.
 */
export const LISTED_BYTES = 16_384;
export const LISTED_ELEMENT_BYTES = 100;
/** Longer values are left out of lists. */
export const LISTED_VALUE_BYTES_MAX = 1_048_576;

/** Receives entries of a list, each in a call of its own, and then the result. */
export interface EntryReceiver extends Receiver {
  /** Whether entries are passed without their values: each `value` is empty. */
  readonly hasNoValues?: boolean;
  /**
   * `entry`: FOUND, as of a get at this time; `value` is empty if it is longer than
   * LISTED_VALUE_BYTES_MAX. `length`: that of the value. Everything is valid only during the call.
   */
  onEntry(key: Span, entry: OperationResult, length: number): void;
}

/** Receives names of a list, each in a call of its own, and then the result. */
export interface NameReceiver extends Receiver {
  /**
   * `size`: number of entries or items, above 0; expired ones may be counted. `bytes`: those that
   * a map's entries occupy, or NOT_COUNTED. The name is valid only during the call.
   */
  onName(name: Span, size: number, bytes: number): void;
}

export type NameKind = 'map' | 'queue';

export interface Engine {
  /**
   * Whether everything, including reads and other partitions, takes effect in the order of the
   * calls.
   */
  readonly isOrdered: boolean;
  /**
   * Number of the run that places in lists are valid in: random for each embedded engine, 0 if any
   * engine of the store continues the lists of another. 32 bits.
   */
  readonly listRun: number;
  /**
   * Whether the engine can run operations now; false after close, while DISCONNECTED, and before
   * open unless there is nothing to open.
   */
  readonly isReachable: boolean;

  /** FOUND or ABSENT. */
  get(map: Span, key: Span, receiver: Receiver): void;
  /**
   * APPLIED, CONDITION_FAILED or MEMORY_FULL. An empty content type means none. Once its lifetime
   * is over, the entry is neither found nor counted.
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
  /**
   * Adds a 64-bit integer to the entry's value, which is one as text: an optional minus and up to 19
   * digits. APPLIED, NO_NUMBER or MEMORY_FULL. The entry's content type and lifetime remain, and
   * its idle time begins anew. If there is no entry, the value is `by`, the content type text/plain,
   * and the lifetime is `lifetime`. The change is that of a set.
   */
  add(map: Span, key: Span, by: bigint, lifetime: Lifetime, receiver: Receiver): void;
  /** APPLIED, even if there was no such entry (then no sequence rises); or CONDITION_FAILED. */
  delete(map: Span, key: Span, condition: Condition, receiver: Receiver): void;
  /**
   * APPLIED: every entry of the map is removed. The result depends on EVERY_PARTITION: if there was
   * such a map, all partitions now have the same sequence, greater than any had before.
   */
  clear(map: Span, receiver: Receiver): void;
  /**
   * COUNTED: number of entries of the map. O(1), unless the lifetimes of entries have just ended.
   */
  size(map: Span, receiver: Receiver): void;

  /**
   * Lists entries of the map whose keys begin with `prefix`, from `place` on, in no order: passes up
   * to `count` of them (1 to LIST_COUNT_MAX), then LISTED with the next place. Each call is short: it
   * may pass fewer, even none, although more follow. Whatever bytes a place has, the list is of this
   * map. An entry that exists throughout all calls of a list, whether it is overwritten or not, is
   * passed at least once, by the embedded engine exactly once. The result depends on EVERY_PARTITION,
   * each entry on its own. UNKNOWN: no entry that may be lost has been passed.
   */
  entries(map: Span, prefix: Span, place: Span, count: number, receiver: EntryReceiver): void;
  /**
   * As entries, for the names of queues that have items, or of maps that have entries, without the
   * reserved map. A call may take long, but holds up nothing else. An engine on a Cluster may leave out
   * a name whose only keys move to another server during the call.
   */
  names(kind: NameKind, prefix: Span, place: Span, count: number, receiver: NameReceiver): void;

  /** APPLIED, QUEUE_FULL or MEMORY_FULL. */
  offer(queue: Span, value: Span, contentType: Span, receiver: Receiver): void;
  /** FOUND, with the item that the next take would return, or ABSENT. */
  peek(queue: Span, receiver: Receiver): void;
  /** COUNTED: number of items of the queue. */
  queueSize(queue: Span, receiver: Receiver): void;
  /**
   * Takes an item, and waits for one for up to `timeoutMs` (0 to (2^31-1) x 1000), first come,
   * first served. FOUND: the item's removal is made, and recorded like any change; its `hold` is
   * open until acknowledge, unless it is NO_HOLD. ABSENT: no item arrived in time. REFUSED: the
   * item remains in the queue. UNKNOWN has no hold: if an item was removed, the engine returns it
   * by itself. MEMORY_FULL: there is no memory for the wait. Returns NO_TICKET, or a ticket for
   * cancel if the result arrives later.
   *
   * Between FOUND and the end of the hold the item counts neither in the queue's size nor against
   * its `max-size`. If the process ends, an item whose hold is open is lost.
   */
  take(queue: Span, timeoutMs: number, receiver: Receiver): number;
  /**
   * Ends a take without a result, also one without a timeout. An item that has already been removed
   * for the take returns to its old place. A ticket whose result has already arrived is ignored.
   * O(1).
   */
  cancel(ticket: number): void;
  /**
   * Ends a hold: APPLIED. With `isDelivered` the item is removed for good. Otherwise it returns to
   * its old place, before later items, even into a queue of `max-size` items; while a sink refuses
   * the return, the engine retries, and the result arrives when the item is back. The bytes of the
   * take's result remain valid until its onResult returns, also when acknowledge is called inside
   * it. LOST: the hold had already ended, or its end was in progress. UNREACHABLE after close, also
   * for an item that was to be returned: the close of the engine has lost it. Never UNREACHABLE
   * with DISCONNECTED: an engine that cannot reach its store reports the end later, or the result
   * is UNKNOWN and the hold ends by itself.
   */
  acknowledge(hold: number, isDelivered: boolean, receiver: Receiver): void;

  /** Resolves when the engine can run operations. */
  open(): Promise<void>;
  /**
   * Releases everything. Waiting takes end with ABSENT during the call, later operations with
   * UNREACHABLE and CLOSED. Resolves when no operation is in progress any more.
   */
  close(): Promise<void>;
}

/**
 * Returns the number of items that a queue may have: a positive number, or Infinity. Called when a
 * queue is created.
 */
export type QueueCapacity = (queue: Buffer) => number;

/** The content type of a new entry of `add`. */
export const TEXT_PLAIN = Span.of('text/plain');

/** The receiver of an operation whose result is ignored. */
export const NOBODY: Receiver = { onResult() {} };
