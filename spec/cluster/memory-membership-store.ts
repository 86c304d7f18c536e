/** The in-memory store of a cluster: each step happens at once, at the test's time. */
import {
  ADMITS_ALL,
  type ChangeResult,
  type ClusterView,
  FORMER_MAX,
  GAP_MS,
  HEARTBEAT_MS,
  type Heartbeat,
  type Incarnation,
  type Join,
  type Joined,
  type JoinObstacle,
  type Leave,
  type MembershipStore,
  type NotJoined,
  type Out,
  PLACES,
  REPLACED_MS,
  type RecordChange,
  type Refused,
  SAME_LIMIT,
  type StoredMember,
} from '../../src/cluster/membership-store.ts';

type Lease = StoredMember & { endMs: number; leaseMs: number; seenMs: number; place: number };

export class MemoryMembershipStore implements MembershipStore {
  /** The server's clock, in ms. */
  readonly #time: () => number;
  #revision = 0;
  #version = '';
  /** Text of the record. */
  text = '';
  #admits: number = ADMITS_ALL;
  #limit: { begun: number; endMs: number } | undefined;
  #members: Lease[] = [];
  #replaced: Lease[] = [];
  /** Number of former members whose items have yet to be returned: only the test returns them. */
  formerCount = 0;
  /** Number of the server that contains the store. */
  server = 1;
  #server = 0;
  #left = new Set<string>();
  #lastJoin = 0;
  #stopsUpTo = 0;
  #heartbeatMs = 0;
  readonly #listeners: (() => void)[] = [];
  readonly #moveListeners: (() => void)[] = [];

  constructor(time: () => number) {
    this.#time = time;
  }

