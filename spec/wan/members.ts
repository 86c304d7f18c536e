/** Members for the specs of replication, and a network that the test controls. */
import assert from 'node:assert/strict';
import type { Clock } from '../../src/base/clock.ts';
import { EVERY_PARTITION } from '../../src/base/partition-number.ts';
import type { Span } from '../../src/base/span.ts';
import { LATEST_UPDATE } from '../../src/engine/merge-policy.ts';
import { FROM_CLIENT, type Mutation, SET } from '../../src/engine/mutation.ts';
import type { WanEndpoint, WanPublisherOptions } from '../../src/wan/wan-config.ts';
import { WanReplications } from '../../src/wan/wan-replications.ts';
import type { TaskStatus } from '../../src/wan/wan-status.ts';
import type { TransportResponse, WanTransport } from '../../src/wan/wan-transport.ts';
import { copyOf } from '../engine/sinks.ts';
import { FakeClock } from '../fake-clock.ts';
import { MemberClock } from '../world/member-clock.ts';
import { SimulatedEngine } from './simulated-engine.ts';

export const OPTIONS: WanPublisherOptions = {
  publisherId: 'p',
  clusterName: 'dev',
  targetEndpoints: [{ host: 'b', port: 5701, segment: undefined, tls: false }],
  username: undefined,
  password: undefined,
  batchSize: 5,
  batchMaxDelayMs: 50,
  responseTimeoutMs: 1000,
  acknowledgeType: 'ACK_ON_OPERATION_COMPLETE',
  queueCapacity: 10_000,
  queueBytesMax: 2 ** 28,
  queueFullBehavior: 'DISCARD_AFTER_MUTATION',
  initialPublisherState: 'REPLICATING',
  snapshotEnabled: false,
  discoveryPeriodSeconds: 2,
  maxConcurrentInvocations: -1,
  consistencyCheckStrategy: 'NONE',
  compression: 'none',
  tls: {},
};

/** The default limits of a member. */
export const REQUEST_LIMITS = {
  segment: 'grid',
  headerBytesMax: 32_768,
  targetBytesMax: 32_768,
  bodyBytesMax: 16_777_216,
};

/** The parts of a member's replications and receiver that are usually the same. */
export const MEMBER_PARTS = {
  clusterName: () => 'dev',
  acceptsWrites: () => true,
  treeOf: () => ({ isOn: true, depth: 10 }),
  payloadBytesMax: 2 ** 24,
  queueBytesMax: 2 ** 28,
  requestLimits: REQUEST_LIMITS,
};

const PARTITION_COUNT = 7;

export function endpoint(host: string): WanEndpoint {
  return { host, port: 5701, segment: undefined, tls: false };
}

/** Stores the lines of a member's log. */
export class RecordedLog {
  readonly lines: string[] = [];
  info(_fields: object, text: string): void {
    this.lines.push(`info ${text}`);
  }
  warn(_fields: object, text: string): void {
    this.lines.push(`warn ${text}`);
  }
  error(_fields: object, text: string): void {
    this.lines.push(`error ${text}`);
  }
}

/** The delays with which a message and its response arrive. */
export interface Fate {
  /** Delays of its deliveries; empty if it is lost. */
  readonly arrivals: readonly number[];
  /** Delay of the response to the first delivery; undefined if the response is lost. */
  readonly answerMs: number | undefined;
}

const AT_ONCE: Fate = { arrivals: [1], answerMs: 1 };

/** Limits of the delays, in ms, of a message that arrives twice, another one, and a response. */
interface Delays {
  readonly twiceMs: number;
  readonly delayMs: number;
  readonly answerMs: number;
}

/** A member as the network uses it. */
interface Receiving {
  readonly isDown: boolean;
  receive(message: Buffer): Promise<TransportResponse>;
}

export class Network {
  readonly clock: FakeClock;
  readonly members = new Map<string, Receiving>();
  /** Decides what happens to each message. */
  fate: (from: Receiving, to: string) => Fate = () => AT_ONCE;
  /** Responds instead of the member if it returns a response. */
  answer: (message: Buffer, to: string) => TransportResponse | undefined = () => undefined;
  /** Random numbers for jitter and epochs. */
  random: () => number = () => 0.5;
  /** Copies of the messages, their targets, and the memory that contained them. */
  readonly sent: {
    readonly to: string;
    readonly message: Buffer;
    readonly memory: ArrayBufferLike;
  }[] = [];

  /** The responses to messages that were refused as invalid. */
  readonly invalid: string[] = [];

  constructor(clock = new FakeClock()) {
    this.clock = clock;
  }

  /** Loses and repeats a tenth of the messages each, loses a tenth of the responses, delays all. */
  disturb(below: (count: number) => number, { twiceMs, delayMs, answerMs }: Delays): void {
    this.fate = () => {
      const kind = below(10);
      const twice = () => [below(twiceMs), below(twiceMs)];
      const arrivals = kind === 0 ? [] : kind === 1 ? twice() : [below(delayMs)];
      return { arrivals, answerMs: below(10) === 0 ? undefined : below(answerMs) };
    };
  }

