/**
 * Wake-ups: messages from the store that a queue at which a poll of this member waits has an item.
 * Each member has a channel per partition, in its slot, and a separate connection to each primary
 * for them, established when the first poll waits. One command is pending there at a time, as
 * messages are received in between. A wake-up is only a hint and is not repeated.
 * Tested by redis-membership-store.spec.ts.
 */
import type { Clock } from '../../base/clock.ts';
import type { ViewedBytes } from '../../base/copy-bytes.ts';
import type { ServerAddress } from '../../base/server-address.ts';
import { Span } from '../../base/span.ts';
import { header } from './command-buffer.ts';
import { addressIn, errorKind, MOVED, NO_RIGHT } from './error-reply.ts';
import { type Layout, WAKE_UPS } from './layout.ts';
import { Link, type Primary, type PrimaryOptions } from './primary.ts';
import { OutOfStep } from './redis-connection.ts';
import { ARRAY, ERROR, kindSet, type Reply, STATUS } from './reply.ts';
import type { Servers } from './servers.ts';

const SSUBSCRIBE = header(2, 'SSUBSCRIBE');
const PING = header(1, 'PING');
const SUBSCRIBED = 'ssubscribe';
/** The reply to PING is an array once there is a subscription. */
const ARRAYS_AND_PONG = kindSet(ARRAY, STATUS);
const MESSAGE = 'smessage';

export interface WakeUpsOptions {
  readonly clock: Clock;
  readonly layout: Layout;
  readonly servers: Servers;
  readonly connection: PrimaryOptions;
  /** The name of this engine in channels. */
  readonly listener: Buffer;
  /** Called when the queue may have items. The span is valid during the call. */
  onWakeUp(queue: Span): void;
  /** Called when the subscription to the partition begins; earlier wake-ups were missed. */
  onListening(partition: number): void;
}

export class WakeUps {
  readonly #options: WakeUpsOptions;
  readonly #subscribers = new Map<Primary, Subscriber>();
  /** Partitions where polls wait or have waited, with the subscriber, if any. */
  readonly #listeners = new Map<number, Subscriber | undefined>();
  #isEnded = false;

  constructor(options: WakeUpsOptions) {
    this.#options = options;
  }

  /** Subscribes to the partition, where a poll waits at a queue. */
  listen(partition: number): void {
    if (this.#isEnded || this.#listeners.has(partition)) return;
    this.#listeners.set(partition, undefined);
    this.#listenAgain(partition);
  }

  /**
   * Checks whether each partition has a subscriber at its current primary, and whether all
   * connections are alive.
   */
  check(): void {
    const primaries = new Set(this.#options.servers.primaries);
    for (const [primary, subscriber] of this.#subscribers) {
      if (primaries.has(primary)) subscriber.check();
      else this.#drop(primary, subscriber);
    }
    for (const partition of this.#listeners.keys()) this.#listenAgain(partition);
  }

  end(): void {
    this.#isEnded = true;
    for (const subscriber of this.#subscribers.values()) subscriber.end();
    this.#subscribers.clear();
    this.#listeners.clear();
  }

  #listenAgain(partition: number): void {
    const { servers, layout } = this.#options;
    const primary = servers.primaryOf(layout.slotOf(partition));
    if (primary === undefined) return;
    const subscriber = this.#subscribers.get(primary) ?? this.#add(primary);
    if (this.#listeners.get(partition) === subscriber) return;
    this.#listeners.set(partition, subscriber);
    subscriber.listen(partition);
  }

  #add(primary: Primary): Subscriber {
    const subscriber = new Subscriber(primary, this.#options, (partition) => {
      if (this.#listeners.get(partition) === subscriber) this.#listeners.set(partition, undefined);
    });
    this.#subscribers.set(primary, subscriber);
    return subscriber;
  }

  #drop(primary: Primary, subscriber: Subscriber): void {
    this.#subscribers.delete(primary);
    subscriber.end();
    for (const [partition, listener] of this.#listeners) {
      if (listener === subscriber) this.#listeners.set(partition, undefined);
    }
  }
}

/** The connection to one primary. */
class Subscriber {
  readonly #options: WakeUpsOptions;
  readonly #address: ServerAddress;
  readonly #link: Link;
  readonly #onStopped: (partition: number) => void;
  readonly #partitions = new Set<number>();
  readonly #byChannel = new Map<string, number>();
  /** Partitions that are not subscribed to yet. */
  #due: number[] = [];
  #isBusy = false;
  readonly #queue = new Span();

  /** `onStopped`: called when the server has no subscription to the partition. */
  constructor(primary: Primary, options: WakeUpsOptions, onStopped: (partition: number) => void) {
    this.#options = options;
    this.#onStopped = onStopped;
    this.#address = primary.address;
    this.#link = new Link(
      primary.address,
      { ...options.connection, scripts: [] },
      {
        onReady: () => this.#begin(),
        onLost: () => {},
        onMessage: (message) => this.#receive(message),
      },
      false,
    );
  }

  listen(partition: number): void {
    this.#partitions.add(partition);
    this.#due.push(partition);
    this.#subscribeNext();
  }

  /** Sends a PING; a server that does not reply ends the connection. */
  check(): void {
    if (this.#isBusy || this.#link.connection === undefined) return;
    this.#send(PING, undefined, () => {});
  }

  end(): void {
    this.#link.end();
  }

  #begin(): void {
    this.#isBusy = false;
    this.#due = [...this.#partitions];
    this.#subscribeNext();
  }

  #subscribeNext(): void {
    const partition = this.#due[0];
    if (partition === undefined || this.#isBusy || this.#link.connection === undefined) return;
    this.#due.shift();
    const { layout, listener } = this.#options;
    const channel = layout.key(WAKE_UPS, partition, listener);
    this.#byChannel.set(channel.toString('latin1'), partition);
    this.#send(SSUBSCRIBE, channel, (reply) => this.#onSubscribed(partition, reply));
  }

  #send(command: ViewedBytes, channel: Buffer | undefined, onReply: (reply: Reply) => void): void {
    const connection = this.#link.connection!;
    const start = connection.commands.length;
    connection.commands.begin(command);
    if (channel !== undefined) connection.commands.bytes(channel);
    this.#isBusy = true;
    connection.expect(start, {
      replyKinds: ARRAYS_AND_PONG,
      onReply: (reply) => {
        this.#isBusy = false;
        onReply(reply);
        this.#subscribeNext();
      },
      onLost: () => {},
    });
  }

  #onSubscribed(partition: number, reply: Reply): void {
    if (reply.kind !== ERROR) {
      if (reply.next().text === SUBSCRIBED) return this.#options.onListening(partition);
      return this.#link.connection?.fail(new OutOfStep());
    }
    const { servers, layout, connection } = this.#options;
    const { text } = reply;
    const kind = errorKind(text);
    if (kind === NO_RIGHT) connection.onRefused(this.#address, () => 'SSUBSCRIBE', text);
    const address = kind === MOVED ? addressIn(text, this.#address) : undefined;
    if (address !== undefined) servers.onMoved(layout.slotOf(partition), address);
    else servers.lookUpSoon();
    this.#stop(partition);
  }

  #receive(message: Reply): void {
    const kind = message.next().text;
    const channel = message.next().text;
    if (kind === MESSAGE) {
      this.#options.onWakeUp(this.#queue.copyFrom(message.next().bytes));
      return;
    }
    // The slot has been moved to another server.
    const partition = this.#byChannel.get(channel);
    if (partition !== undefined) this.#stop(partition);
  }

  #stop(partition: number): void {
    this.#partitions.delete(partition);
    this.#onStopped(partition);
  }
}
