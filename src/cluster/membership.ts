/**
 * The membership of this member: joins, beats each BEAT_MS, joins again once it is out, leaves.
 *
 * The lease is judged by the member's own clock, which never goes back, from before a beat was sent: and
 * for GAP_MS less: so it ends before the store's, also where the store's clock was put forward by a time
 * too short to be noticed. A member that slept past it has no lease until a beat succeeds, and
 * the others need not wait for a word of it. The clock must run on while the process is stopped. A store
 * that refuses all steps removes nobody: while it does, the lease lasts, as others' leases do once it takes
 * beats again.
 *
 * All steps go to the store in the order of the calls and are answered in it, so the last view is the
 * newest. A join after another life begins when all changes of that life are answered.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { GridError, reasonOf } from '../base/errors.ts';
import {
  BEAT_MS,
  type ClusterView,
  GAP_MS,
  type Join,
  type Joined,
  type JoinObstacle,
  type MemberStore,
  type NotJoined,
  type Out,
  PLACES,
  type RecordChange,
} from './member-store.ts';

/** A reason why the member is not in yet is told again after this time. */
const TELL_AGAIN_MS = 10_000;
/** A member that no beat of this age or younger succeeded for is out of touch. */
const TOUCH_MS = 3 * BEAT_MS;

/** The engine's changes of data. */
export interface ChangeWork {
  /**
   * Resolves when every change that began before the call is answered, or has surely ended; within a
   * bounded time. Never rejects.
   */
  changesAnswered(): Promise<void>;
  /**
   * Resolves once no change will take effect that another process than these began before. Rejects where
   * that is not known; it may be called again.
   */
  endChangesOfOthers(uuids: ReadonlySet<string>): Promise<void>;
}

/** What the engine asks of the membership. */
export interface MemberLife {
  /** Of the member's process. */
  readonly uuid: string;
  /** The number of the present join, 0 while out: with the uuid, what polled items are held under. */
  readonly joinNumber: number;
  /** Whether the other members wait for this one; without it, no change may be sent to the store. */
  readonly hasLease: boolean;
}

/** Called when the membership has something to tell; for the log. */
export interface MembershipEvents {
  onJoined(joinNumber: number, memberCount: number): void;
  /** The member is not in, for this reason; again each 10 s. */
  onWaiting(reason: string): void;
  /** The member was silent for too long. It joins again. */
  onOut(): void;
  /** The store does not answer: the first failure of several. */
  onAway(error: unknown): void;
  onBack(): void;
}

/** Where the membership reports to. */
interface MembershipListener {
  /** `text`: of the record, where the member did not have it. Throws where it cannot be read. */
  onView(view: ClusterView, text: string | undefined): void;
  /** The members of the cluster are to stop. Called once. */
  onStop(): void;
}

interface MembershipOptions {
  readonly store: MemberStore;
  readonly clock: Clock;
  readonly work: ChangeWork;
  readonly events: MembershipEvents;
  readonly listener: MembershipListener;
  readonly uuid: string;
}

/** A change of the record; the member is added. */
export type OwnChange = Omit<RecordChange, 'uuid' | 'joinNumber'>;

export class Membership {
  readonly #options: MembershipOptions;
  #self: Omit<Join, 'uuid'> | undefined;
  /** Confirmed with the next beat: see StoredMember. */
  confirmed = 0;
  /** The revision of the record that the member knows. */
  #known = 0;
  #joinNumber = 0;
  /** The number of the last join; 0 before the first. */
  #lastNumber = 0;
  #leaseEndMs = 0;
  #touchedMs = 0;
  /** When the store has refused a beat last. */
  #refusedMs = Number.NEGATIVE_INFINITY;
  /** How often the store has moved to another server. */
  #moveCount = 0;
  /** The highest that the store has told. */
  #stopsUpTo = 0;
  #isAway = false;
  #toldMs = Number.NEGATIVE_INFINITY;
  #isEnded = false;
  #isStopTold = false;
  #timer: Timer | undefined;
  #isRunning = false;
  /** Settles with the steps under way. */
  #running: Promise<void> | undefined;
  #isDueAgain = false;
  #onStarted: (() => void) | undefined;
  #onRefused: ((error: GridError) => void) | undefined;

