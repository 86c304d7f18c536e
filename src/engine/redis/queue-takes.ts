/**
 * Takes of items from queues, in two steps: an item is held for the take; then, unless the take was
 * cancelled meanwhile, the item is removed and becomes the take's result. Holds are numbers that
 * this member chooses, so each step is repeatable, and a cancel can be sent directly after the step
 * under way.
 *
 * Each queue has a list of its waiting takes (local-queues.ts). If an offer of this member, or a
 * returned item, finds some, a script that serves them follows. Items from other members are
 * notified by wake-ups, and a check every second finds the rest. Takes that do not wait are
 * collected for a turn (queue-turn.ts). Tested by redis-engine.spec.ts.
 */
import type { Clock } from '../../base/clock.ts';
import type { Span } from '../../base/span.ts';
import { TicketTable } from '../../base/ticket-table.ts';
import { TimerWheel } from '../../base/timer-wheel.ts';
import { ABSENT, APPLIED, FOUND, LOST, NO_TICKET, type Outcome, type Receiver } from '../engine.ts';
import { type Failure, UNANSWERED, UNCONFIRMED } from './failure.ts';
import {
  LEAVING,
  type LocalQueue,
  type LocalQueues,
  OPEN,
  OVER,
  QueueTake,
  REMOVING,
} from './local-queues.ts';
import type { QueueContext } from './queue-context.ts';
import { TAKES_MAX } from './queue-scripts.ts';
import type { QueueTurn } from './queue-turn.ts';
import type { ServerTime } from './server-time.ts';
import { StoredValue } from './stored-value.ts';
import {
  Holding,
  ItemReturn,
  Removal,
  type ReturnObserver,
  type TakeObserver,
} from './take-operations.ts';

/** Maximum number of holds that one member numbers per ms. */
const HOLDS_PER_MS = 2048;
/**
 * The fraction of the deadline within which a removal that was not confirmed by replicas is sent
 * again.
 */
const ASKED_AGAIN_WITHIN = 0.5;

interface QueueTakesOptions {
  readonly clock: Clock;
  readonly time: ServerTime;
  readonly deadlineMs: number;
  readonly turn: QueueTurn;
  /** Called when the first take waits at a queue. */
  onWaiting(queue: LocalQueue): void;
}

export class QueueTakes implements TakeObserver, ReturnObserver {
  /** The member incarnation that items are held for. */
  incarnation: Buffer;
  readonly #context: QueueContext;
  readonly #options: QueueTakesOptions;
  readonly #queues: LocalQueues;
  readonly #table = new TicketTable();
  readonly #takes: (QueueTake | undefined)[] = [];
  readonly #wheel: TimerWheel;
  readonly #stored = new StoredValue();
  /** Returns of items that have failed and are sent again, by the names of their queues. */
  #unreturned = new Map<string, ItemReturn[]>();
  #lastHold = 0;

  constructor(
    context: QueueContext,
    options: QueueTakesOptions,
    queues: LocalQueues,
    incarnation: Buffer,
  ) {
    this.#context = context;
    this.#options = options;
    this.#queues = queues;
    this.incarnation = incarnation;
    this.#wheel = new TimerWheel(options.clock, (ticket) => this.#onDue(ticket));
  }

  take(name: Span, timeoutMs: number, receiver: Receiver): number {
    const queue = this.#queues.get(name);
    const hasUnserved = queue.firstUnserved !== undefined;
    if (hasUnserved && this.#context.dispatcher.isUnreachable(queue)) {
      this.#context.fail(receiver, this.#context.dispatcher.whyAway(queue));
      return NO_TICKET;
    }
    // The next item belongs to the waiting takes.
    if (timeoutMs === 0 && hasUnserved) {
      this.#deliver(receiver, ABSENT);
      return NO_TICKET;
    }
    const take = this.#add(queue, receiver);
    const ticket = this.#table.ticketOf(take.place);
    if (timeoutMs === 0) {
      this.#options.turn.addTake(queue, take);
      return ticket;
    }
    const isFirst = queue.first === undefined;
    queue.append(take);
    const failure = hasUnserved ? undefined : this.#serveUpTo(take);
    if (failure === undefined) {
      take.deadline = this.#wheel.add(this.#options.clock.now() + timeoutMs, ticket);
      if (isFirst) this.#options.onWaiting(queue);
      return ticket;
    }
    queue.remove(take);
    this.#end(take);
    this.#context.fail(receiver, failure);
    return NO_TICKET;
  }

