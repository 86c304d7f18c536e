/**
 * Work on queues that a member does every second: it checks for items for its waiting takes, as a
 * wake-up is only a hint; it drops marks that no script has dropped; and it sends again the returns
 * of items that failed. A check is one command for up to QUEUES_PER_CHECK queues of a partition.
 * Tested by redis-engine.spec.ts.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { header } from './command-buffer.ts';
import type { LocalQueue, LocalQueues } from './local-queues.ts';
import { Operation, type Work } from './operation.ts';
import { type QueueContext, writeItems, writeMarks } from './queue-context.ts';
import type { QueueTakes } from './queue-takes.ts';
import { INTEGER, kindSet, type Reply } from './reply.ts';

const INTEGERS = kindSet(INTEGER);
const CHECK_MS = 1000;
const QUEUES_PER_CHECK = 64;
/** Maximum number of marks that one command drops. */
const DROPS_MAX = 64;

export class QueueChecks {
  readonly #context: QueueContext;
  readonly #clock: Clock;
  readonly #queues: LocalQueues;
  readonly #takes: QueueTakes;
  readonly #onCheck: () => void;
  #timer: Timer | undefined;
  #isEnded = false;

  /** `onCheck` is called with each run. */
  constructor(
    context: QueueContext,
    clock: Clock,
    queues: LocalQueues,
    takes: QueueTakes,
    onCheck: () => void,
  ) {
    this.#context = context;
    this.#clock = clock;
    this.#queues = queues;
    this.#takes = takes;
    this.#onCheck = onCheck;
    this.#wait();
  }

  /** Drops the remaining marks and stops. */
  end(): void {
    this.#isEnded = true;
    this.#timer?.cancel();
    for (const queue of this.#queues.all()) this.#drop(queue);
  }

  #wait(): void {
    if (this.#isEnded) return;
    this.#timer = this.#clock.after(CHECK_MS, () => {
      this.#check();
      this.#wait();
    });
  }

  #check(): void {
    const waiting = new Map<number, LocalQueue[]>();
    for (const queue of this.#queues.all()) {
      this.#drop(queue);
      // A script under way also checks for items.
      if (queue.first === undefined || queue.scriptCount > 0 || queue.isBeingChecked) continue;
      const queues = waiting.get(queue.partition);
      if (queues === undefined) waiting.set(queue.partition, [queue]);
      else queues.push(queue);
    }
    for (const queues of waiting.values()) {
      for (let at = 0; at < queues.length; at += QUEUES_PER_CHECK) {
        this.#checkItems(queues.slice(at, at + QUEUES_PER_CHECK));
      }
    }
    this.#takes.retryReturns();
    this.#queues.sweep();
    this.#onCheck();
  }

  #checkItems(queues: readonly LocalQueue[]): void {
    const { dispatcher, layout } = this.#context;
    const check = new Operation(dispatcher, new ItemsCheck(queues, this.#takes), undefined);
    check.isChange = false;
    check.isRepeatable = true;
    const commands = dispatcher.begin(check, queues[0]!.partition);
    if (commands === undefined) return;
    for (const queue of queues) queue.isBeingChecked = true;
    commands.begin(header(1 + 2 * queues.length, 'EXISTS'));
    for (const queue of queues) writeItems(commands, layout, queue);
    dispatcher.end(check);
  }

  /** Drops the marks of the queue that are no longer needed. */
  #drop(queue: LocalQueue): void {
    const { dispatcher, layout } = this.#context;
    while (queue.drops.length > 0) {
      const drop = new Operation(dispatcher, DROPPING, undefined);
      drop.isRepeatable = true;
      drop.isReplicated = queue.isReplicated;
      const commands = dispatcher.begin(drop, queue.partition);
      if (commands === undefined) return;
      const holds = queue.drops.splice(0, DROPS_MAX);
      commands.begin(header(2 + holds.length, 'HDEL'));
      writeMarks(commands, layout, queue.partition, this.#takes.incarnation);
      for (const hold of holds) commands.bytes(Buffer.concat([Buffer.from(hold), queue.name]));
      dispatcher.end(drop);
    }
  }
}

/** Checks whether any of several queues has items. */
class ItemsCheck implements Work {
  readonly replyKinds = INTEGERS;
  readonly #queues: readonly LocalQueue[];
  readonly #takes: QueueTakes;

  constructor(queues: readonly LocalQueue[], takes: QueueTakes) {
    this.#queues = queues;
    this.#takes = takes;
  }

  onResult(reply: Reply): void {
    const isAny = reply.integer > 0;
    for (const queue of this.#queues) {
      queue.isBeingChecked = false;
      if (isAny && queue.first !== undefined && queue.scriptCount === 0) this.#takes.serve(queue);
    }
  }

  /** The next check follows within a second. */
  onFailed(): void {
    for (const queue of this.#queues) queue.isBeingChecked = false;
  }
}

/** Drops marks. A remaining mark does no harm before its member is removed. */
const DROPPING: Work = { replyKinds: INTEGERS, onResult() {}, onFailed() {} };
