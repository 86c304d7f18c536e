/**
 * Work on queues that a member does every second: it checks for items for its waiting takes, as a
 * wake-up is only a hint; it drops marks that no script has dropped; and it sends again the returns
 * of items that failed. A check is one command for up to QUEUES_PER_CHECK queues of a partition.
 * Tested by redis-engine.spec.ts.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { header } from './command-buffer.ts';
import type { LocalQueue, LocalQueues } from './local-queues.ts';
import { type QueueContext, writeItems, writeMarks } from './queue-context.ts';
import type { QueueTakes } from './queue-takes.ts';
import { NUMBER, READ, runStep } from './run-step.ts';

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
    runStep(dispatcher, {
      partition: queues[0]!.partition,
      traits: READ,
      reading: NUMBER,
      write(commands) {
        commands.begin(header(1 + 2 * queues.length, 'EXISTS'));
        for (const queue of queues) {
          queue.isBeingChecked = true;
          writeItems(commands, layout, queue);
        }
      },
      onDone: (count) => {
        for (const queue of queues) {
          queue.isBeingChecked = false;
          const isDue = count > 0 && queue.first !== undefined && queue.scriptCount === 0;
          if (isDue) this.#takes.serve(queue);
        }
      },
      // The next check follows within a second.
      onFailed() {
        for (const queue of queues) queue.isBeingChecked = false;
      },
    });
  }

  /** Drops the marks of the queue that are no longer needed. */
  #drop(queue: LocalQueue): void {
    const { dispatcher, layout } = this.#context;
    const { incarnation } = this.#takes;
    let isSent = true;
    while (isSent && queue.drops.length > 0) {
      isSent = runStep(dispatcher, {
        partition: queue.partition,
        traits: { isRepeatable: true, isReplicated: queue.isReplicated },
        reading: NUMBER,
        write(commands) {
          const holds = queue.drops.splice(0, DROPS_MAX);
          commands.begin(header(2 + holds.length, 'HDEL'));
          writeMarks(commands, layout, queue.partition, incarnation);
          for (const hold of holds) commands.bytes(Buffer.concat([Buffer.from(hold), queue.name]));
        },
        // A remaining mark does no harm before its member is removed.
        onDone() {},
        onFailed() {},
      });
    }
  }
}
