/**
 * The membership store on the servers: each step is one script (member-scripts.ts) on the primary
 * of partition 0, by the time of that server. One step is under way at a time. Hints are received
 * over a channel; so are the partitions that a member has changed.
 *
 * A join and a change of the record need replicas. A heartbeat counts if the servers agree on the
 * primary that has replied to it (Servers.agreeOn), or if a replica has it. If that primary refuses
 * changes, which it does for all members, the lease is read instead.
 */
import { OutcomeUnknown } from '../../base/errors.ts';
import { SerialQueue } from '../../base/serial-queue.ts';
import { addressText, type ServerAddress } from '../../base/server-address.ts';
import type {
  ChangeResult,
  ClusterView,
  Heartbeat,
  Incarnation,
  Join,
  Joined,
  JoinObstacle,
  Leave,
  MembershipStore,
  NotJoined,
  Out,
  RecordChange,
  Refused,
  StoredMember,
} from '../../cluster/membership-store.ts';
import type { ChangedPartitions } from '../changed-partitions.ts';
import { type CommandBuffer, header } from './command-buffer.ts';
import type { Dispatcher } from './dispatcher.ts';
import { errorKind, REFUSED_CHANGE } from './error-reply.ts';
import { type Failure, isUnknown, UNCONFIRMED } from './failure.ts';
import { type Layout, WAKE_UPS } from './layout.ts';
import { layoutFault, layoutText } from './layout-record.ts';
import {
  CHANGE,
  FORGET,
  HEARTBEAT,
  JOIN,
  LAYOUT,
  LEASE,
  LEAVE,
  OUT,
  STOP_ALL,
  VIEW,
} from './member-scripts.ts';
import { OutOfStep, type RedisConnection } from './redis-connection.ts';
import { ARRAY, BULK, INTEGER, kindSet, NIL, type Reply } from './reply.ts';
import { NUMBER, READ, runStep } from './run-step.ts';
import type { Script } from './scripts.ts';
import { WakeUps, type WakeUpsOptions } from './wake-ups.ts';

/** The partition whose slot contains the cluster's keys. */
const PARTITION = 0;
/** The listener of the hints' channel, among those of wake-ups, which have random names. */
const LISTENER = Buffer.from('cluster');
const LITE = '1';
const NOT_LITE = '';
const HGET_GONE = header(3, 'HGET');
const SPUBLISH = header(3, 'SPUBLISH');
const GONE = Buffer.from('gone');
/** Replicas that a heartbeat needs if the servers do not agree on the primary. */
const HEARTBEAT_REPLICAS = 1;
/** Join numbers increase as long as the record exists, so a lower one shows its loss. */
const RECORD_LOST = 'the servers have lost the record of the members, and perhaps data';

interface RedisMemberStoreOptions extends Pick<WakeUpsOptions, 'clock' | 'servers' | 'connection'> {
  readonly dispatcher: Dispatcher;
  readonly layout: Layout;
  readonly clusterName: string;
  /** Replicas that must have a join or a change of the record. */
  replicaCount(): number;
  /** Called when the data has another layout than this member. */
  onOtherLayout(): void;
  /** Called with a sentence. */
  onWarning(text: string): void;
  /** Called with the incarnation that items are held for from now on, and the member's place. */
  onJoined(incarnation: string, place: number): void;
  /**
   * Called with every heartbeat of the oldest member while former members have held items, with the
   * uuids of the current members.
   */
  onGone(present: ReadonlySet<string>): void;
  /** Called with every heartbeat of the oldest member. */
  onOldest(): void;
}

/** The reply of a script that returns a view. */
interface ViewReply {
  /** The element before the view. */
  readonly first: number;
  readonly view: ClusterView;
  readonly goneCount: number;
}