  calm(): void {
    this.fate = () => AT_ONCE;
  }

  transportOf(from: Receiving): WanTransport {
    return {
      send: (to, message, timeoutMs) => this.#send(from, to.host, message, timeoutMs),
      close: () => {},
    };
  }

  /** Advances the time in steps and runs everything that is due. */
  async pass(ms: number, stepMs = 5): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.clock.advance(stepMs);
      await this.settle();
    }
  }

  async settle(): Promise<void> {
    do {
      this.clock.settle();
      await new Promise((resolve) => setImmediate(resolve));
    } while (this.clock.endCount > 0);
  }

  #send(
    from: Receiving,
    to: string,
    bytes: Uint8Array,
    timeoutMs: number,
  ): Promise<TransportResponse> {
    const message = Buffer.from(bytes);
    this.sent.push({ to, message, memory: bytes.buffer });
    const { arrivals, answerMs } = this.fate(from, to);
    return new Promise((resolve, reject) => {
      const late = this.clock.after(timeoutMs, () => {
        reject(new Error(`timed out after ${timeoutMs} ms`));
      });
      for (const [index, delayMs] of arrivals.entries()) {
        this.clock.after(delayMs, () => {
          void this.#deliver(to, message).then((answer) => {
            if (index > 0 || answerMs === undefined) return;
            this.clock.after(answerMs, () => {
              late.cancel();
              if (answer instanceof Error) reject(answer);
              else resolve(answer);
            });
          });
        });
      }
    });
  }

  async #deliver(to: string, message: Buffer): Promise<TransportResponse | Error> {
    const made = this.answer(message, to);
    if (made !== undefined) return made;
    const member = this.members.get(to);
    if (member === undefined || member.isDown) return new Error('connection refused');
    const response = await member.receive(message);
    if (response.status === 400) this.invalid.push(response.body.toString());
    return response;
  }
}

interface MemberOptions {
  /** The character of its data set's id; by default its name. */
  readonly dataSet?: string;
  /** Offset of its wall clock, in ms. */
  readonly aheadMs?: number;
  readonly partitionCount?: number;
  /** Limit of the waiting events of all publishers, in bytes. */
  readonly queueBytesMax?: number;
  /** Whether its changes are durable at once. */
  readonly isDurable?: boolean;
}

export class Member {
  readonly name: string;
  readonly network: Network;
  readonly log = new RecordedLog();
  readonly dataSetId: Buffer;
  isDown = false;
  /** Whether changes have yet to be written. */
  delaysAll = false;
  isPassive = false;
  /** The uuid of the synchronisation or check started last. */
  lastTask: string | undefined;
  /** Merge policy of its maps' references. */
  policy = LATEST_UPDATE as number;
  engine: SimulatedEngine;
  replications: WanReplications;
  readonly #publishers: readonly WanPublisherOptions[];
  readonly #clock: Clock;
  readonly #options: MemberOptions;
  /** Durable changes of all lives of the member. */
  #history: Mutation[] = [];

  constructor(
    network: Network,
    name: string,
    publishers: readonly WanPublisherOptions[],
    options: MemberOptions = {},
  ) {
    const { dataSet = name, aheadMs = 0 } = options;
    this.#options = options;
    this.network = network;
    this.name = name;
    this.dataSetId = Buffer.alloc(16, dataSet);
    this.#publishers = publishers;
    this.#clock = new MemberClock(network.clock, { wallAheadMs: aheadMs });
    this.engine = this.#engine();
    this.replications = this.#replications();
    network.members.set(name, this);
  }

  /** The filter of the references. */
  accepts: (key: Span) => boolean = () => true;

  get status() {
    return this.replications.publishers()[0]!;
  }

  get control() {
    return this.replications.publisherOf('r', 'p');
  }

  get isIdle(): boolean {
    return this.replications.publishers().every(({ queueSize }) => queueSize === 0);
  }

  /** The places of its entries: maps and keys. */
  get places(): string[] {
    return this.engine.contents().map((text) => text.split(' ')[0]!);
  }

  /** Returns the status of a synchronisation or check at its end. `pass` lets the time pass. */
  async ended(uuid: string, pass = () => this.network.pass(5)): Promise<TaskStatus> {
    for (let round = 0; round < 2000; round++) {
      const status = this.replications.progressOf(uuid);
      assert(status !== undefined);
      if (status.stage === 'FINISHED' || status.stage === 'FAILED') return status;
      await pass();
    }
    return assert.fail('the task does not end');
  }

  /** Makes everything recorded durable. */
  sync(): void {
    this.engine.durableCount = this.engine.log.length;
    this.replications.release();
  }

