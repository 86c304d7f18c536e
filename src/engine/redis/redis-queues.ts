/**
 * Queues in the store, with all their parts: single-step operations, takes, wake-ups and periodic
 * checks. Their layout is described in queue-scripts.ts. Tested by redis-engine.spec.ts.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Span } from '../../base/span.ts';
import type { Receiver } from '../engine.ts';
import { LocalQueues, type QueueSettings } from './local-queues.ts';
import type { PrimaryOptions } from './primary.ts';
import { QueueChecks } from './queue-checks.ts';
import type { QueueContext } from './queue-context.ts';
import { OUT_SECONDS } from './queue-scripts.ts';
import { QueueSteps } from './queue-steps.ts';
import { QueueTakes } from './queue-takes.ts';
import { QueueTurn } from './queue-turn.ts';
import { returnHeld } from './return-held-items.ts';
import type { ServerTime } from './server-time.ts';
import type { Servers } from './servers.ts';
import { WakeUps } from './wake-ups.ts';

/** Time after which a lost connection has no command under way, in deadlines. */
const FORGOTTEN_DEADLINES = 2;
const NONE: ReadonlySet<string> = new Set();

interface RedisQueuesOptions extends QueueSettings {
  readonly clock: Clock;
  readonly time: ServerTime;
  readonly deadlineMs: number;
  readonly servers: Servers;
  readonly connection: PrimaryOptions;
  /** The member incarnation that items are held for; random if undefined. */
  readonly incarnation: string | undefined;
}

export class RedisQueues {
  readonly #context: QueueContext;
  readonly #settings: QueueSettings;
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #queues: LocalQueues;
  readonly #turn: QueueTurn;
  readonly #takes: QueueTakes;
  readonly #steps: QueueSteps;
  readonly #wakeUps: WakeUps;
  readonly #checks: QueueChecks;
  #isDue = false;
  #isClosed = false;

  constructor(common: Omit<QueueContext, 'listener'>, options: RedisQueuesOptions) {
    const { clock, servers, connection, incarnation = randomUUID() } = options;
    const { layout } = common;
    const context = { ...common, listener: Buffer.from(randomUUID()) };
    this.#context = context;
    this.#settings = options;
    this.#clock = clock;
    this.#deadlineMs = options.deadlineMs;
    this.#queues = new LocalQueues(layout, options);
    this.#wakeUps = new WakeUps({
      clock,
      layout,
      servers,
      connection,
      listener: context.listener,
      onWakeUp: (name) => this.#wake(name),
      onListening: (partition) => this.#serve(partition),
    });
    const turn = new QueueTurn(context.dispatcher, (queue, takes, name) =>
      this.#takes.serveGathered(queue, takes, name),
    );
    this.#turn = turn;
    this.#takes = new QueueTakes(
      context,
      { ...options, turn, onWaiting: ({ partition }) => this.#wakeUps.listen(partition) },
      this.#queues,
      Buffer.from(incarnation),
    );
    this.#steps = new QueueSteps(context, clock, this.#queues, turn, this.#takes);
    const onCheck = () => this.#wakeUps.check();
    this.#checks = new QueueChecks(context, clock, this.#queues, this.#takes, onCheck);
  }

  /** Sets the member incarnation that items are held for from now on. */
  set incarnation(incarnation: string) {
    this.#takes.incarnation = Buffer.from(incarnation);
  }

  offer(queue: Span, value: Span, contentType: Span, receiver: Receiver): void {
    this.#steps.offer(queue, value, contentType, receiver);
  }

  peek(queue: Span, receiver: Receiver): void {
    this.#steps.peek(queue, receiver);
  }

  size(queue: Span, receiver: Receiver): void {
    this.#steps.size(queue, receiver);
  }

  take(queue: Span, timeoutMs: number, receiver: Receiver): number {
    return this.#takes.take(queue, timeoutMs, receiver);
  }

  cancel(ticket: number): void {
    this.#takes.cancel(ticket);
  }

  acknowledge(hold: number, isDelivered: boolean, receiver: Receiver): void {
    this.#takes.acknowledge(hold, isDelivered, receiver);
  }

  /** Sends the operations collected in this turn. */
  sendGathered(): void {
    this.#turn.sendAll();
  }

  /** Returns the items held by a member incarnation that was removed: see return-held-items.ts. */
  returnHeld(incarnation: string, outSeconds = OUT_SECONDS): Promise<number> {
    return returnHeld({
      context: this.#context,
      settings: this.#settings,
      incarnation: Buffer.from(incarnation),
      outSeconds,
      currentHolds: () => NONE,
    });
  }

  /**
   * Called when a connection was lost. Once its commands can no longer be under way, items held for
   * ended takes are returned.
   */
  onLost(): void {
    if (this.#isDue || this.#isClosed) return;
    this.#isDue = true;
    this.#clock.after(FORGOTTEN_DEADLINES * this.#deadlineMs, () => {
      this.#isDue = false;
      this.#returnForgotten().catch(() => this.onLost());
    });
  }

  /** Ends waiting takes with ABSENT. No command is sent afterwards without a call. */
  close(): void {
    this.#isClosed = true;
    this.#wakeUps.end();
    this.#takes.close();
    this.#checks.end();
  }

  async #returnForgotten(): Promise<void> {
    if (this.#isClosed) return;
    const takes = this.#takes;
    await returnHeld({
      context: this.#context,
      settings: this.#settings,
      incarnation: takes.incarnation,
      outSeconds: undefined,
      currentHolds: () => takes.currentHolds(),
    });
  }

  #wake(name: Span): void {
    this.#takes.serve(this.#queues.get(name));
  }

  #serve(partition: number): void {
    for (const queue of this.#queues.all()) {
      if (queue.partition === partition && queue.first !== undefined) this.#takes.serve(queue);
    }
  }
}