  cancel(ticket: number): void {
    const take = this.#takes[this.#table.indexOf(ticket)];
    if (take === undefined || take.state === LEAVING) return;
    this.#abandon(take);
  }

  acknowledge(hold: number, isDelivered: boolean, receiver: Receiver): void {
    const take = this.#takes[this.#table.indexOf(hold)];
    if (take === undefined || take.state !== LEAVING) return this.#deliver(receiver, LOST);
    this.#end(take);
    if (!isDelivered) return this.#itemReturn(take, receiver);
    take.queue.drops.push(take.holdText);
    this.#deliver(receiver, APPLIED);
  }

  /**
   * Serves the waiting takes up to the first that no script serves, as there may be an item for it.
   */
  follow(queue: LocalQueue): void {
    const take = queue.firstUnserved ?? queue.last;
    if (take !== undefined) this.#serveUpTo(take);
  }

  /**
   * Serves the first waiting takes, as there may be items. If no take waits, records that in the
   * store.
   */
  serve(queue: LocalQueue): void {
    const takes: QueueTake[] = [];
    for (let take = queue.first; take !== undefined; take = take.next) {
      if (takes.push(take) === TAKES_MAX) break;
    }
    this.#hold(queue, takes, true);
  }

  /**
   * Serves takes collected in a turn: see queue-turn.ts. If that fails at once, their receivers are
   * notified later.
   */
  serveGathered(queue: LocalQueue, takes: readonly QueueTake[], turn: string): void {
    const failure = this.#hold(queue, takes, false, turn);
    if (failure === undefined) return;
    this.#options.clock.endOfTurn(() => {
      for (const take of takes) {
        if (take.state !== OPEN) continue;
        this.#end(take);
        this.#context.fail(take.receiver, failure);
      }
    });
  }

  /** Sends the failed returns of items again. */
  retryReturns(): void {
    const unreturned = this.#unreturned;
    this.#unreturned = new Map();
    for (const own of unreturned.values()) for (const itemReturn of own) itemReturn.send();
  }

  /**
   * Sends the queue's failed returns again before the next take, so that it does not overtake those
   * items.
   */
  #retryReturnsOf(queue: LocalQueue): void {
    const own = this.#unreturned.get(queue.name.toString('latin1'));
    if (own === undefined || this.#context.dispatcher.isUnreachable(queue)) return;
    for (const itemReturn of own.splice(0, TAKES_MAX)) itemReturn.send();
  }

  /** Returns the holds of all takes that have not ended. */
  currentHolds(): ReadonlySet<string> {
    return new Set(this.#takes.flatMap((take) => take?.holdText ?? []));
  }

  /** Ends all takes without a result: they return ABSENT and their items are returned. */
  close(): void {
    for (const take of this.#takes) {
      if (take === undefined || take.state === LEAVING) continue;
      this.#abandon(take);
      this.#deliver(take.receiver, ABSENT);
    }
  }

  onHeld(
    holding: Holding,
    items: readonly (Buffer | undefined)[],
    itemsRemain: boolean,
    isExpelled: boolean,
  ): void {
    const { queue, takes, isWaiting } = holding;
    if (isWaiting) queue.endScript();
    const removed: QueueTake[] = [];
    for (const [index, take] of takes.entries()) {
      take.scriptCount--;
      const item = items[index];
      take.mayHold = false;
      if (item === undefined) {
        take.isWaiting = true;
        continue;
      }
      if (take.state === OVER) this.#returnOnce(take);
      if (take.state !== OPEN) continue;
      take.state = REMOVING;
      take.item = item;
      this.#unlist(take);
      removed.push(take);
    }
    if (removed.length > 0) this.#remove(holding, removed);
    if (itemsRemain && queue.first !== undefined && queue.scriptCount === 0) this.serve(queue);
    // A script ends early if its items are long; only the waiting takes are then served by `serve`.
    const servedCount = itemsRemain && !isWaiting ? items.length : takes.length;
    const unserved = takes.slice(servedCount).filter(({ state }) => state === OPEN);
    if (unserved.length > 0) this.serveGathered(queue, unserved, '');
    for (const take of takes.slice(0, servedCount)) {
      if (take.state !== OPEN) continue;
      if (isExpelled) this.#endWith(take, LOST);
      else if (!take.isListed || (take.isDue && take.scriptCount === 0))
        this.#endWith(take, ABSENT);
    }
  }

  onNotHeld(holding: Holding, failure: Failure, mayHold: boolean): void {
    if (holding.isWaiting) holding.queue.endScript();
    for (const take of holding.takes) {
      take.scriptCount--;
      take.mayHold ||= mayHold;
      if (take.state !== OPEN) continue;
      // A take that has waited continues: the next script finds an item that this one may have held
      // for it.
      if (take.isListed && take.isWaiting && !take.isDue) continue;
      this.#abandon(take);
      this.#context.fail(take.receiver, failure);
    }
  }

  onRemoved(removal: Removal): void {
    for (const [index, take] of removal.takes.entries()) {
      if (take.state !== REMOVING) continue;
      if (removal.isRemoved(index)) this.#found(take);
      else this.#endWith(take, LOST);
    }
  }

  onNotRemoved(removal: Removal, failure: Failure): void {
    this.#returnAll(removal, removal.mayBeRemoved ? UNANSWERED : failure);
  }

  onUnconfirmed(removal: Removal): void {
    const left = removal.takes.filter(({ state }) => state === REMOVING);
    if (left.length === 0) return;
    const { clock } = this.#options;
    if (clock.now() > removal.end) return this.#returnAll(removal, UNCONFIRMED);
    const again = new Removal(this.#context, this, removal.queue, left, removal.end, true);
    again.follow(removal.operation).send();
  }

  onReturned(itemReturn: ItemReturn, isReturned: boolean): void {
    const { receiver } = itemReturn;
    itemReturn.receiver = undefined;
    if (receiver !== undefined) this.#deliver(receiver, isReturned ? APPLIED : LOST);
  }

  /** The return is sent again with the next check; until then, the end of the hold is unknown. */
  onReturnFailed(itemReturn: ItemReturn): void {
    const { receiver } = itemReturn;
    itemReturn.receiver = undefined;
    const name = itemReturn.queue.name.toString('latin1');
    const own = this.#unreturned.get(name);
    if (own === undefined) this.#unreturned.set(name, [itemReturn]);
    else own.push(itemReturn);
    if (receiver !== undefined) this.#context.fail(receiver, UNANSWERED);
  }

  #add(queue: LocalQueue, receiver: Receiver): QueueTake {
    const place = this.#table.allocate();
    this.#lastHold = Math.max(this.#lastHold + 1, this.#options.time.wall() * HOLDS_PER_MS);
    const take = new QueueTake(queue, receiver, this.#lastHold, this.incarnation, place);
    this.#takes[place] = take;
    queue.takeCount++;
    return take;
  }

  /** Requests items for the waiting take and for those before it. */
  #serveUpTo(take: QueueTake): Failure | undefined {
    return this.#hold(take.queue, take.queue.upTo(take, TAKES_MAX), true);
  }

  /** Returns why the request has failed at once, or undefined. */
  #hold(
    queue: LocalQueue,
    takes: readonly QueueTake[],
    isWaiting: boolean,
    turn = '',
  ): Failure | undefined {
    const { incarnation } = this;
    this.#options.turn.send(queue);
    if (this.#unreturned.size > 0) this.#retryReturnsOf(queue);
    const holding = new Holding(this.#context, this, queue, incarnation, takes, isWaiting, turn);
    const failure = holding.send();
    if (failure !== undefined) return failure;
    if (isWaiting) queue.beginScript(takes.at(-1));
    for (const take of takes) {
      take.scriptCount++;
      take.incarnation = incarnation;
    }
    return undefined;
  }

  #remove(holding: Holding, takes: readonly QueueTake[]): void {
    const { clock, deadlineMs } = this.#options;
    const end = clock.now() + deadlineMs * ASKED_AGAIN_WITHIN;
    const removal = new Removal(this.#context, this, holding.queue, takes, end, false);
    removal.follow(holding.operation).send();
  }

  #found(take: QueueTake): void {
    const { results } = this.#context;
    const item = take.item!;
    const stored = this.#stored;
    if (!stored.read(stored.value.set(item, 0, item.length))) return this.#return(take, UNANSWERED);
    take.state = LEAVING;
    const result = results.begin(FOUND);
    result.value.copyFrom(stored.value);
    result.contentType.copyFrom(stored.contentType);
    result.hold = this.#table.ticketOf(take.place);
    results.deliver(take.receiver, result);
  }

  #returnAll(removal: Removal, failure: Failure): void {
    for (const take of removal.takes) {
      if (take.state === REMOVING) this.#return(take, failure);
    }
  }

  #return(take: QueueTake, failure: Failure): void {
    this.#end(take);
    this.#itemReturn(take, undefined);
    this.#context.fail(take.receiver, failure);
  }

  #itemReturn(take: QueueTake, receiver: Receiver | undefined): void {
    const { queue, incarnation, holdText, item } = take;
    new ItemReturn(this.#context, this, queue, incarnation, holdText, item, receiver).send();
    this.follow(queue);
  }

  /** Returns the item of a cancelled take, also if servers were replaced meanwhile. */
  #returnOnce({ queue, incarnation, holdText }: QueueTake): void {
    new ItemReturn(this.#context, this, queue, incarnation, holdText, undefined, undefined).send();
  }

  /**
   * Ends a take that will have no result. If a script under way may hold an item for it, a return
   * follows directly.
   */
  #abandon(take: QueueTake): void {
    const mayHold = take.mayHold || take.scriptCount > 0 || take.state === REMOVING;
    this.#unlist(take);
    this.#end(take);
    if (mayHold) this.#itemReturn(take, undefined);
  }

  #onDue(ticket: number): void {
    const take = this.#takes[this.#table.indexOf(ticket)];
    if (take === undefined || take.state !== OPEN) return;
    if (take.scriptCount > 0) {
      take.isDue = true;
      return;
    }
    const isUnreachable = this.#context.dispatcher.isUnreachable(take.queue);
    if (!isUnreachable && !take.mayHold) return this.#endWith(take, ABSENT);
    this.#abandon(take);
    this.#context.fail(take.receiver, this.#context.dispatcher.whyAway(take.queue));
  }

  #endWith(take: QueueTake, outcome: Outcome): void {
    this.#unlist(take);
    this.#end(take);
    this.#deliver(take.receiver, outcome);
  }

  /** Removes a take from the waiting ones. After the last one, the store is notified. */
  #unlist(take: QueueTake): void {
    if (!take.isListed) return;
    const { queue, state } = take;
    queue.remove(take);
    this.#wheel.cancel(take.deadline);
    if (queue.first === undefined && state === OPEN) this.serve(queue);
  }

  #end(take: QueueTake): void {
    take.state = OVER;
    take.queue.takeCount--;
    this.#takes[take.place] = undefined;
    this.#table.free(take.place);
  }

  #deliver(receiver: Receiver, outcome: Outcome): void {
    const { results } = this.#context;
    results.deliver(receiver, results.begin(outcome));
  }
}
