/**
 * The cluster's own store on the servers: each step is one script (member-scripts.ts) on the primary of
 * partition 0, by the time of that server. One step is under way at a time. Hints come over a channel.
 */
import { OutcomeUnknown } from '../../base/errors.ts';
import { InTurn } from '../../base/in-turn.ts';
import type {
  Beat,
  ChangeAnswer,
  ClusterView,
  Incarnation,
  Join,
  Joined,
  JoinObstacle,
  MemberStore,
  NotJoined,
  Out,
  RecordChange,
  StoredMember,
} from '../../cluster/member-store.ts';
import { UNKNOWN } from '../engine.ts';
import { type CommandBuffer, header } from './command-buffer.ts';
import type { Dispatcher } from './dispatcher.ts';
import { type Layout, WAKE_UPS } from './layout.ts';
import { BEAT, CHANGE, JOIN, LEAVE, OUT, STOP_ALL, VIEW } from './member-scripts.ts';
import { type Failure, Operation, type Work } from './operation.ts';
import { NIL, type Reply } from './reply.ts';
import type { Script } from './scripts.ts';
import { WakeUps, type WakeUpsOptions } from './wake-ups.ts';

/** The partition whose slot the cluster's keys have. */
const PARTITION = 0;
/** The hints' place among the channels of wake-ups, whose listeners have random names. */
const LISTENER = Buffer.from('cluster');
const LITE = '1';
const NOT_LITE = '';
const SRANDMEMBER = header(3, 'SRANDMEMBER');
const SREM = header(3, 'SREM');
/** Incarnations that are looked at before the list is read again. */
const GONE_AT_ONCE = 16;

interface RedisMemberStoreOptions extends Pick<WakeUpsOptions, 'clock' | 'servers' | 'connection'> {
  readonly dispatcher: Dispatcher;
  readonly layout: Layout;
  /** Replicas that must have a step. */
  replicaCount(): number;
  /** What items are held under from now on. */
  onJoined(incarnation: string): void;
  /** There are incarnations that are gone. Called with each beat, of the member that joined first. */
  onGone(): void;
  /** Called with each beat of the member that joined first. */
  onOldest(): void;
}

/** A view as a script replies it. */
interface ToldView {
  /** What stands before the view. */
  readonly first: number;
  readonly view: ClusterView;
  readonly goneCount: number;
}

export class RedisMemberStore implements MemberStore {
  readonly #options: RedisMemberStoreOptions;
  readonly #keys: readonly Buffer[];
  readonly #gone: Buffer;
  readonly #channel: Buffer;
  readonly #steps = new InTurn();
  readonly #listeners: (() => void)[] = [];
  readonly #hints: WakeUps;