  constructor(options: MembershipOptions) {
    this.#options = options;
    options.store.onHint(() => this.beatSoon());
    options.store.onMoved(() => this.#onMoved());
  }

  /** Of the present life; 0 while the member is not in. */
  get joinNumber(): number {
    return this.#joinNumber;
  }

  /** Whether the member is in for certain: the others wait for it. */
  get hasLease(): boolean {
    return this.#options.clock.now() < this.#leaseEndMs;
  }

  /** Whether the last beat has succeeded, and not long ago. */
  get isInTouch(): boolean {
    if (this.#isAway || this.#joinNumber === 0) return false;
    return this.#options.clock.now() - this.#touchedMs <= TOUCH_MS;
  }

  /**
   * Resolves once the member is in. Rejects with GridError CLUSTER_VERSION where the cluster has another
   * version, and with that of the store where it cannot be used; every other obstacle or failure is tried
   * again.
   */
  start(self: Omit<Join, 'uuid'>): Promise<void> {
    this.#self = self;
    return new Promise((resolve, reject) => {
      this.#onStarted = resolve;
      this.#onRefused = reject;
      this.#run();
    });
  }

  /** Beats, or tries to join, now instead of at the next beat's time. */
  beatSoon(): void {
    if (this.#self !== undefined) this.#run();
  }

  /**
   * Resolves with whether the record had the revision. Rejects as the store does, and where the member
   * is not in.
   */
  async change(change: OwnChange): Promise<boolean> {
    const { uuid } = this.#options;
    const joinNumber = this.#joinNumber;
    if (joinNumber === 0) throw notIn();
    const answer = await this.#options.store.change({ ...change, uuid, joinNumber });
    if ('out' in answer) {
      this.#goOut(joinNumber, answer);
      throw notIn();
    }
    const { isMade, view } = answer;
    this.#take(joinNumber, view, isMade ? change.text : (view.text ?? undefined));
    return isMade;
  }

  /** Resolves once the store has it that all members are to stop. Rejects as `change` does. */
  async stopAll(): Promise<void> {
    const { uuid } = this.#options;
    const joinNumber = this.#joinNumber;
    if (joinNumber === 0) throw notIn();
    const answer = await this.#options.store.stopAll({ uuid, joinNumber });
    if ('out' in answer) {
      this.#goOut(joinNumber, answer);
      throw notIn();
    }
    this.#take(joinNumber, answer, undefined);
  }

  /**
   * The member is a member no more. The step is repeated until it succeeds or the member's lease has ended,
   * which puts it out, too. Rejects with the store's last error.
   */
  async leave(): Promise<void> {
    const { clock, store, uuid } = this.#options;
    this.#isEnded = true;
    this.#timer?.cancel();
    // A join that is under way would succeed after the leave.
    if (this.#joinNumber === 0) await this.#running;
    const joinNumber = this.#joinNumber;
    this.#joinNumber = this.#leaseEndMs = 0;
    if (joinNumber === 0) return;
    const { leaseMs } = this.#self as Join;
    for (;;) {
      try {
        return await store.leave({ uuid, joinNumber, stopsUpTo: this.#stopsUpTo });
      } catch (error) {
        if (clock.now() + BEAT_MS >= this.#touchedMs + leaseMs) throw error;
      }
      await new Promise<void>((resolve) => clock.after(BEAT_MS, resolve));
    }
  }

  /** What the former server has answered, or is to answer, gives no lease. */
  #onMoved(): void {
    this.#moveCount++;
    this.#leaseEndMs = 0;
    this.beatSoon();
  }

  #run(): void {
    if (this.#isEnded) return;
    this.#isDueAgain = true;
    // A hint may come during the call of a step.
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
      await (this.#joinNumber === 0 ? this.#join() : this.#beat());
    }
    this.#isRunning = false;
    if (this.#isEnded) return;
    const delayMs = Math.max(0, begunMs + BEAT_MS - clock.now());
    this.#timer = clock.after(delayMs, () => this.#run());
  }

  async #beat(): Promise<void> {
    const { clock, store, uuid, events } = this.#options;
    const joinNumber = this.#joinNumber;
    const { leaseMs } = this.#self as Join;
    const [sentMs, known, confirmed] = [clock.now(), this.#known, this.confirmed];
    const [stopsUpTo, moveCount] = [this.#stopsUpTo, this.#moveCount];
    try {
      const beat = { uuid, joinNumber, stopsUpTo, leaseMs, known, confirmed };
      const answer = await store.beat(beat);
      if ('out' in answer) return this.#goOut(joinNumber, answer);
      if (!('refused' in answer)) this.#take(joinNumber, answer, answer.text ?? undefined);
      if (this.#joinNumber !== joinNumber || this.#moveCount !== moveCount) return;
      if ('refused' in answer) this.#extend(sentMs);
      else this.#touch(sentMs, sentMs + leaseMs - GAP_MS);
    } catch (error) {
      if (!this.#isAway) events.onAway(error);
      this.#isAway = true;
    }
  }

  /**
   * The store refuses all steps, so its leases will end later by the time between two beats refused. A longer
   * time is not known to be all of that kind.
   */
  #extend(sentMs: number): void {
    const refusedMs = sentMs - this.#refusedMs;
    this.#refusedMs = sentMs;
    this.#touch(sentMs, this.#leaseEndMs + (refusedMs <= GAP_MS ? refusedMs : 0));
  }

  #touch(sentMs: number, leaseEndMs: number): void {
    this.#leaseEndMs = leaseEndMs;
    this.#touchedMs = sentMs;
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#options.events.onBack();
  }

  async #join(): Promise<void> {
    if (this.#isStopTold) return;
    const { clock, store, uuid, work } = this.#options;
    const self = this.#self as Join;
    try {
      if (this.#lastNumber !== 0) await work.changesAnswered();
      if (this.#isEnded) return;
      const sentMs = clock.now();
      const answer = await store.join({ ...self, uuid });
      if ('obstacle' in answer) return this.#tellObstacle(answer);
      this.#enter(answer, sentMs, self.leaseMs);
    } catch (error) {
      this.#joinNumber = 0;
      if (error instanceof GridError && this.#lastNumber === 0) this.#refuseStart(error);
      else this.#tellWaiting(reasonOf(error));
    }
  }

  #enter(answer: Joined, sentMs: number, leaseMs: number): void {
    const { joinNumber, view } = answer;
    this.#joinNumber = joinNumber;
    if (this.#isEnded) return;
    this.confirmed = view.revision;
    this.#take(joinNumber, view, view.text ?? undefined);
    this.#lastNumber = joinNumber;
    this.#isAway = false;
    this.#touch(sentMs, sentMs + leaseMs - GAP_MS);
    this.#toldMs = Number.NEGATIVE_INFINITY;
    this.#options.events.onJoined(joinNumber, view.members.length);
    this.#onStarted?.();
  }

  #take(joinNumber: number, view: ClusterView, text: string | undefined): void {
    // The answer may be one to an earlier life.
    if (joinNumber !== this.#joinNumber || this.#isEnded) return;
    if (text === undefined && view.revision !== this.#known) return this.#run();
    // A failover has undone changes: what was confirmed meant another record.
    if (view.revision < this.confirmed) this.confirmed = 0;
    this.#options.listener.onView(view, text);
    this.#known = view.revision;
    this.#stopsUpTo = Math.max(this.#stopsUpTo, view.stopsUpTo);
    if (view.stopsUpTo >= joinNumber) this.#tellStop();
  }

  #goOut(joinNumber: number, { stopsUpTo }: Out): void {
    if (joinNumber !== this.#joinNumber || this.#isEnded) return;
    this.#joinNumber = this.#leaseEndMs = 0;
    this.#stopsUpTo = Math.max(this.#stopsUpTo, stopsUpTo);
    if (stopsUpTo >= joinNumber) return this.#tellStop();
    this.#options.events.onOut();
    this.#run();
  }

  #tellStop(): void {
    if (this.#isStopTold) return;
    this.#isStopTold = true;
    this.#options.listener.onStop();
  }

  #tellObstacle({ obstacle, version, stopsUpTo }: NotJoined): void {
    if (this.#lastNumber !== 0 && stopsUpTo >= this.#lastNumber) return this.#tellStop();
    const { address, memberVersion } = this.#self as Join;
    if (obstacle === 'VERSION') {
      const error = new GridError('CLUSTER_VERSION', { version, memberVersion });
      if (this.#lastNumber !== 0) return this.#tellWaiting(error.message);
      return this.#refuseStart(error);
    }
    const reasons: Readonly<Record<Exclude<JoinObstacle, 'VERSION'>, string>> = {
      STOPPING: 'its members are to stop, and not all have',
      ADDRESS: `another member has the address ${address}`,
      STATE: `its state admits only members that left, and none with the address ${address} did`,
      FULL: `it has ${PLACES} members, or items of as many former members are still to be returned`,
    };
    this.#tellWaiting(reasons[obstacle]);
  }

  #refuseStart(error: GridError): void {
    this.#isEnded = true;
    this.#onRefused?.(error);
  }

  #tellWaiting(reason: string): void {
    const now = this.#options.clock.now();
    if (now - this.#toldMs < TELL_AGAIN_MS) return;
    this.#toldMs = now;
    this.#options.events.onWaiting(reason);
  }
}

function notIn(): Error {
  return new Error('this member is not in the cluster now');
}