export class RedisMembershipStore implements MembershipStore, ChangedPartitions {
  readonly #options: RedisMemberStoreOptions;
  readonly #record: Buffer;
  readonly #channel: Buffer;
  readonly #steps = new SerialQueue();
  readonly #hintListeners: (() => void)[] = [];
  readonly #moveListeners: (() => void)[] = [];
  #onAnnounced: (partitions: Uint8Array) => void = () => {};
  readonly #hints: WakeUps;
  /** Number of the last join; 0 before the first. */
  #lastJoinNumber = 0;
  /** The server that has replied to the last heartbeat or join. */
  #server: string | undefined;

  constructor(options: RedisMemberStoreOptions) {
    this.#options = options;
    const { clock, layout, servers, connection } = options;
    this.#record = layout.clusterKey('record');
    this.#channel = layout.key(WAKE_UPS, PARTITION, LISTENER);
    this.#hints = new WakeUps({
      clock,
      layout,
      servers,
      connection,
      listener: LISTENER,
      onWakeUp: (partitions) => {
        // A hint is empty.
        if (partitions.length === 0) this.#hint();
        else this.#onAnnounced(partitions.toBuffer());
      },
      onListening: () => this.#hint(),
    });
  }

  async join(join: Join): Promise<Joined | NotJoined> {
    const { layout, clusterName } = this.#options;
    const { uuid, address, memberVersion, isLite, version, leaseMs, config } = join;
    const lite = isLite ? LITE : NOT_LITE;
    const own = layoutText(layout);
    const words = [own, uuid, address, memberVersion, lite, version, leaseMs, config];
    const read = (reply: Reply, server: ServerAddress): Joined | NotJoined | Error => {
      const kind = reply.next().text;
      if (kind === LAYOUT) {
        this.#options.onOtherLayout();
        return layoutFault(textIn(reply), layout, clusterName);
      }
      if (kind !== VIEW) return { obstacle: obstacleOf(kind), ...notJoinedIn(reply) };
      const place = reply.next().integer;
      const { first, view } = viewIn(reply);
      this.#server = addressText(server);
      return { joinNumber: first, place, view };
    };
    const result = await this.#step(
      JOIN,
      words,
      { replyKinds: ARRAYS, read },
      this.#options.replicaCount(),
    );
    if (result instanceof Error) throw result;
    if ('view' in result) {
      if (result.joinNumber <= this.#lastJoinNumber) this.#options.onWarning(RECORD_LOST);
      this.#lastJoinNumber = result.joinNumber;
      this.#options.onJoined(`${uuid}:${result.joinNumber}`, result.place);
    }
    return result;
  }

  async heartbeat(heartbeat: Heartbeat): Promise<ClusterView | Out | Refused> {
    this.#hints.check();
    const result = await this.#steps.run(() => this.#heartbeat(heartbeat));
    if ('leftMs' in result || 'out' in result) return result;
    const { view, goneCount } = result;
    if (view.members[0]?.joinNumber === heartbeat.joinNumber) {
      this.#options.onOldest();
      if (goneCount > 0) this.#options.onGone(new Set(view.members.map(({ uuid }) => uuid)));
    }
    return view;
  }

  async leave({ uuid, joinNumber, stopsUpTo }: Leave): Promise<void> {
    await this.#step(LEAVE, [uuid, joinNumber, stopsUpTo], NOTHING);
  }

  async change(change: RecordChange): Promise<ChangeResult | Out> {
    const { uuid, joinNumber, revision, text, admits, limitMs } = change;
    const words = [uuid, joinNumber, revision, text, admits, limitMs];
    const result = await this.#step(CHANGE, words, VIEW_OR_OUT, this.#options.replicaCount());
    if ('out' in result) return result;
    return { isMade: result.first === 1, view: result.view };
  }

  async stopAll({ uuid, joinNumber }: Incarnation): Promise<ClusterView | Out> {
    const result = await this.#step(STOP_ALL, [uuid, joinNumber], VIEW_OR_OUT);
    return 'out' in result ? result : result.view;
  }

  onHint(listener: () => void): void {
    this.#hintListeners.push(listener);
    this.#hints.listen(PARTITION);
  }

  announce(partitions: Uint8Array): void {
    runStep(this.#options.dispatcher, {
      partition: PARTITION,
      traits: READ,
      reading: NUMBER,
      write: (commands) => {
        commands.begin(SPUBLISH);
        commands.bytes(this.#channel);
        commands.bytes(Buffer.from(partitions));
      },
      onDone: () => {},
      onFailed: () => {},
    });
  }

  onAnnounced(listener: (partitions: Uint8Array) => void): void {
    this.#onAnnounced = listener;
  }

  onMoved(listener: () => void): void {
    this.#moveListeners.push(listener);
  }

  /**
   * Checks whether the server of the last heartbeat is still a primary. Called when the primaries
   * may have changed.
   */
  checkServer(): void {
    const primaries = [...this.#options.servers.primaries];
    if (this.#server === undefined || primaries.length === 0) return;
    if (primaries.some(({ address }) => addressText(address) === this.#server)) return;
    this.#server = undefined;
    for (const listener of this.#moveListeners) listener();
  }

  /** Returns the former members whose items have not been returned. */
  gone(): Promise<readonly string[]> {
    return this.#send(
      (commands) => {
        commands.begin(HGET_GONE);
        commands.bytes(this.#record);
        commands.bytes(GONE);
      },
      {
        replyKinds: kindSet(BULK, NIL),
        read: (reply) => (reply.kind === NIL ? [] : (JSON.parse(utf8(reply)) as string[])),
      },
    );
  }

  async forget(incarnation: string): Promise<void> {
    await this.#step(FORGET, [incarnation], NOTHING);
  }

  /** Ends the hints. */
  close(): void {
    this.#hints.end();
  }

  #hint(): void {
    for (const listener of this.#hintListeners) listener();
  }

  async #heartbeat(heartbeat: Heartbeat): Promise<ViewReply | Out | Refused> {
    const { servers } = this.#options;
    const { uuid, joinNumber, stopsUpTo, leaseMs, known, confirmed, applied } = heartbeat;
    const write = this.#writer(HEARTBEAT, [
      uuid,
      joinNumber,
      stopsUpTo,
      leaseMs,
      known,
      confirmed,
      applied,
    ]);
    let server: ServerAddress | undefined;
    const reading: StepReading<ViewReply | Out> = {
      replyKinds: ARRAYS,
      read: (reply, from) => {
        server = from;
        return viewOrOut(reply);
      },
    };
    let refusal: StepRefused | undefined;
    const result = await this.#send(write, reading).catch((error: Error) => {
      if (!(error instanceof StepRefused)) throw error;
      refusal = error;
      return this.#send(this.#writer(LEASE, [uuid, joinNumber, known]), reading);
    });
    if ('out' in result) return result;
    const isAgreed = await servers.agreeOn(server!);
    if (refusal !== undefined && !isAgreed) throw refusal;
    const counted = isAgreed ? result : await this.#send(write, reading, HEARTBEAT_REPLICAS);
    this.#server = addressText(server!);
    if (refusal === undefined || 'out' in counted) return counted;
    return { leftMs: counted.first, view: counted.view };
  }

  #step<Value>(
    script: Script,
    words: readonly (string | number)[],
    reading: StepReading<Value>,
    replicaCount = 0,
  ): Promise<Value> {
    return this.#steps.run(() => this.#send(this.#writer(script, words), reading, replicaCount));
  }

  #writer(script: Script, words: readonly (string | number)[]): Write {
    return (commands) => {
      commands.begin(script.header);
      commands.bytes(this.#record);
      commands.bytes(this.#channel);
      for (const word of words) commands.bytes(Buffer.from(String(word)));
    };
  }

  #send<Value>(
    write: Write,
    { replyKinds, read }: StepReading<Value>,
    replicaCount = 0,
  ): Promise<Value> {
    return new Promise((resolve, reject) => {
      runStep(this.#options.dispatcher, {
        partition: PARTITION,
        traits: { changesData: false, replicaCount, isReplicated: replicaCount > 0 },
        reading: {
          replyKinds,
          read(reply, { connection }) {
            try {
              return read(reply, connection!.address);
            } catch (error) {
              reject(error);
              if (error instanceof OutOfStep) connection!.fail(error);
              return undefined;
            }
          },
        },
        write,
        onDone: (value) => resolve(value as Value),
        onFailed: (failure, { errorText, connection }) =>
          reject(stepError(failure, errorText, connection)),
      });
    });
  }
}

