/**
 * An operation on the store: one command, whose reply comes once, or an outcome in its place. What that means
 * is known to its work. So all operations are of one shape, which those who send them need not find out
 * each time. They are reused, so that none is made for a request.
 */
import type { Confirmed } from './confirmations.ts';
import type { Failure } from './failure.ts';
import type { ReplyReceiver } from './pending-commands.ts';
import type { RedisConnection } from './redis-connection.ts';
import { ERROR, type Reply } from './reply.ts';

/** Sends operations, and is told what becomes of them. */
interface Sender {
  /** The operation has its reply. */
  leave(operation: Operation): void;
  /** The server replied to it with an error. */
  onError(operation: Operation, text: string): void;
  /** No reply will come. `wasWritten`: the server may have got the command. */
  onLost(operation: Operation, wasWritten: boolean): void;
}

/** What one operation, or many, are made for. */
export interface Work<Subject = undefined> {
  /** The kinds of reply that the operation's command can have: see kindSet. */
  readonly replyKinds: number;
  /** The reply, which is no error. */
  onResult(reply: Reply, operation: Operation<Subject>): void;
  /** There is no result, for that reason. */
  onFailed(failure: Failure, operation: Operation<Subject>): void;
  /** The replicas have what was done. */
  onConfirmed?(operation: Operation<Subject>): void;
  /** It is not known whether the replicas have what was done. */
  onUnconfirmed?(operation: Operation<Subject>): void;
}

export class Operation<Subject = unknown> implements ReplyReceiver, Confirmed {
  /** Changes data: it is written only while this member may do that. */
  changesData = true;
  /** See ChangesUnderWay. */
  era = 0;
  isSequel = false;
  /** May be sent again although it may have been done. */
  isRepeatable = false;
  /** Replicas that must have the change; 0 where it needs none, or is none. */
  replicaCount = 0;
  /**
   * Goes over the connection of changes that wait for replicas, as do all operations on the same queue. A
   * replica that does not answer so delays no others.
   */
  isReplicated = false;
  /** Replicas without which it is not sent, where it is of no use then although they need not have it. */
  replicasNeeded = 0;
  /** The server's error, or why the operation was not sent; only of one that is made for one use. */
  errorText = '';
  group: object | undefined;
  /** Rises from each operation that is sent to the next. */
  number = 0;
  /** Its number in the pool that it comes from, if any. */
  poolNumber = 0;
  partition = 0;
  /** Not sent again after this time, on the clock's `now`; 0 for one that was sent once. */
  until = 0;
  // What every reply uses lies together, from here on.
  /** How long its command is. */
  length = 0;
  /** The connection that it was written to; undefined while it waits for one. */
  connection: RedisConnection | undefined;
  /** Goes over the connection of changes, in the order of its partition. */
  isChange = true;
  /** Those of the work, unless its commands differ. */
  replyKinds: number;
  readonly #sender: Sender;
  readonly #work: Work<Subject>;
  /** What the work does with this operation. */
  subject: Subject;

  constructor(sender: Sender, work: Work<Subject>, subject: Subject) {
    this.#sender = sender;
    this.#work = work;
    this.replyKinds = work.replyKinds;
    this.subject = subject;
  }

  /** This operation goes on with the change that the other has begun. */
  follow(former: Operation): void {
    this.era = former.era;
    this.isSequel = true;
  }

  /** The change is to have this many replicas. */
  needReplicas(count: number): void {
    this.replicaCount = count;
    this.isReplicated = count > 0;
  }

  onFailed(failure: Failure): void {
    this.#work.onFailed(failure, this);
  }

  onConfirmed(): void {
    this.#work.onConfirmed?.(this);
  }

  onUnconfirmed(): void {
    this.#work.onUnconfirmed?.(this);
  }

  onReply(reply: Reply): void {
    if (reply.kind === ERROR) return this.#sender.onError(this, reply.text);
    this.#sender.leave(this);
    this.#work.onResult(reply, this);
  }

  onLost(wasWritten: boolean): void {
    this.#sender.onLost(this, wasWritten);
  }
}
