/**
 * Members of one cluster in one process, on clocks that the test advances. Each has a separate
 * clock and a line to the store that can be slow or cut. A member can be stopped (SIGSTOP): its
 * clock continues, but none of its timers runs and no result reaches it until it is resumed. Each
 * changes data through a separate engine, which sends changes some time after they were admitted.
 */
import assert from 'node:assert/strict';
import { GridError, OutcomeUnknown } from '../../src/base/errors.ts';
import { SerialQueue } from '../../src/base/serial-queue.ts';
import type { CommonConfig } from '../../src/cluster/membership.ts';
import type {
  Heartbeat,
  Incarnation,
  Join,
  Leave,
  MembershipStore,
  RecordChange,
} from '../../src/cluster/membership-store.ts';
import { SharedCluster } from '../../src/cluster/shared-cluster.ts';
import type { FakeClock } from '../fake-clock.ts';
import { FakeMembershipStore } from '../world/fake-membership-store.ts';
import { MemberClock } from '../world/member-clock.ts';
import { World } from '../world/world.ts';

export const LEASE_MS = 10_000;

/** Returns settings that members must have in common. The error has both texts. */
export function commonConfig(text = ''): CommonConfig {
  return {
    text,
    differenceFrom: (other) => new GridError('ENGINE_UNUSABLE', { reason: `${other} or ${text}` }),
  };
}

export class ClusterWorld {
  readonly world: World;
  readonly store: FakeMembershipStore;
  readonly members: TestMember[] = [];
  /** Offset of the store's clock, in ms. */
  skewMs = 0;
  isStoreAway = false;
  /** Whether the store refuses all steps. */
  isStoreRefusing = false;

  constructor(seed?: number) {
    this.world = new World(seed);
    this.store = new FakeMembershipStore(() => this.time.wall() + this.skewMs);
  }

  get time(): FakeClock {
    return this.world.clock;
  }

  add(options: Partial<TestMemberOptions> = {}): TestMember {
    const address = `10.0.0.${this.members.length + 1}:5701`;
    const member = new TestMember(this, { address, memberVersion: '1.2.3', ...options });
    this.members.push(member);
    return member;
  }

  /** Adds a member that begins to start. */
  enter(options?: Partial<TestMemberOptions>): TestMember {
    const member = this.add(options);
    void member.start();
    return member;
  }

  /** Returns members that have joined, started one after another. */
  async started(count: number): Promise<TestMember[]> {
    const added = [];
    for (let at = 0; at < count; at++) {
      added.push(this.enter());
      await this.pass(100);
    }
    await this.pass(1100);
    return added;
  }

  /** Advances the time for all members. */
  pass(ms: number): Promise<void> {
    return this.world.pass(ms);
  }

  /** Whether the record of the cluster is PASSIVE, in which case no change may take effect. */
  get isPassive(): boolean {
    const { text } = this.store;
    const { state, transition } = text === '' ? {} : JSON.parse(text);
    return state === 'PASSIVE' && transition === undefined;
  }
}

interface TestMemberOptions {
  readonly address: string;
  readonly memberVersion: string;
  readonly isLite?: boolean;
  /** Settings that all members must have in common. */
  readonly common?: CommonConfig;
  /** Offset of its monotonic clock from that of the world, in ms. */
  readonly aheadMs?: number;
}

export class TestMember {
  readonly uuid: string;
  readonly address: string;
  readonly clock: MemberClock;
  readonly line: StoreLine;
  readonly engine: TestEngine;
  readonly cluster: SharedCluster;
  readonly reported: string[] = [];
  passiveCount = 0;
  stops: string[] = [];
  isDataSafe = true;
  /** Work between the join and the start. */
  prepare = async (): Promise<void> => {};

  constructor(world: ClusterWorld, options: TestMemberOptions) {
    const {
      address,
      memberVersion,
      isLite = false,
      aheadMs = 0,
      common = commonConfig(),
    } = options;
    this.uuid = `uuid-${world.members.length + 1}`;
    this.address = address;
    this.clock = new MemberClock(world.time, { aheadMs });
    this.line = new StoreLine(world, this.clock);
    this.engine = new TestEngine(world, this.clock, () => this.cluster);
    const { reported } = this;
    this.cluster = new SharedCluster({
      store: this.line,
      clock: this.clock,
      work: this.engine,
      uuid: this.uuid,
      memberVersion,
      isLite,
      commonConfig: common,
      leaseMs: LEASE_MS,
      events: {
        onJoined: (joinNumber, count) => reported.push(`joined ${joinNumber} of ${count}`),
        onWaiting: (reason) => reported.push(`waiting: ${reason}`),
        onOut: () => reported.push('out'),
        onUnreachable: () => reported.push('away'),
        onReachable: () => reported.push('back'),
        onNotRemoved: () => reported.push('not removed'),
      },
      isDataSafe: () => this.isDataSafe,
      onStop: (because) => this.stops.push(because),
    });
    this.cluster.onPassive = () => {
      this.passiveCount++;
    };
  }

