/**
 * An operation on the store: one command, whose reply comes once, or an outcome in its place. Operations
 * are reused, so that none is made for a request.
 */
import type { MEMORY_FULL, UNKNOWN, UNREACHABLE } from '../engine.ts';
import type { Confirmed } from './confirmations.ts';
import type { ReplyReceiver } from './pending-commands.ts';
import type { RedisConnection } from './redis-connection.ts';
import { ERROR, type Reply } from './reply.ts';

export type Failure = typeof UNREACHABLE | typeof UNKNOWN | typeof MEMORY_FULL;

/** Sends operations, and is told what becomes of them. */
interface Sender {
  /** The operation has its reply. */
  leave(operation: Operation): void;
  /** The server replied to it with an error. */
  onError(operation: Operation, text: string): void;
  /** No reply will come. `wasWritten`: the server may have got the command. */
  onLost(operation: Operation, wasWritten: boolean): void;
}

export abstract class Operation implements ReplyReceiver, Confirmed {
  /** Changes data: it is written only while this member may do that. */
  changesData = true;
  /** See ChangesUnderWay. */
  era = 0;
  isSequel = false;
  /** May be sent again although it may have been done. */
  isRepeatable = false;
  /** Replicas that must have the change; 0 where it needs none, or is none. */
  replicaCount = 0;
  /** Replicas without which it is not sent, where it is of no use then although they need not have it. */
  replicasNeeded = 0;
  group: object | undefined;
  // What every read uses lies together, from here on.
  /** Goes over the connection of changes, in the order of its partition. */
  isChange = true;
  readonly #sender: Sender;
  /** Rises from each operation that is sent to the next. */
  number = 0;
  partition = 0;
  /** The connection that it was written to; undefined while it waits for one. */
  connection: RedisConnection | undefined;
  /** Where its command stands among those of the turn, and how long it is. */
  start = 0;
  length = 0;
  /** Not sent again after this time, on the clock's `now`; 0 for one that was sent once. */
  until = 0;

  constructor(sender: Sender) {
    this.#sender = sender;
  }

  /** This operation goes on with the change that the other has begun. */
  follow(former: Operation): this {
    this.era = former.era;
    this.isSequel = true;
    return this;
  }

  /** The reply, which is no error. */
  abstract onResult(reply: Reply): void;

  /** There is no result. UNREACHABLE and MEMORY_FULL: the operation was surely not done. */
  abstract onFailed(failure: Failure): void;

  /** The replicas have what was done. */
  onConfirmed(): void {}

  /** It is not known whether the replicas have what was done. */
  onUnconfirmed(): void {}

  onReply(reply: Reply): void {
    if (reply.kind === ERROR) return this.#sender.onError(this, reply.text);
    this.#sender.leave(this);
    this.onResult(reply);
  }

  onLost(wasWritten: boolean): void {
    this.#sender.onLost(this, wasWritten);
  }
}
