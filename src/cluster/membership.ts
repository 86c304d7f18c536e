/**
 * The membership of this member: joins, sends a heartbeat every HEARTBEAT_MS, rejoins after it was
 * removed, and leaves.
 *
 * The lease is measured on the member's monotonic clock, from before the heartbeat was sent, minus
 * GAP_MS. So it ends before the store's lease, even if the store's clock was set forward by too
 * little to be noticed. A member that was suspended beyond its lease has none until a heartbeat
 * succeeds, and the others need not wait for it. The clock must continue to run while the process
 * is stopped. A store that refuses all steps removes no member: while it does, the lease is as long
 * as the store would find it once it accepts heartbeats again.
 *
 * All steps are sent to the store, and completed, in the order of the calls, so the last view is
 * the newest. A rejoin begins when all changes of the previous life have completed.
 * Tested by shared-cluster.spec.ts.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { GridError, reasonOf } from '../base/errors.ts';
import {
  type ClusterView,
  GAP_MS,
  HEARTBEAT_MS,
  type Incarnation,
  type Join,
  type Joined,
  type JoinObstacle,
  type MembershipStore,
  type NotJoined,
  type Out,
  PLACES,
  type RecordChange,
} from './membership-store.ts';

/** Interval between two reports of a reason why the member cannot join, in ms. */
const REPORT_INTERVAL_MS = 10_000;
/** Age of the last successful heartbeat above which the member is out of touch, in ms. */
const IN_TOUCH_MS = 3 * HEARTBEAT_MS;

/** The engine's changes of data. */
export interface ChangeWork {
  /**
   * Resolves when every change that began before the call has its result, or has certainly ended;
   * within a bounded time. Never rejects.
   */
  changesAnswered(): Promise<void>;
  /**
   * Resolves once no change begun by a process other than these will take effect. Rejects if that
   * is uncertain; it may be called again.
   */
  endChangesOfOthers(uuids: ReadonlySet<string>): Promise<void>;
}

/** The part of the membership that the engine uses. */
export interface MemberLife {
  /** UUID of the member's process. */
  readonly uuid: string;
  /**
   * The number of the current join, 0 while the member is out. Polled items are held under it and
   * the uuid.
   */
  readonly joinNumber: number;
  /**
   * Whether the other members wait for this one; without it, no change may be sent to the store.
   */
  readonly hasLease: boolean;
}

/** Receives the events of the membership, for the log. */
export interface MembershipEvents {
  onJoined(joinNumber: number, memberCount: number): void;
  /** The member has not joined, for this reason; called again every 10 s. */
  onWaiting(reason: string): void;
  /** The member was silent for too long and was removed. It rejoins. */
  onOut(): void;
  /** The store does not respond; called for the first failure in a row. */
  onUnreachable(error: unknown): void;
  onReachable(): void;
  /** The store has not recorded the leave of this member. */
  onNotRemoved(error: unknown): void;
}

/** Receives the results of the membership's steps. */
interface MembershipListener {
  /**
   * `text` is the record's, or undefined if the member had it. Throws if the text cannot be parsed.
   */
  onView(view: ClusterView, text: string | undefined): void;
  /** The members of the cluster must stop. Called once. */
  onStop(): void;
}

export interface MembershipOptions {
  readonly store: MembershipStore;
  readonly clock: Clock;
  readonly work: ChangeWork;
  readonly events: MembershipEvents;
  readonly listener: MembershipListener;
  readonly uuid: string;
  readonly commonConfig: CommonConfig;
}

/** The settings that all members of a cluster must have in common. */
export interface CommonConfig {
  /** The settings; '' for none. Members with the same settings have the same text. */
  readonly text: string;
  /** Returns the error of a member that cannot join because the cluster's settings are `other`. */
  differenceFrom(other: string): GridError;
}

/** A change of the record; Membership adds the member. */
export type OwnChange = Omit<RecordChange, 'uuid' | 'joinNumber'>;

export class Membership {
  readonly #options: MembershipOptions;
  #self: Omit<Join, 'uuid' | 'config'> | undefined;
  /** The revisions that the next heartbeat reports: see StoredMember. */
  confirmed = 0;
  applied = 0;
  /** The revision of the record that the member has. */
  #known = 0;
  #joinNumber = 0;
  /** The number of the last join; 0 before the first. */
  #lastNumber = 0;
  #leaseEndMs = 0;
  #touchedMs = 0;
  /** Number of times that the store has moved to another server. */
  #moveCount = 0;
  /** The highest `stopsUpTo` that the store has reported. */
  #stopsUpTo = 0;
  #isUnreachable = false;
  #reportedMs = Number.NEGATIVE_INFINITY;
  #isEnded = false;
  #isStopReported = false;
  #timer: Timer | undefined;
  #isRunning = false;
  /** Settles with the steps under way. */
  #running: Promise<void> | undefined;
  #isDueAgain = false;
  #onStarted: (() => void) | undefined;
  #onRefused: ((error: GridError) => void) | undefined;

