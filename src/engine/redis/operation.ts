/**
 * An operation on the store: one command, which has one reply, or a failure instead. Its work
 * interprets the reply. So all operations have one shape, and the code that sends them stays
 * monomorphic. They are reused, so that none is allocated per request.
 * Tested by changing-servers.spec.ts.
 */
import { NumberAllocator } from '../../base/number-allocator.ts';
import type { Confirmed } from './confirmations.ts';
import type { Failure } from './failure.ts';
import type { ReplyReceiver } from './pending-commands.ts';
import type { RedisConnection } from './redis-connection.ts';
import { ERROR, type Reply } from './reply.ts';

/** Sends operations and handles their replies, errors and losses. */
interface Sender {
  /** Called when the operation has its reply. */
  leave(operation: Operation): void;
  /** Called when the server has replied to the operation with an error. */
  onError(operation: Operation, text: string): void;
  /**
   * Called when there will be no reply. `wasWritten`: whether the server may have received the
   * command.
   */
  onLost(operation: Operation, wasWritten: boolean): void;
}

/** The task that an operation, or many, execute. */
export interface Work<Subject = undefined> {
  /** The kinds of reply that the operation's command can have: see kindSet. */
  readonly replyKinds: number;
  /** Called with the reply, which is not an error. */
  onResult(reply: Reply, operation: Operation<Subject>): void;
  /** Called when there is no result, with the reason. */
  onFailed(failure: Failure, operation: Operation<Subject>): void;
  /** Called when the replicas have the change. */
  onConfirmed?(operation: Operation<Subject>): void;
  /** Called when it is not known whether the replicas have the change. */
  onUnconfirmed?(operation: Operation<Subject>): void;
}

export class Operation<Subject = unknown> implements ReplyReceiver, Confirmed {
  /** Whether it changes data. It is then written only while this member may change data. */
  changesData = true;
  /** See PendingChanges. */
  era = 0;
  isSequel = false;
  /** Whether it may be sent again although it may have been done. */
  isRepeatable = false;
  /** Replicas that must have the change; 0 if it needs none, or changes nothing. */
  replicaCount = 0;
  /**
   * Whether it uses the connection of changes that wait for replicas, as all operations on one
   * queue do. A slow replica then delays no other operations.
   */
  isReplicated = false;
  /**
   * Number of replicas that must be connected for it to be sent. They need not confirm its change,
   * but without them a later step would fail.
   */
  replicasNeeded = 0;
  /**
   * The server's error, or why the operation was not sent. Valid only for an operation that is used
   * once.
   */
  errorText = '';
  group: object | undefined;
  /** Number in the order in which operations were begun. */
  number = 0;
  /** Number in its pool, if it belongs to one. */
  poolNumber = 0;
  partition = 0;
  /** Time after which it is not sent again, by `clock.now()`; 0 if it was sent only once. */
  until = 0;
  // The fields from here on are used for every reply and are adjacent in memory.
  /** Length of its command, in bytes. */
  length = 0;
  /** The connection that it was written to; undefined while it waits for one. */
  connection: RedisConnection | undefined;
  /** Whether it uses a connection of changes, in the order of its partition. */
  isChange = true;
  /** The kinds of the work, unless the command of this operation has others. */
  replyKinds: number;
  readonly #sender: Sender;
  readonly #work: Work<Subject>;
  /** Data of the work for this operation. */
  subject: Subject;

  constructor(sender: Sender, work: Work<Subject>, subject: Subject) {
    this.#sender = sender;
    this.#work = work;
    this.replyKinds = work.replyKinds;
    this.subject = subject;
  }

  /** Marks this operation as continuing the change that `former` began. */
  follow(former: Operation): void {
    this.era = former.era;
    this.isSequel = true;
  }

  /** Sets the number of replicas that the change needs. */
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

/** A pool of reusable operations of one kind. The free one created first is used first. */
export class OperationPool<Subject> {
  readonly #make: () => Operation<Subject>;
  readonly #operations: Operation<Subject>[] = [];
  readonly #numbers = new NumberAllocator();

  constructor(make: () => Operation<Subject>) {
    this.#make = make;
  }

  take(): Operation<Subject> {
    const number = this.#numbers.allocate();
    return this.#operations[number] ?? this.#new(number);
  }

  /** Returns an operation that is over to the pool. */
  give(operation: Operation<Subject>): void {
    this.#numbers.free(operation.poolNumber);
  }

  #new(number: number): Operation<Subject> {
    const operation = this.#make();
    operation.poolNumber = number;
    this.#operations[number] = operation;
    return operation;
  }
}
