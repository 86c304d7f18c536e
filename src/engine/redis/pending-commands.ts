/**
 * The commands of a connection that have no reply yet, in order: a growing ring buffer. Each has a
 * number, its position in the buffer of its turn, and its receiver.
 * Tested by lost-connections.spec.ts.
 */
import { isOfKind, type Reply } from './reply.ts';

/** Receives the one reply to a command. */
export interface ReplyReceiver {
  /** The kinds of reply that the command can have: see kindSet. */
  readonly replyKinds: number;
  /** Called with the reply, which is valid during the call. */
  onReply(reply: Reply): void;
  /**
   * Called when there will be no reply. `wasWritten`: whether the server may have received the
   * command.
   */
  onLost(wasWritten: boolean): void;
}

interface PendingCommand {
  readonly number: number;
  /** Position in its buffer. */
  readonly start: number;
  readonly end: number;
  /** Time at which it was added, by `clock.now()`. */
  readonly time: number;
}

export class PendingCommands {
  #receivers: (ReplyReceiver | undefined)[] = new Array(64).fill(undefined);
  #times = new Float64Array(64);
  #starts = new Int32Array(64);
  #ends = new Int32Array(64);
  /** Numbers of the command whose reply is next, and of the next command to be added. */
  head = 0;
  tail = 0;
  /** The dropped command whose receiver is being called. */
  #dropped: PendingCommand | undefined;

  get count(): number {
    return this.tail - this.head;
  }

  /** Time at which the oldest command was added, by `clock.now()`; undefined if there is none. */
  get oldest(): number | undefined {
    return this.count === 0 ? undefined : this.#times[this.#at(this.head)];
  }

  /** Time at which the last command shifted or dropped was added. */
  get lastTime(): number {
    return this.#dropped?.time ?? this.#times[this.#at(this.head - 1)]!;
  }

  /** The last command shifted or dropped: its number and its position in its buffer. */
  get last(): Omit<PendingCommand, 'time'> {
    if (this.#dropped !== undefined) return this.#dropped;
    const number = this.head - 1;
    const at = this.#at(number);
    return { number, start: this.#starts[at]!, end: this.#ends[at]! };
  }

  push(receiver: ReplyReceiver, start: number, end: number, now: number): void {
    // One slot remains free, so that the last command shifted is still stored.
    if (this.count >= this.#times.length - 1) this.#grow();
    const at = this.#at(this.tail++);
    this.#receivers[at] = receiver;
    this.#times[at] = now;
    this.#starts[at] = start;
    this.#ends[at] = end;
  }

  shift(): ReplyReceiver | undefined {
    if (this.head === this.tail) return undefined;
    const at = this.#at(this.head++);
    const receiver = this.#receivers[at];
    this.#receivers[at] = undefined;
    return receiver;
  }

  /**
   * Removes and returns the next receiver, like `shift`; returns undefined also if it cannot have
   * that reply.
   */
  shiftFor({ kind }: Reply): ReplyReceiver | undefined {
    const receiver = this.#receivers[this.#at(this.head)];
    if (receiver === undefined || !isOfKind(kind, receiver.replyKinds)) return undefined;
    this.#receivers[this.#at(this.head++)] = undefined;
    return receiver;
  }

  /**
   * Removes the commands from number `from` on and calls `onDropped` for each receiver, which may add
   * others.
   */
  drop(from: number, onDropped: (receiver: ReplyReceiver) => void): void {
    const dropped: [ReplyReceiver, PendingCommand][] = [];
    for (let number = from; number < this.tail; number++) {
      const at = this.#at(number);
      const start = this.#starts[at]!;
      const end = this.#ends[at]!;
      const time = this.#times[at]!;
      dropped.push([this.#receivers[at]!, { number, start, end, time }]);
      this.#receivers[at] = undefined;
    }
    this.tail = from;
    for (const [receiver, command] of dropped) {
      this.#dropped = command;
      onDropped(receiver);
    }
    this.#dropped = undefined;
  }

  #at(number: number): number {
    return number & (this.#times.length - 1);
  }

  #grow(): void {
    const receivers = this.#receivers;
    const times = this.#times;
    const starts = this.#starts;
    const ends = this.#ends;
    const { length } = times;
    this.#receivers = new Array(2 * length).fill(undefined);
    this.#times = new Float64Array(2 * length);
    this.#starts = new Int32Array(2 * length);
    this.#ends = new Int32Array(2 * length);
    for (let number = Math.max(0, this.head - 1); number < this.tail; number++) {
      const from = number & (length - 1);
      const to = this.#at(number);
      this.#receivers[to] = receivers[from];
      this.#times[to] = times[from]!;
      this.#starts[to] = starts[from]!;
      this.#ends[to] = ends[from]!;
    }
  }
}