  constructor(options: MembershipOptions) {
    this.#options = options;
    options.store.onHint(() => this.heartbeatSoon());
    options.store.onMoved(() => this.#onMoved());
  }

  /** Number of the current join; 0 while the member is not in the cluster. */
  get joinNumber(): number {
    return this.#joinNumber;
  }

  /** Whether the member certainly is in the cluster: the others wait for it. */
  get hasLease(): boolean {
    return this.#options.clock.now() < this.#leaseEndMs;
  }

  /** Whether it was so when this turn began. */
  get hadLease(): boolean {
    return this.#options.clock.turn() < this.#leaseEndMs;
  }

  /** Whether the last heartbeat succeeded, at most IN_TOUCH_MS ago. */
  get isInTouch(): boolean {
    if (this.#isUnreachable || this.#joinNumber === 0) return false;
    return this.#options.clock.now() - this.#touchedMs <= IN_TOUCH_MS;
  }

  /**
   * Resolves once the member has joined. Rejects with GridError CLUSTER_VERSION if the cluster has
   * another version, with that of CommonConfig if its members have other settings, and with the
   * store's GridError if the store cannot be used; after every other
   * obstacle or failure it tries again.
   */
  start(self: Omit<Join, 'uuid' | 'config'>): Promise<void> {
    this.#self = self;
    return new Promise((resolve, reject) => {
      this.#onStarted = resolve;
      this.#onRefused = reject;
      this.#run();
    });
  }

  /** Sends a heartbeat, or tries to join, now instead of at the time of the next heartbeat. */
  heartbeatSoon(): void {
    if (this.#self !== undefined) this.#run();
  }

  /**
   * Changes the record. Resolves with whether the record had the revision. Rejects as the store
   * does, and if the member is not in the cluster.
   */
  async change(change: OwnChange): Promise<boolean> {
    const { store } = this.#options;
    const [{ isMade, view }, joinNumber] = await this.#step((own) =>
      store.change({ ...change, ...own }),
    );
    this.#applyView(joinNumber, view, isMade ? change.text : (view.text ?? undefined));
    return isMade;
  }

  /** Resolves once the store has recorded that all members must stop. Rejects as `change` does. */
  async stopAll(): Promise<void> {
    const [view, joinNumber] = await this.#step((own) => this.#options.store.stopAll(own));
    this.#applyView(joinNumber, view, undefined);
  }

  /** Makes a step of a member of the cluster. Resolves with its result and the number of the join. */
  async #step<Result extends object>(
    make: (own: Incarnation) => Promise<Result | Out>,
  ): Promise<readonly [Result, number]> {
    const { uuid } = this.#options;
    const joinNumber = this.#joinNumber;
    if (joinNumber === 0) throw notIn();
    const result = await make({ uuid, joinNumber });
    if (!('out' in result)) return [result, joinNumber];
    this.#handleOut(joinNumber, result);
    throw notIn();
  }

  /**
   * Leaves the cluster. The step is repeated until it succeeds or the member's lease has ended,
   * which also removes the member. Rejects with the store's last error.
   */
  async leave(): Promise<void> {
    const { clock, store, uuid } = this.#options;
    this.#isEnded = true;
    this.#timer?.cancel();
    // A join that is in progress would succeed after the leave.
    if (this.#joinNumber === 0) await this.#running;
    const joinNumber = this.#joinNumber;
    this.#joinNumber = this.#leaseEndMs = 0;
    if (joinNumber === 0) return;
    const { leaseMs } = this.#self as Join;
    for (;;) {
      try {
        return await store.leave({ uuid, joinNumber, stopsUpTo: this.#stopsUpTo });
      } catch (error) {
        if (clock.now() + HEARTBEAT_MS >= this.#touchedMs + leaseMs) throw error;
      }
      await new Promise<void>((resolve) => clock.after(HEARTBEAT_MS, resolve));
    }
  }

  /** Drops the lease: replies of the former server, past or pending, grant none. */
  #onMoved(): void {
    this.#moveCount++;
    this.#leaseEndMs = 0;
    this.heartbeatSoon();
  }

  #run(): void {
    if (this.#isEnded) return;
    this.#isDueAgain = true;
    // A hint may arrive while a step is running.
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#running = this.#runSteps();
  }

  async #runSteps(): Promise<void> {
    const { clock } = this.#options;
    this.#timer?.cancel();
    let begunMs = clock.now();
    while (this.#isDueAgain && !this.#isEnded) {
      this.#isDueAgain = false;
      begunMs = clock.now();
      await (this.#joinNumber === 0 ? this.#join() : this.#heartbeat());
    }
    this.#isRunning = false;
    if (this.#isEnded) return;
    const delayMs = Math.max(0, begunMs + HEARTBEAT_MS - clock.now());
    this.#timer = clock.after(delayMs, () => this.#run());
  }

  async #heartbeat(): Promise<void> {
    const { clock, store, uuid, events } = this.#options;
    const joinNumber = this.#joinNumber;
    const { leaseMs } = this.#self as Join;
    const sentMs = clock.now();
    const known = this.#known;
    const stopsUpTo = this.#stopsUpTo;
    const moveCount = this.#moveCount;
    const { confirmed, applied } = this;
    try {
      const revisions = { known, confirmed, applied };
      const result = await store.heartbeat({ uuid, joinNumber, stopsUpTo, leaseMs, ...revisions });
      if ('out' in result) return this.#handleOut(joinNumber, result);
      const { view, leftMs } = 'leftMs' in result ? result : { view: result, leftMs: leaseMs };
      this.#applyView(joinNumber, view, view.text ?? undefined);
      if (this.#joinNumber !== joinNumber || this.#moveCount !== moveCount) return;
      this.#touch(sentMs, sentMs + leftMs - GAP_MS);
    } catch (error) {
      if (!this.#isUnreachable) events.onUnreachable(error);
      this.#isUnreachable = true;
    }
  }

  #touch(sentMs: number, leaseEndMs: number): void {
    this.#leaseEndMs = leaseEndMs;
    this.#touchedMs = sentMs;
    if (!this.#isUnreachable) return;
    this.#isUnreachable = false;
    this.#options.events.onReachable();
  }

  async #join(): Promise<void> {
    if (this.#isStopReported) return;
    const { clock, store, uuid, work, commonConfig } = this.#options;
    const self = this.#self as Join;
    try {
      if (this.#lastNumber !== 0) await work.changesAnswered();
      if (this.#isEnded) return;
      const sentMs = clock.now();
      const result = await store.join({ ...self, uuid, config: commonConfig.text });
      if ('obstacle' in result) return this.#handleObstacle(result);
      this.#enter(result, sentMs, self.leaseMs);
    } catch (error) {
      this.#joinNumber = 0;
      if (error instanceof GridError && this.#lastNumber === 0) this.#refuseStart(error);
      else this.#reportWaiting(reasonOf(error));
    }
  }

  #enter(result: Joined, sentMs: number, leaseMs: number): void {
    const { joinNumber, view } = result;
    this.#joinNumber = joinNumber;
    if (this.#isEnded) return;
    this.confirmed = this.applied = view.revision;
    this.#applyView(joinNumber, view, view.text ?? undefined);
    this.#lastNumber = joinNumber;
    this.#isUnreachable = false;
    this.#touch(sentMs, sentMs + leaseMs - GAP_MS);
    this.#reportedMs = Number.NEGATIVE_INFINITY;
    this.#options.events.onJoined(joinNumber, view.members.length);
    this.#onStarted?.();
  }

  #applyView(joinNumber: number, view: ClusterView, text: string | undefined): void {
    // The result may belong to an earlier life.
    if (joinNumber !== this.#joinNumber || this.#isEnded) return;
    if (text === undefined && view.revision !== this.#known) return this.#run();
    // A failover has undone changes: the reported revisions belonged to another record.
    if (view.revision < this.confirmed) this.confirmed = 0;
    if (view.revision < this.applied) this.applied = 0;
    this.#options.listener.onView(view, text);
    this.#known = view.revision;
    this.#stopsUpTo = Math.max(this.#stopsUpTo, view.stopsUpTo);
    if (view.stopsUpTo >= joinNumber) this.#reportStop();
  }

  #handleOut(joinNumber: number, { stopsUpTo }: Out): void {
    if (joinNumber !== this.#joinNumber || this.#isEnded) return;
    this.#joinNumber = this.#leaseEndMs = 0;
    this.#stopsUpTo = Math.max(this.#stopsUpTo, stopsUpTo);
    if (stopsUpTo >= joinNumber) return this.#reportStop();
    this.#options.events.onOut();
    this.#run();
  }

  #reportStop(): void {
    if (this.#isStopReported) return;
    this.#isStopReported = true;
    this.#options.listener.onStop();
  }

  #handleObstacle({ obstacle, version, stopsUpTo, config = '' }: NotJoined): void {
    if (this.#lastNumber !== 0 && stopsUpTo >= this.#lastNumber) return this.#reportStop();
    const { address, memberVersion } = this.#self as Join;
    if (obstacle === 'VERSION' || obstacle === 'CONFIG') {
      const error =
        obstacle === 'VERSION'
          ? new GridError('CLUSTER_VERSION', { version, memberVersion })
          : this.#options.commonConfig.differenceFrom(config);
      if (this.#lastNumber !== 0) return this.#reportWaiting(error.message);
      return this.#refuseStart(error);
    }
    const reasons: Readonly<Record<Exclude<JoinObstacle, 'VERSION' | 'CONFIG'>, string>> = {
      STOPPING: 'its members are shutting down, and some have not stopped yet',
      ADDRESS: `another member has the address ${address}`,
      STATE: `its state admits only members that left, and no member with the address ${address} did`,
      FULL: `it has ${PLACES} members, or the items of as many former members are not returned yet`,
    };
    this.#reportWaiting(reasons[obstacle]);
  }

  #refuseStart(error: GridError): void {
    this.#isEnded = true;
    this.#onRefused?.(error);
  }

  #reportWaiting(reason: string): void {
    const now = this.#options.clock.now();
    if (now - this.#reportedMs < REPORT_INTERVAL_MS) return;
    this.#reportedMs = now;
    this.#options.events.onWaiting(reason);
  }
}

function notIn(): Error {
  return new Error('this member is currently not in the cluster');
}