  start(): Promise<void> {
    return this.cluster.start(this.address, () => this.prepare());
  }

  /** The addresses of the members in the view of this member. */
  get sees(): string[] {
    return this.cluster.members.map(({ address }) => address);
  }

  /** Stops the member like SIGSTOP. */
  stop(): void {
    this.clock.stop();
  }

  /** Resumes the member like SIGCONT. */
  resume(): void {
    this.clock.resume();
  }

  /** Ends the member like kill -9. */
  kill(): void {
    this.clock.end();
  }
}

/**
 * The line from a member to the store. Half of its delay is before the step, the other half after
 * it.
 */
class StoreLine implements MembershipStore {
  delayMs = 2;
  isCut = false;
  /** Number of results that will be lost although their steps take effect. */
  answersLost = 0;
  hasHints = true;
  readonly #world: ClusterWorld;
  readonly #clock: MemberClock;
  readonly #steps = new SerialQueue();

  constructor(world: ClusterWorld, clock: MemberClock) {
    this.#world = world;
    this.#clock = clock;
  }

  join(join: Join) {
    return this.#change((store) => store.join(join));
  }

  heartbeat(heartbeat: Heartbeat) {
    return this.#step((store) =>
      this.#world.isStoreRefusing ? store.refuse(heartbeat) : store.heartbeat(heartbeat),
    );
  }

  leave(member: Leave) {
    return this.#change((store) => store.leave(member));
  }

  change(change: RecordChange) {
    return this.#change((store) => store.change(change));
  }

  stopAll(member: Incarnation) {
    return this.#change((store) => store.stopAll(member));
  }

  onHint(listener: () => void): void {
    this.#world.store.onHint(() => {
      if (this.#isUnreachable || !this.hasHints) return;
      this.#world.time.after(this.delayMs / 2, () => this.#clock.whenRunning(listener));
    });
  }

  onMoved(listener: () => void): void {
    this.#world.store.onMoved(() => this.#clock.whenRunning(listener));
  }

  get #isUnreachable(): boolean {
    return this.isCut || this.#world.isStoreAway;
  }

  #change<Answer>(make: (store: FakeMembershipStore) => Promise<Answer>): Promise<Answer> {
    return this.#step((store) => {
      if (this.#world.isStoreRefusing) throw new Error('NOREPLICAS');
      return make(store);
    });
  }

  #step<Answer>(make: (store: FakeMembershipStore) => Promise<Answer>): Promise<Answer> {
    return this.#steps.run(async () => {
      await this.#world.world.sleep(this.delayMs / 2);
      if (this.#isUnreachable) throw new Error('the store does not answer');
      const answer = await make(this.#world.store);
      await this.#world.world.sleep(this.delayMs / 2);
      await new Promise<void>((resolve) => this.#clock.whenRunning(resolve));
      if (this.answersLost === 0 && !this.#isUnreachable) return answer;
      this.answersLost = Math.max(0, this.answersLost - 1);
      throw new OutcomeUnknown(new Error('the answer was lost'));
    });
  }
}

/** Admits changes, sends each later, and gets its result still later. */
class TestEngine {
  /** Time between the admission of a change and its sending, in ms. */
  sendDelayMs = 0;
  answerDelayMs = 10;
  /** For each end of other processes' connections: the processes whose connections remained. */
  readonly ended: string[][] = [];
  cannotEnd = false;
  /** Changes that took effect; then changes that were refused when they were to be sent. */
  madeCount = 0;
  refusedCount = 0;
  readonly #world: ClusterWorld;
  readonly #clock: MemberClock;
  readonly #cluster: () => SharedCluster;
  #underWay = new Set<Promise<void>>();

  constructor(world: ClusterWorld, clock: MemberClock, cluster: () => SharedCluster) {
    this.#world = world;
    this.#clock = clock;
    this.#cluster = cluster;
    clock.onResume.push(() => this.change());
  }

  async changesAnswered(): Promise<void> {
    await Promise.all([...this.#underWay]);
  }

  async endChangesOfOthers(uuids: ReadonlySet<string>): Promise<void> {
    this.ended.push([...uuids]);
    if (this.cannotEnd) throw new Error('a connection was lost');
  }

  /**
   * Returns whether the change was admitted. Fails if it takes effect while the cluster is PASSIVE.
   */
  change(): boolean {
    if (!this.#clock.isRunning || !this.#cluster().acceptsWrites) return false;
    const done = this.#send().finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
    return true;
  }

  async #send(): Promise<void> {
    await this.#passes(this.sendDelayMs);
    if (!this.#cluster().hasLease) {
      this.refusedCount++;
      return;
    }
    assert.ok(!this.#world.isPassive, 'a change took effect in a PASSIVE cluster');
    this.madeCount++;
    await this.#passes(this.answerDelayMs);
  }

  #passes(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.after(ms, resolve));
  }
}
