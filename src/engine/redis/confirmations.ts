/**
 * Waits until replicas have a connection's changes. WAIT counts the replicas that have everything
 * the connection wrote before it. One WAIT is pending at a time, sent with the commands of its
 * turn; changes of later turns share the next one. Each change compares the count with its own
 * requirement. Tested by queue-turn.spec.ts.
 */
import { type CommandBuffer, header } from './command-buffer.ts';
import { INTEGER, kindSet, type Reply } from './reply.ts';

const WAIT = header(3, 'WAIT');

/** A change that replicas must confirm. */
export interface Confirmed {
  /** Replicas that the change needs. */
  readonly replicaCount: number;
  /** The group of changes that it waits with; undefined if it needs no replica any more. */
  group: object | undefined;
  /** Called when at least `replicaCount` replicas have the change. */
  onConfirmed(): void;
  /** Called when fewer replicas have the change, or their count is unknown. */
  onUnconfirmed(): void;
}

export class Confirmations {
  readonly replyKinds = kindSet(INTEGER);
  readonly #timeoutMs: number;
  #gathering: Confirmed[] = [];
  #group: Confirmed[] | undefined;
  #addedCount = 0;
  #endedCount = 0;

  /** `timeoutMs`: the timeout of a WAIT, below the connection's deadline. */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Adds a change that was written to the connection. */
  add(change: Confirmed): void {
    change.group = this.#gathering;
    this.#gathering.push(change);
    this.#addedCount++;
  }

  /** Returns a check whether all changes added so far are confirmed, or will not be. */
  ended(): () => boolean {
    const count = this.#addedCount;
    return () => this.#endedCount >= count;
  }

  /** Whether a WAIT must follow the commands of the turn. */
  get isDue(): boolean {
    return this.#group === undefined && this.#gathering.length > 0;
  }

  write(commands: CommandBuffer): void {
    const group = this.#gathering;
    this.#gathering = [];
    this.#group = group;
    let most = 0;
    for (const change of group) {
      if (change.group === group && change.replicaCount > most) most = change.replicaCount;
    }
    commands.begin(WAIT);
    commands.number(most);
    commands.number(this.#timeoutMs);
  }

  onReply(reply: Reply): void {
    this.#end(reply.kind === INTEGER ? reply.integer : -1);
  }

  onLost(): void {
    this.#end(-1);
  }

  /** Called when the connection has ended. */
  end(): void {
    this.#group = this.#gathering;
    this.#gathering = [];
    this.#end(-1);
  }

  #end(count: number): void {
    const group = this.#group;
    this.#group = undefined;
    this.#endedCount += group?.length ?? 0;
    for (const change of group ?? []) {
      if (change.group !== group) continue;
      change.group = undefined;
      if (count < change.replicaCount) change.onUnconfirmed();
      else change.onConfirmed();
    }
  }
}