type Write = (commands: CommandBuffer) => void;
/** How the reply to a step is read. */
interface StepReading<Value> {
  readonly replyKinds: number;
  /** Throws OutOfStep if the reply cannot belong to the step. */
  read(reply: Reply, server: ServerAddress): Value;
}

const ARRAYS = kindSet(ARRAY);
const NOTHING: StepReading<void> = { replyKinds: kindSet(INTEGER), read: () => {} };
const VIEW_OR_OUT: StepReading<ViewReply | Out> = { replyKinds: ARRAYS, read: viewOrOut };
const OBSTACLES: readonly string[] = [
  'STOPPING',
  'VERSION',
  'CONFIG',
  'ADDRESS',
  'STATE',
  'FULL',
] satisfies readonly JoinObstacle[];

/** A server refuses changes for now, so the step was not executed. */
class StepRefused extends Error {
  constructor(server: ServerAddress, text: string) {
    super(`the server ${addressText(server)} refuses the step: ${text}`);
  }
}

/** `text`: the server's error, or why the step was not sent; empty if there was no reply. */
function stepError(failure: Failure, text: string, connection: RedisConnection | undefined): Error {
  if (failure === UNCONFIRMED) {
    return new OutcomeUnknown(new Error('too few replicas have confirmed the step'));
  }
  if (text !== '' && errorKind(text) === REFUSED_CHANGE) {
    return new StepRefused(connection!.address, text);
  }
  const error = new Error(text === '' ? 'the servers do not answer' : text);
  return isUnknown(failure) ? new OutcomeUnknown(error) : error;
}

