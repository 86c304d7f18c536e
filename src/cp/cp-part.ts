/** The CP subsystem of a member, as its part. Tested by cp-actions.spec.ts. */
import type { Clock, Timer } from '../base/clock.ts';
import { type Figures, gauge } from '../base/figures.ts';
import type { Part } from '../base/part.ts';
import { type CpGroup, CpGroups } from './cp-groups.ts';
import type { CpMembers } from './cp-members.ts';
import type { CpConfig } from './cp-settings.ts';
import { CpState } from './cp-state.ts';
import type { CpStore } from './cp-store.ts';
import { LockWaits } from './lock-wait.ts';
import { promised } from './steps.ts';

/** Interval at which entries of ended sessions and removed groups are removed, in ms. */
const SWEEP_MS = 60_000;

const METRICS = {
  groups: gauge('gridnode_cp_groups', 'Groups of the CP subsystem, at its last use'),
  sessions: gauge('gridnode_cp_sessions', 'CP sessions that this member has heard of'),
  waiting: gauge('gridnode_cp_waiting_locks', 'Requests that wait for a lock'),
};

interface CpParts {
  readonly store: CpStore;
  readonly clock: Clock;
  readonly members: CpMembers;
  readonly config: Pick<CpConfig, 'cpSessionSeconds'>;
}

export class Cp implements Part<unknown> {
  readonly groups: CpGroups;
  readonly state: CpState;
  readonly waits: LockWaits;
  readonly members: CpMembers;
  readonly #clock: Clock;
  readonly #sessionMs: number;
  /** By session: when it ends without a further heartbeat that this member sees. */
  readonly #endsMs = new Map<string, SessionEnd>();
  #timer: Timer | undefined;
  /** Whether a sweep is under way, and whether another one must follow. */
  #isSweeping = false;
  #mustSweepAgain = false;
  #isClosed = false;

  constructor({ store, clock, members, config }: CpParts) {
    this.groups = new CpGroups(store, members.isShared);
    this.state = new CpState(store, {
      // The engine of a single member is in its process.
      isUninterrupted: !members.isShared,
      sessionTimeToLiveSeconds: config.cpSessionSeconds,
      wall: () => clock.wall(),
    });
    this.waits = new LockWaits(this.state, clock);
    this.members = members;
    this.#clock = clock;
    this.#sessionMs = config.cpSessionSeconds * 1000;
  }

  /** Joins the subsystem, and begins to remove from time to time what has ended. */
  async enter(): Promise<void> {
    await this.members.join();
    this.#sweepLater();
  }

  figures(to: Figures): void {
    to.add(METRICS.groups, this.groups.count);
    to.add(METRICS.sessions, this.sessionCount);
    to.add(METRICS.waiting, this.waits.count);
  }

  get status(): { readonly groups: number; readonly sessions: number } {
    return { groups: this.groups.count, sessions: this.sessionCount };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.members.leave();
  }

  /** Number of sessions that this member has opened or renewed, and that have not ended. */
  get sessionCount(): number {
    this.#forgetSessions(() => false);
    return this.#endsMs.size;
  }

  /** Called when a session has been opened or renewed by this member. */
  onSession(group: CpGroup, id: number): void {
    const endMs = this.#clock.now() + this.#sessionMs;
    this.#endsMs.set(`${group.id}/${id}`, { groupId: group.id, endMs });
  }

  /** Called when a session has been closed by this member: its locks are free. */
  onSessionClosed(group: CpGroup, id: number): void {
    this.#endsMs.delete(`${group.id}/${id}`);
    this.waits.onChange();
  }

  /** Called when groups have been removed by this member: their sessions have ended. */
  onGroupsRemoved(): void {
    void this.#sweep();
  }

  #forgetSessions(isRemoved: (groupId: number) => boolean): void {
    const nowMs = this.#clock.now();
    for (const [key, { groupId, endMs }] of this.#endsMs) {
      if (endMs <= nowMs || isRemoved(groupId)) this.#endsMs.delete(key);
    }
  }

  /** Removes the entries of ended sessions and of removed groups, in steps. Never rejects. */
  async #sweep(): Promise<void> {
    this.#mustSweepAgain = true;
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    while (this.#mustSweepAgain && !this.#isClosed) {
      this.#mustSweepAgain = false;
      try {
        const isRemoved = await promised(this.groups.removed());
        this.#forgetSessions(isRemoved);
        if (this.groups.wereUsed) await this.state.sweep(isRemoved);
      } catch {
        // The engine cannot do it now; it is tried again.
      }
      this.waits.onChange();
    }
    this.#isSweeping = false;
  }

  #sweepLater(): void {
    this.#timer = this.#clock.after(SWEEP_MS, async () => {
      this.#forgetSessions(() => false);
      if (this.members.isMaster()) await this.#sweep();
      if (!this.#isClosed) this.#sweepLater();
    });
  }
}

/** When a session ends, in ms of the clock. */
interface SessionEnd {
  readonly groupId: number;
  readonly endMs: number;
}
