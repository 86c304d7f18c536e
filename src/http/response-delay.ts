/** The resources behind a response: stored data it waits for, the item it delivers, pinned bytes. */

/** A queue item that a response delivers and that returns to its queue if the response is not sent. */
export interface ItemHold {
  /** Called once. True: the response is being sent. False: it will never be sent; the item returns. */
  acknowledge(isDelivered: boolean): void;
}

/** Decides when responses may be sent. Its owner calls each sender's `release` when more may be. */
export interface ResponseDelay {
  /** Whether no response at all may be sent before the next release. */
  readonly delaysAll: boolean;
  /** Whether a response that depends on this sequence of the partition has to wait. */
  delays(partition: number, sequence: number): boolean;
  /** Returns a copy of the present sequence of every partition. */
  sequences(): Float64Array;
}

/** Sends responses that may depend on stored data: an HTTP server, or in-process maps and queues. */
export interface ResponseSender {
  /** Sends the delayed responses that no longer have to wait. */
  release(): void;
  /** Replaces each delayed response by one that reports an unknown outcome. */
  failDelayed(): void;
}