function notJoinedIn(reply: Reply): Omit<NotJoined, 'obstacle'> {
  const version = textIn(reply);
  const stopsUpTo = reply.next().integer;
  return { version, stopsUpTo, ...(reply.next().kind === NIL ? {} : { config: utf8(reply) }) };
}

function obstacleOf(text: string): JoinObstacle {
  if (!OBSTACLES.includes(text)) throw new OutOfStep();
  return text as JoinObstacle;
}

function viewOrOut(reply: Reply): ViewReply | Out {
  const kind = reply.next().text;
  if (kind === OUT) return { out: true, stopsUpTo: reply.next().integer };
  if (kind !== VIEW) throw new OutOfStep();
  return viewIn(reply);
}

function viewIn(reply: Reply): ViewReply {
  const first = reply.next().integer;
  const nowMs = reply.next().integer;
  const revision = reply.next().integer;
  const version = textIn(reply);
  const text = reply.next().kind === NIL ? null : utf8(reply);
  const begun = reply.next().integer;
  const leftMs = reply.next().integer;
  const limit = begun === 0 ? null : { begun, leftMs };
  const stopsUpTo = reply.next().integer;
  const goneCount = reply.next().integer;
  const replacedCount = reply.next().integer;
  const members: StoredMember[] = [];
  while (reply.next().kind !== NIL) members.push(memberIn(reply));
  const view = { nowMs, revision, version, text, limit, stopsUpTo, members, replacedCount };
  return { first, view, goneCount };
}

/** Reads a member; the reply is at its first node. */
function memberIn(reply: Reply): StoredMember {
  const uuid = utf8(reply);
  const joinNumber = reply.next().integer;
  const address = textIn(reply);
  const memberVersion = textIn(reply);
  const isLite = textIn(reply) === LITE;
  const confirmed = reply.next().integer;
  const applied = reply.next().integer;
  return { uuid, joinNumber, address, memberVersion, isLite, confirmed, applied };
}

function textIn(reply: Reply): string {
  return utf8(reply.next());
}

function utf8({ bytes: { bytes, start, end } }: Reply): string {
  return bytes.toString('utf8', start, end);
}
