/** The CP subsystem of a member, as its part. Tested by cp-actions.spec.ts. */
import type { Clock, Timer } from '../base/clock.ts';
import { type Figures, gauge } from '../base/figures.ts';
import type { Part } from '../base/part.ts';
import type { Engine } from '../engine/engine.ts';
import { type CpGroup, CpGroups } from './cp-groups.ts';
import type { CpMembers } from './cp-members.ts';
import type { CpConfig } from './cp-settings.ts';
import { CpState } from './cp-state.ts';
import { CpStore } from './cp-store.ts';
import { LockWaits } from './lock-wait.ts';

/** Interval at which entries of ended sessions and removed groups are removed, in ms. */
const SWEEP_MS = 60_000;

const METRICS = {
  groups: gauge('gridnode_cp_groups', 'Groups of the CP subsystem, at its last use'),
  sessions: gauge('gridnode_cp_sessions', 'CP sessions that this member has heard of'),
  waiting: gauge('gridnode_cp_waiting_locks', 'Requests that wait for a lock'),
};

interface CpParts {
  readonly engine: Engine;
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
  readonly #endsMs = new Map<string, number>();
  #timer: Timer | undefined;
  #isClosed = false;

  constructor({ engine, clock, members, config }: CpParts) {
    const store = new CpStore(engine, clock);
    this.groups = new CpGroups(store);
    this.state = new CpState(store, {
      sessionTimeToLiveSeconds: config.cpSessionSeconds,
      wall: () => clock.wall(),
    });
    this.waits = new LockWaits(this.state, clock);
    this.members = members;
    this.#clock = clock;
    this.#sessionMs = config.cpSessionSeconds * 1000;
  }

  /** Begins to remove entries of ended sessions and removed groups from time to time. */
  async enter(): Promise<void> {
    this.#timer = this.#clock.after(SWEEP_MS, () => void this.#sweepAndRepeat());
  }

  figures(to: Figures): void {
    to.add(METRICS.groups, this.groups.count);
    to.add(METRICS.sessions, this.sessionCount);
    to.add(METRICS.waiting, this.waits.count);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  /** Number of sessions that this member has opened or renewed, and that have not ended. */
  get sessionCount(): number {
    const nowMs = this.#clock.now();
    for (const [key, endMs] of this.#endsMs) if (endMs <= nowMs) this.#endsMs.delete(key);
    return this.#endsMs.size;
  }

  /** Called when a session has been opened or renewed by this member. */
  onSession(group: CpGroup, id: number): void {
    this.#endsMs.set(`${group.id}/${id}`, this.#clock.now() + this.#sessionMs);
  }

  /** Called when a session has been closed by this member: its locks are free. */
  onSessionClosed(group: CpGroup, id: number): void {
    this.#endsMs.delete(`${group.id}/${id}`);
    this.waits.onChange();
  }

  /** Removes the entries of ended sessions and of removed groups, in steps. */
  async sweep(): Promise<void> {
    try {
      if (this.members.isMaster()) await this.state.sweep(await this.groups.all());
    } catch {
      // The engine cannot do it now; it is tried again.
    }
  }

  async #sweepAndRepeat(): Promise<void> {
    if (this.groups.wasUsed) await this.sweep();
    if (!this.#isClosed) await this.enter();
  }
}