  /** Drops all changes that were not durable; the others are applied and queued again. */
  restart(): void {
    void this.replications.close(0);
    this.#history = [...this.#history, ...this.engine.log.slice(0, this.engine.durableCount)];
    void this.engine.close();
    this.engine = this.#engine();
    this.engine.restore(this.#history);
    const sinks: { record(change: Mutation): void }[] = [];
    const { engine } = this;
    const addSink = engine.addSink.bind(engine);
    engine.addSink = (sink) => {
      sinks.push(sink);
      addSink(sink);
    };
    this.replications = this.#replications();
    for (const change of this.#history) {
      const again = copyOf(change);
      if (change.path.length === 0) again.origin = FROM_CLIENT;
      again.sequence = 0;
      for (const sink of sinks) sink.record(again);
    }
  }

  async receive(message: Buffer): Promise<TransportResponse> {
    const { engine, replications } = this;
    const answer = await replications.receiver.receive(Buffer.from(message));
    if (answer.error !== undefined) {
      const { status } = answer.error;
      return { status, body: Buffer.from(answer.error.message) };
    }
    // Delays the response like the HTTP server.
    if (answer.partition === EVERY_PARTITION) {
      const count = engine.log.length;
      while (engine.durableCount < count) {
        // The connection ended with the process.
        if (engine !== this.engine) return await new Promise(() => {});
        await new Promise<void>((resolve) => void this.network.clock.after(1, resolve));
      }
    }
    return { status: answer.status, body: answer.body };
  }

  #engine(): SimulatedEngine {
    const { partitionCount = PARTITION_COUNT, isDurable = false } = this.#options;
    const durableCount = isDurable ? Number.POSITIVE_INFINITY : 0;
    return new SimulatedEngine(this.#clock, partitionCount, durableCount);
  }

  #replications(): WanReplications {
    const replications = new WanReplications({
      ...MEMBER_PARTS,
      engine: this.engine,
      dataSetId: this.dataSetId,
      acceptsWrites: () => !this.isPassive,
      delaysAll: () => this.delaysAll,
      clock: this.#clock,
      log: this.log,
      queueBytesMax: this.#options.queueBytesMax ?? MEMBER_PARTS.queueBytesMax,
      transportOf: () => this.network.transportOf(this),
      refsTo: () => (map) =>
        map.toString().startsWith('own')
          ? undefined
          : { policy: this.policy, republishing: true, accepts: this.accepts },
      random: this.network.random,
    });
    replications.add('r', this.#publishers);
    return replications;
  }
}

/** Returns a member whose changes are durable at once. */
export function durableMember(
  network: Network,
  name: string,
  publishers: readonly WanPublisherOptions[] = [],
  options: MemberOptions = {},
): Member {
  return new Member(network, name, publishers, { ...options, isDurable: true });
}

/** Returns a source `a` that publishes to `b`; all changes are durable at once. */
export function pairOf(options: Partial<WanPublisherOptions> = {}) {
  const network = new Network();
  const a = durableMember(network, 'a', [{ ...OPTIONS, ...options }]);
  return { network, a, b: durableMember(network, 'b') };
}

/** Makes the entries key0, key1 and so on. Returns how many were accepted. */
export function setKeys({ engine }: Member, count: number, from = 0): number {
  let done = 0;
  for (let index = from; index < from + count; index++) {
    if (engine.change(SET, 'map', `key${index}`, `value${index}`)) done++;
  }
  return done;
}

export const SHAPES = ['chain', 'ring', 'star', 'mesh'] as const;
export type Shape = (typeof SHAPES)[number];

/** Returns the numbers of the members that the member sends to. */
export function targetsOf(shape: Shape, count: number, number: number): number[] {
  const others = [...Array(count).keys()].filter((other) => other !== number);
  if (shape === 'mesh') return others;
  if (shape === 'star') return number === 0 ? others : [0];
  if (shape === 'ring') return [(number + 1) % count];
  return number + 1 < count ? [number + 1] : [];
}

/** Returns the members `m0`, `m1` and so on, one for each wall clock, this many ms ahead. */
export function shaped(
  network: Network,
  shape: Shape,
  clocks: readonly number[],
  options: WanPublisherOptions,
): Member[] {
  return clocks.map((aheadMs, number) => {
    const publishers = targetsOf(shape, clocks.length, number).map((target) => ({
      ...options,
      publisherId: `p${target}`,
      targetEndpoints: [endpoint(`m${target}`)],
    }));
    return new Member(network, `m${number}`, publishers, { aheadMs });
  });
}

/** Rounds of 50 ms after the faults and the tasks, in which every delayed message arrives. */
const QUIET_ROUNDS = 20;

/** Lets the time pass, with every change durable, until all queues are empty. */
export async function untilIdle(
  network: Network,
  members: readonly Member[],
  context: string,
  onRound = () => {},
): Promise<void> {
  for (let round = 0; round < 400; round++) {
    await network.pass(50, 10);
    for (const member of members) member.sync();
    onRound();
    if (round > QUIET_ROUNDS && members.every(({ isIdle }) => isIdle)) return;
  }
  const busy = members.filter(({ isIdle }) => !isIdle).map(({ name }) => name);
  assert.deepEqual(busy, [], `${context}: some queues are not empty`);
}

/** Returns a Park-Miller generator, which repeats its numbers for a seed. */
export function generator(seed: number): () => number {
  let state = (seed % 2_147_483_646) + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return (state - 1) / 2_147_483_646;
  };
}