  constructor(options: RedisMemberStoreOptions) {
    this.#options = options;
    const { clock, layout, servers, connection } = options;
    this.#gone = layout.clusterKey('gone');
    const others = ['record', 'members', 'left'].map((name) => layout.clusterKey(name));
    this.#keys = [...others, this.#gone];
    this.#channel = layout.key(WAKE_UPS, PARTITION, LISTENER);
    this.#hints = new WakeUps({
      ...{ clock, layout, servers, connection, listener: LISTENER },
      onWakeUp: () => this.#hint(),
      onListening: () => this.#hint(),
    });
  }

  async join(join: Join): Promise<Joined | NotJoined> {
    const { uuid, address, memberVersion, isLite, version, leaseMs } = join;
    const lite = isLite ? LITE : NOT_LITE;
    const words = [uuid, address, memberVersion, lite, version, leaseMs];
    return await this.#step(JOIN, words, (reply) => {
      const kind = reply.next().text;
      if (kind !== VIEW) return { obstacle: kind as JoinObstacle, ...versionIn(reply) };
      const { first, view } = viewIn(reply);
      this.#options.onJoined(`${uuid}:${first}`);
      return { joinNumber: first, view };
    });
  }

  async beat({ uuid, joinNumber, leaseMs, known, confirmed }: Beat): Promise<ClusterView | Out> {
    this.#hints.check();
    const words = [uuid, joinNumber, leaseMs, known, confirmed];
    const answer = await this.#step(BEAT, words, viewOrOut);
    if ('out' in answer) return answer;
    const { view, goneCount } = answer;
    if (view.members[0]?.joinNumber === joinNumber) {
      this.#options.onOldest();
      if (goneCount > 0) this.#options.onGone();
    }
    return view;
  }

  async leave({ uuid, joinNumber }: Incarnation): Promise<void> {
    await this.#step(LEAVE, [uuid, joinNumber], () => undefined);
  }

  async change(change: RecordChange): Promise<ChangeAnswer | Out> {
    const { uuid, joinNumber, revision, text, admits, limitMs } = change;
    const words = [uuid, joinNumber, revision, text, admits, limitMs];
    const answer = await this.#step(CHANGE, words, viewOrOut);
    if ('out' in answer) return answer;
    return { isMade: answer.first === 1, view: answer.view };
  }

  async stopAll({ uuid, joinNumber }: Incarnation): Promise<ClusterView | Out> {
    const answer = await this.#step(STOP_ALL, [uuid, joinNumber], viewOrOut);
    return 'out' in answer ? answer : answer.view;
  }

  onHint(listener: () => void): void {
    this.#listeners.push(listener);
    this.#hints.listen(PARTITION);
  }

  /** Some member incarnations that are gone, and not forgotten. */
  gone(): Promise<readonly string[]> {
    return this.#send(
      (commands) => {
        commands.begin(SRANDMEMBER);
        commands.bytes(this.#gone);
        commands.number(GONE_AT_ONCE);
      },
      (reply) => {
        const gone: string[] = [];
        while (reply.next().kind !== NIL) gone.push(utf8(reply));
        return gone;
      },
    );
  }

  async forget(incarnation: string): Promise<void> {
    await this.#send(
      (commands) => {
        commands.begin(SREM);
        commands.bytes(this.#gone);
        commands.bytes(Buffer.from(incarnation));
      },
      () => undefined,
    );
  }

  /** No hint comes any more. */
  close(): void {
    this.#hints.end();
  }

  #hint(): void {
    for (const listener of this.#listeners) listener();
  }

  #step<Answer>(
    script: Script,
    words: readonly (string | number)[],
    read: (reply: Reply) => Answer,
  ): Promise<Answer> {
    const write = (commands: CommandBuffer): void => {
      commands.begin(script.header);
      for (const key of this.#keys) commands.bytes(key);
      commands.bytes(this.#channel);
      for (const word of words) commands.bytes(Buffer.from(String(word)));
    };
    return this.#steps.run(() => this.#send(write, read));
  }

  #send<Answer>(
    write: (commands: CommandBuffer) => void,
    read: (reply: Reply) => Answer,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const { dispatcher } = this.#options;
      const { operation } = new Step(dispatcher, read, resolve, reject);
      operation.replicaCount = this.#options.replicaCount();
      const commands = dispatcher.begin(operation, PARTITION);
      if (commands === undefined) return;
      write(commands);
      dispatcher.end(operation);
    });
  }
}

class Step<Answer> implements Work {
  readonly operation: Operation<undefined>;
  readonly #read: (reply: Reply) => Answer;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: Error) => void;
  #answer: Answer | undefined;

  constructor(
    dispatcher: Dispatcher,
    read: (reply: Reply) => Answer,
    resolve: (answer: Answer) => void,
    reject: (error: Error) => void,
  ) {
    this.operation = new Operation(dispatcher, this, undefined);
    this.operation.changesData = false;
    this.#read = read;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onResult(reply: Reply): void {
    this.#answer = this.#read(reply);
    if (this.operation.group === undefined) this.onConfirmed();
  }

  onConfirmed(): void {
    this.#resolve(this.#answer as Answer);
  }

  onUnconfirmed(): void {
    this.#reject(new OutcomeUnknown(new Error('too few replicas have confirmed the step')));
  }

  onFailed(failure: Failure): void {
    const error = new Error('the servers do not answer');
    this.#reject(failure === UNKNOWN ? new OutcomeUnknown(error) : error);
  }
}

function versionIn(reply: Reply): { version: string; stopsUpTo: number } {
  const version = textIn(reply);
  return { version, stopsUpTo: reply.next().integer };
}

function viewOrOut(reply: Reply): ToldView | Out {
  if (reply.next().text === OUT) return { out: true, stopsUpTo: reply.next().integer };
  return viewIn(reply);
}

function viewIn(reply: Reply): ToldView {
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
  const members: StoredMember[] = [];
  while (reply.next().kind !== NIL) members.push(memberIn(reply));
  const view = { nowMs, revision, version, text, limit, stopsUpTo, members };
  return { first, view, goneCount };
}

/** The reply is at the member's first node. */
function memberIn(reply: Reply): StoredMember {
  const uuid = utf8(reply);
  const joinNumber = reply.next().integer;
  const address = textIn(reply);
  const memberVersion = textIn(reply);
  const isLite = textIn(reply) === LITE;
  const confirmed = reply.next().integer;
  return { uuid, joinNumber, address, memberVersion, isLite, confirmed };
}

function textIn(reply: Reply): string {
  return utf8(reply.next());
}

function utf8({ bytes: { bytes, start, end } }: Reply): string {
  return bytes.toString('utf8', start, end);
}