  async join({
    uuid,
    address,
    memberVersion,
    isLite,
    version,
    leaseMs,
  }: Join): Promise<Joined | NotJoined> {
    this.#pass(undefined);
    this.#remove((each) => each.uuid === uuid);
    this.#replaced = this.#replaced.filter((each) => each.uuid !== uuid);
    this.#replace(address);
    const place = this.#freePlace();
    const obstacle = this.#obstacle(address, version, place);
    if (obstacle !== undefined || place === undefined) {
      return { obstacle: obstacle ?? 'FULL', version: this.#version, stopsUpTo: this.#stopsUpTo };
    }
    if (this.#members.length === 0) this.#limit = undefined;
    if (this.#version !== version) this.#advance();
    this.#version = version;
    this.#left.delete(address);
    const joinNumber = ++this.#lastJoin;
    this.#members.push({
      uuid,
      joinNumber,
      address,
      memberVersion,
      isLite,
      place,
      leaseMs,
      confirmed: this.#revision,
      endMs: this.#time() + leaseMs,
      seenMs: this.#time(),
    });
    this.#hint();
    return { joinNumber, place, view: this.#view(true) };
  }

  async heartbeat({
    leaseMs,
    known,
    confirmed,
    stopsUpTo,
    ...caller
  }: Heartbeat): Promise<ClusterView | Out | Refused> {
    this.#stop(stopsUpTo);
    const member = this.#find(caller);
    this.#pass(member);
    if (member === undefined) return this.#out();
    member.endMs = this.#time() + leaseMs;
    member.seenMs = this.#time();
    const isKnown = known === this.#revision;
    if (isKnown && confirmed !== member.confirmed) {
      this.#members = this.#members.map((each) =>
        each === member ? { ...each, confirmed } : each,
      );
      this.#hint();
    }
    return this.#view(!isKnown);
  }

  async leave({ stopsUpTo, ...caller }: Leave): Promise<void> {
    this.#stop(stopsUpTo);
    const member = this.#find(caller);
    this.#remove((each) => each === member);
  }

  async change(change: RecordChange): Promise<ChangeResult | Out> {
    if (this.#find(change) === undefined) return this.#out();
    const isMade = change.revision === this.#revision;
    if (isMade) {
      this.#advance();
      this.text = change.text;
      this.#admits = change.admits;
      if (change.admits === ADMITS_ALL) this.#left.clear();
      this.#setLimit(change.limitMs);
      this.#hint();
    }
    return { isMade, view: this.#view(!isMade) };
  }

  async stopAll(caller: Incarnation): Promise<ClusterView | Out> {
    if (this.#find(caller) === undefined) return this.#out();
    this.#stop(this.#lastJoin);
    return this.#view(false);
  }

  onHint(listener: () => void): void {
    this.#listeners.push(listener);
  }

  onMoved(listener: () => void): void {
    this.#moveListeners.push(listener);
  }

  /** Moves the store to another server, to which the next steps are sent. */
  move(): void {
    this.server++;
    for (const listener of this.#moveListeners) listener();
  }

  /** Returns the state of a replica that does not receive the following steps. */
  copy(): MemoryMembershipStore {
    const copy = new MemoryMembershipStore(this.#time);
    copy.become(this);
    return copy;
  }

  become(other: MemoryMembershipStore): void {
    this.#revision = other.#revision;
    this.#version = other.#version;
    this.text = other.text;
    this.#admits = other.#admits;
    this.#limit = other.#limit && { ...other.#limit };
    this.#members = other.#members.map((each) => ({ ...each }));
    this.#replaced = other.#replaced.map((each) => ({ ...each }));
    this.#left = new Set(other.#left);
    this.#lastJoin = other.#lastJoin;
    this.#stopsUpTo = other.#stopsUpTo;
    this.#heartbeatMs = other.#heartbeatMs;
  }

  /**
   * Shifts the leases and the limit by a gap without heartbeats, and removes the members whose
   * lease has ended.
   */
  #pass(caller: Lease | undefined): void {
    const now = this.#time();
    const gap = now - this.#heartbeatMs;
    const shift = gap > GAP_MS ? gap - HEARTBEAT_MS : Math.min(gap, 0);
    this.#heartbeatMs = now;
    const isMoved = this.server !== this.#server;
    this.#server = this.server;
    for (const member of [...this.#members, ...this.#replaced]) {
      member.endMs += shift;
      if (isMoved) member.endMs = Math.max(member.endMs, now + member.leaseMs);
      member.seenMs += Math.min(0, shift);
    }
    if (this.#limit !== undefined) this.#limit.endMs += shift;
    const isOver = (each: Lease) => each !== caller && each.endMs <= now;
    this.#remove(isOver);
    const replacedCount = this.#replaced.length;
    this.#replaced = this.#replaced.filter((each) => !isOver(each));
    if (this.#replaced.length < replacedCount) this.#hint();
  }

  #replace(address: string): void {
    const isSilent = (each: Lease) =>
      each.address === address && this.#time() - each.seenMs >= REPLACED_MS;
    this.#replaced.push(...this.#members.filter(isSilent));
    this.#remove(isSilent);
  }

  #freePlace(): number | undefined {
    const taken = new Set([...this.#members, ...this.#replaced].map(({ place }) => place));
    const places = Array.from({ length: PLACES }, (_, at) => (this.#lastJoin + 1 + at) % PLACES);
    return places.find((place) => !taken.has(place));
  }

  #stop(upTo: number): void {
    if (upTo <= this.#stopsUpTo) return;
    this.#stopsUpTo = upTo;
    this.#lastJoin = Math.max(this.#lastJoin, upTo);
    this.#hint();
  }

  #remove(isGone: (member: Lease) => boolean): void {
    const gone = this.#members.filter(isGone);
    if (gone.length === 0) return;
    this.#members = this.#members.filter((each) => !isGone(each));
    if (this.#admits !== ADMITS_ALL) for (const { address } of gone) this.#left.add(address);
    this.#hint();
  }

  #obstacle(address: string, version: string, place: number | undefined): JoinObstacle | undefined {
    if (this.#members.some(({ joinNumber }) => joinNumber <= this.#stopsUpTo)) return 'STOPPING';
    if (this.#members.length > 0) {
      if (version !== this.#version) return 'VERSION';
      if (this.#members.some((each) => each.address === address)) return 'ADDRESS';
      if (this.#admits !== ADMITS_ALL && !this.#left.has(address)) return 'STATE';
    }
    return place === undefined || this.formerCount >= FORMER_MAX ? 'FULL' : undefined;
  }

  #advance(): void {
    this.#revision = Math.max(this.#revision + 1, this.#time());
  }

  #setLimit(limitMs: number): void {
    if (limitMs === SAME_LIMIT) return;
    const endMs = this.#time() + limitMs;
    this.#limit = limitMs > 0 ? { begun: this.#revision, endMs } : undefined;
  }

  #find({ uuid, joinNumber }: Incarnation): Lease | undefined {
    return this.#members.find((each) => each.uuid === uuid && each.joinNumber === joinNumber);
  }

  #view(hasText: boolean): ClusterView {
    const nowMs = this.#time();
    const limit = this.#limit;
    const view: ClusterView = {
      nowMs,
      revision: this.#revision,
      version: this.#version,
      text: hasText ? this.text : null,
      limit: limit === undefined ? null : { begun: limit.begun, leftMs: limit.endMs - nowMs },
      stopsUpTo: this.#stopsUpTo,
      members: this.#members.map(({ endMs: _, leaseMs, seenMs, place, ...member }) => member),
      replacedCount: this.#replaced.length,
    };
    // A real store sends its results as text.
    return JSON.parse(JSON.stringify(view)) as ClusterView;
  }

  #out(): Out {
    return { out: true, stopsUpTo: this.#stopsUpTo };
  }

  #hint(): void {
    for (const listener of this.#listeners) listener();
  }
}
