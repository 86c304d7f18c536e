/**
 * Waits until replicas have the changes of a connection. WAIT counts the replicas that have everything
 * that the connection has written before it. One WAIT is under way at a time, and goes along with the
 * commands of its turn; the changes of the turns meanwhile share the next one. Each is judged by the
 * count that it needs itself.
 */
import { type CommandBuffer, header } from './command-buffer.ts';
import { INTEGER, kindSet, type Reply } from './reply.ts';

const WAIT = header(3, 'WAIT');

/** A change that replicas are to have. */
export interface Confirmed {
  /** The replicas that it needs. */
  readonly replicaCount: number;
  /** The group that it is in; undefined when it needs no replica any more. */
  group: object | undefined;
  /** `replicaCount` replicas have the change, or more. */
  onConfirmed(): void;
  /** Fewer have it, or it is not known. */
  onUnconfirmed(): void;
}

export class Confirmations {
  readonly replyKinds = kindSet(INTEGER);
  readonly #timeoutMs: number;
  #gathering: Confirmed[] = [];
  #group: Confirmed[] | undefined;
  #addedCount = 0;
  #endedCount = 0;

  /** `timeoutMs`: how long a WAIT waits, less than the connection's deadline. */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** The change was written to the connection. */
  add(change: Confirmed): void {
    change.group = this.#gathering;
    this.#gathering.push(change);
    this.#addedCount++;
  }

  /** A check whether all changes that were added until now are confirmed, or will not be. */
  ended(): () => boolean {
    const count = this.#addedCount;
    return () => this.#endedCount >= count;
  }

  /** Whether the commands of a turn are to be followed by a WAIT. */
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

  /** The connection has ended. */
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
