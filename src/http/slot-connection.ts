/** The parts of its connection that a slot uses. */
import type { ResponseQueue } from './response-queue.ts';
import type { Session } from './session.ts';

export interface SlotConnection<Slot> {
  readonly session: Session;
  readonly mayWait: boolean;
  /** The responses for the response; undefined while others before it are owed. */
  responsesFor(slot: Slot): ResponseQueue | undefined;
  /** Whether bytes have come that have not been read. */
  readonly hasUnread: boolean;
  /** While the server drains: whether the response to the newest request is the last. */
  readonly isEnding: boolean;
  /** Whether no request behind it has been read, also in part. */
  isNewest(slot: Slot): boolean;
  /** The request waits for an item. False: there is no memory for that. */
  onItemAwaited(slot: Slot): boolean;
  /** The response has been written; `isLast`: the connection ends after it. */
  onAnswered(slot: Slot, isLast: boolean): void;
  /** The response waits for its place in the slot. */
  onKept(slot: Slot): void;
  /** The content under way has to make room for others. */
  onCrowdedOut(): void;
  onStreamed(): void;
  destroy(): void;
}
