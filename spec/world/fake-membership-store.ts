/**
 * The store of a cluster in memory: each step runs the function that stands for its script, at once
 * and without a connection.
 */
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
} from '../../src/cluster/membership-store.ts';
import {
  CHANGE,
  HEARTBEAT,
  JOIN,
  LEASE,
  LEAVE,
  OUT,
  STOP_ALL,
  VIEW,
} from '../../src/engine/redis/member-scripts.ts';
import type { Script } from '../../src/engine/redis/scripts.ts';
import { FakeData, type Value } from './fake-data.ts';
import { MEMBER_FUNCTIONS } from './fake-member-scripts.ts';

type ViewReply = readonly [
  ...[number, number, string, string | null, number, number, number, number, number],
  ...Value[],
];
type MemberReply = readonly [string, number, string, string, string, number, number];
type Words = readonly (string | number)[];

const FUNCTIONS = new Map(MEMBER_FUNCTIONS);
const RECORD = 'record';
const CHANNEL = 'channel';
/** Number of elements of a reply for each member. */
const MEMBER_WIDTH = 7;

export class FakeMembershipStore implements MembershipStore {
  readonly #time: () => number;
  readonly #data: FakeData;
  readonly #hintListeners: (() => void)[] = [];
  readonly #moveListeners: (() => void)[] = [];
  #server = 1;
  #hasHint = false;

  /** `time`: the clock of the server, in ms. */
  constructor(time: () => number) {
    this.#time = time;
    this.#data = new FakeData(time);
  }

  async join(join: Join): Promise<Joined | NotJoined> {
    const { uuid, address, memberVersion, isLite, version, leaseMs, config } = join;
    const lite = isLite ? 1 : '';
    const words = ['layout', uuid, address, memberVersion, lite, version, leaseMs, config];
    const [kind, ...rest] = this.#run(JOIN, words);
    if (kind !== VIEW) {
      const [found, stopsUpTo, other] = rest as [string, number, string | null];
      const obstacle = kind as JoinObstacle;
      return { obstacle, version: found, stopsUpTo, ...(other === null ? {} : { config: other }) };
    }
    const [place, joinNumber, ...view] = rest as number[];
    return { joinNumber: joinNumber!, place: place!, view: viewOf(view) };
  }

  async heartbeat(heartbeat: Heartbeat): Promise<ClusterView | Out | Refused> {
    const { uuid, joinNumber, stopsUpTo, leaseMs, known, confirmed, applied } = heartbeat;
    const words = [uuid, joinNumber, stopsUpTo, leaseMs, known, confirmed, applied];
    return viewOrOut(this.#run(HEARTBEAT, words));
  }

  /** Returns the result of a heartbeat while the store refuses all steps. */
  async refuse({ uuid, joinNumber, known }: Heartbeat): Promise<Refused | Out> {
    const reply = this.#run(LEASE, [uuid, joinNumber, known]);
    const view = viewOrOut(reply);
    return 'out' in view ? view : { leftMs: reply[1] as number, view };
  }

  async leave({ uuid, joinNumber, stopsUpTo }: Leave): Promise<void> {
    this.#run(LEAVE, [uuid, joinNumber, stopsUpTo]);
  }

  async change(change: RecordChange): Promise<ChangeResult | Out> {
    const { uuid, joinNumber, revision, text, admits, limitMs } = change;
    const reply = this.#run(CHANGE, [uuid, joinNumber, revision, text, admits, limitMs]);
    const view = viewOrOut(reply);
    return 'out' in view ? view : { isMade: reply[1] === 1, view };
  }

  async stopAll({ uuid, joinNumber }: Incarnation): Promise<ClusterView | Out> {
    return viewOrOut(this.#run(STOP_ALL, [uuid, joinNumber]));
  }

  onHint(listener: () => void): void {
    this.#hintListeners.push(listener);
  }

  onMoved(listener: () => void): void {
    this.#moveListeners.push(listener);
  }

  /** Moves the store to another server, to which the next steps are sent. */
  move(): void {
    this.#server++;
    for (const listener of this.#moveListeners) listener();
  }

  /** Text of the record. */
  get text(): string {
    return (this.#data.run(['HGET', RECORD, 'text']) as string | null) ?? '';
  }

  set text(text: string) {
    this.#data.run(['HSET', RECORD, 'text', text]);
  }

  /** Returns the data of a replica that does not receive the following steps. */
  copy(): FakeData {
    const copy = new FakeData(this.#time);
    copy.copyFrom(this.#data);
    return copy;
  }

  become(data: FakeData): void {
    this.#data.copyFrom(data);
  }

  #run(script: Script, words: Words): readonly Value[] {
    const call = (...command: Words): Value => this.#call(command.map(String));
    const run = {
      call,
      count: (...command: Words) => call(...command) as number,
      text: (...command: Words) => (call(...command) as string | null) ?? undefined,
      texts: (...command: Words) => call(...command) as readonly string[],
    };
    const reply = FUNCTIONS.get(script)!(run, [RECORD], [CHANNEL, ...words.map(String)]);
    const listeners = this.#hasHint ? this.#hintListeners : [];
    this.#hasHint = false;
    for (const listener of listeners) listener();
    return reply as readonly Value[];
  }

  #call(command: readonly string[]): Value {
    const ms = this.#time();
    if (command[0] === 'TIME') return [`${Math.floor(ms / 1000)}`, `${(ms % 1000) * 1000}`];
    if (command[0] === 'INFO') return `run_id:${this.#server}`;
    if (command[0] !== 'SPUBLISH') return this.#data.run(command);
    this.#hasHint = true;
    return 0;
  }
}

function viewOrOut([kind, first, ...rest]: readonly Value[]): ClusterView | Out {
  return kind === OUT ? { out: true, stopsUpTo: first as number } : viewOf(rest);
}

/** Reads a view from its time on. */
function viewOf(reply: readonly Value[]): ClusterView {
  const [nowMs, revision, version, text, begun, leftMs, stopsUpTo, , replacedCount, ...rest] =
    reply as ViewReply;
  const members = [];
  for (let at = 0; at < rest.length; at += MEMBER_WIDTH) {
    const member = rest.slice(at, at + MEMBER_WIDTH) as unknown as MemberReply;
    const [uuid, joinNumber, address, memberVersion, lite, confirmed, applied] = member;
    const isLite = lite === '1';
    members.push({ uuid, joinNumber, address, memberVersion, isLite, confirmed, applied });
  }
  const limit = begun === 0 ? null : { begun, leftMs };
  return { nowMs, revision, version, text, limit, stopsUpTo, members, replacedCount };
}
