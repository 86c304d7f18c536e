/** The part of its connection that a slot uses. */
import type { ResponseQueue } from './response-queue.ts';
import type { Session } from './session.ts';

export interface SlotConnection<Slot> {
  readonly session: Session;
  readonly mayWait: boolean;
  /** Returns the queue to write the response to; undefined while earlier responses are missing. */
  responsesFor(slot: Slot): ResponseQueue | undefined;
  /** Whether there are received bytes that have not been parsed. */
  readonly hasUnread: boolean;
  /** Whether, while the server drains, the response to the newest request is the last. */
  readonly isEnding: boolean;
  /** Whether no later request has been read, not even in part. */
  isNewest(slot: Slot): boolean;
  /** Called when the request waits for an item. Returns false if there is no memory for that. */
  onItemAwaited(slot: Slot): boolean;
  /** Called when the response has been written. `isLast`: whether the connection ends after it. */
  onAnswered(slot: Slot, isLast: boolean): void;
  /** Called when the response has been buffered in the slot until earlier ones are written. */
  onBuffered(slot: Slot): void;
  /** Called when the content under way has to make room for others. */
  onCrowdedOut(): void;
  onStreamed(): void;
  destroy(): void;
}
