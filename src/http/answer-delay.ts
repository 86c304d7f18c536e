/** The things that a response depends on, and delivers: stored data, an item, pinned bytes. */

/** Bytes that are sent without a copy; released once, when the last one has been taken. */
export interface Pinned {
  /** Whether their memory is counted elsewhere; otherwise the budget for bytes in flight counts it. */
  readonly isCounted: boolean;
  release(): void;
}

/** The hold of an item that a response delivers. */
export interface ItemHold {
  /** Called once. True: the response leaves. False: it cannot any more, and the item returns. */
  acknowledge(isDelivered: boolean): void;
}

/** `partition` of an answer that depends on no stored data. */
export const INDEPENDENT = -2;
/** `partition` of an answer that depends on all partitions as they are now. */
export const EVERY_PARTITION = -1;

/** Decides when answers may leave. Its owner calls each sender's `release` when more may go. */
export interface AnswerDelay {
  /** Whether no answer at all may leave before the next release. */
  readonly delaysAll: boolean;
  /** Whether an answer that depends on this sequence of the partition has to wait. */
  delays(partition: number, sequence: number): boolean;
  /** The present sequence of every partition, copied. */
  sequences(): Float64Array;
}

/** Sends answers that may depend on stored data: an HTTP server, or maps and queues in process. */
export interface AnswerSender {
  /** More answers may leave: sends those that no longer have to wait. */
  release(): void;
  /** The delayed answers must never be shown: their receivers get that the outcome is unknown. */
  disownDelayed(): void;
}
