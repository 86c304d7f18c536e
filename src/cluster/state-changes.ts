/**
 * Changes of the cluster's state, in steps of the shared record, so that any member can complete
 * one:
 * 1. The initiator begins a transition in the record, with a limit by the store's clock. If several
 *    members initiate one at the same time, one succeeds.
 * 2. Each member that sees the transition follows it (see SharedCluster), and confirms its revision
 *    once the changes that began before have their results. A member that joins has no such changes,
 *    so its join confirms.
 * 3. A member that sees all confirmations ends the connections of former members, as changes sent
 *    by those may still be in transit; then it ends the transition as reached. A member that sees
 *    that the limit has passed also ends it, as not reached: the old state remains. If several
 *    members end it at the same time, one succeeds.
 * 4. The initiator has its result once all members have also confirmed the end or have been
 *    removed.
 * A member does not withdraw its confirmation while it is in the cluster, so "all" remains true. A
 * member that was removed has no lease, so it changes nothing. A replaced member may have a lease:
 * the end waits for its expiry.
 *
 * Tested by shared-cluster.spec.ts.
 */
import { randomUUID } from 'node:crypto';
import type { Clock, Timer } from '../base/clock.ts';
import { GridError, OutcomeUnknown, reasonOf } from '../base/errors.ts';
import type { SettledState } from './cluster.ts';
import type { ChangeWork, Membership } from './membership.ts';
import type { ClusterView, StoredMember } from './membership-store.ts';
import type { StoredRecord, Transition } from './stored-record.ts';

/** Time for all members to confirm, by the store's clock, in ms. */
export const TRANSITION_MS = 60_000;
/**
 * Additional time for a member to end the transition with a heartbeat, and for this one to see it,
 * in ms.
 */
const KNOWN_AFTER_MS = 15_000;

/** A changeState of this member that has no result yet. */
interface Waiting {
  readonly id: string;
  readonly to: SettledState;
  readonly timer: Timer;
  readonly resolve: () => void;
  readonly reject: (error: GridError) => void;
}

interface StateChangesOptions {
  readonly clock: Clock;
  readonly work: ChangeWork;
  readonly membership: Membership;
  readonly record: StoredRecord;
}

export class StateChanges {
  readonly #options: StateChangesOptions;
  /** Revision that began the transition that this member follows; 0 for none. */
  #confirming = 0;
  #isEnding = false;
  readonly #waiting = new Map<string, Waiting>();

  constructor(options: StateChangesOptions) {
    this.#options = options;
  }

  /** Changes the state; see Cluster.changeState. */
  async changeState(to: SettledState): Promise<void> {
    const { record } = this.#options;
    const id = randomUUID();
    for (let isBegun = false; !isBegun; ) {
      if (record.transition !== undefined) throw new GridError('STATE_CHANGING', { state: to });
      if (record.values.state === to) throw new GridError('STATE_UNCHANGED', { state: to });
      isBegun = await record.begin({ id, to }, TRANSITION_MS).catch((cause: unknown) => {
        throw notReached(to, reasonOf(cause), { cause });
      });
    }
    await this.#answered(id, to);
  }

  /** Acts on the record as of the view. Called after the record has been updated from it. */
  follow(view: ClusterView): void {
    const { transition } = this.#options.record;
    if (transition === undefined) {
      this.#confirming = 0;
      this.#confirm(view.revision);
    } else this.#followTransition(transition, view);
    void this.#reportApplied(view.revision);
    for (const each of this.#waiting.values()) this.#judge(each);
  }

  /** Rejects the pending changes: the member ends, so their outcome will not be known to it. */
  close(): void {
    for (const each of this.#waiting.values()) this.#reject(each, 'this member is shutting down');
  }

  #followTransition(transition: Transition, view: ClusterView): void {
    const { limit, members, replacedCount } = view;
    const begun = limit?.begun ?? 0;
    if (this.#confirming !== begun) {
      this.#confirming = begun;
      void this.#confirmAnswered(begun);
    }
    const isReached =
      limit !== null && replacedCount === 0 && members.every(({ confirmed }) => confirmed >= begun);
    const isOver = limit === null || limit.leftMs <= 0;
    if (isReached || isOver) void this.#end(transition, isReached, members);
  }

  async #confirmAnswered(begun: number): Promise<void> {
    await this.#options.work.changesAnswered();
    if (this.#confirming === begun) this.#confirm(begun);
  }

  #confirm(revision: number): void {
    const { membership } = this.#options;
    if (membership.confirmed >= revision) return;
    membership.confirmed = revision;
    membership.heartbeatSoon();
  }

  /** Reports the revision of the last view once the member acts on its values. */
  async #reportApplied(revision: number): Promise<void> {
    const { membership, record } = this.#options;
    const isApplied = await record.isApplied;
    if (!isApplied || membership.applied >= revision) return;
    membership.applied = revision;
    membership.heartbeatSoon();
  }

  async #end(
    transition: Transition,
    isReached: boolean,
    members: readonly StoredMember[],
  ): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const { work, record } = this.#options;
    try {
      if (isReached) await work.endChangesOfOthers(new Set(members.map(({ uuid }) => uuid)));
      if (record.transition?.id === transition.id) await record.end(transition, isReached);
    } catch {
      // The next view is handled in the same way.
    } finally {
      this.#isEnding = false;
    }
  }

  #answered(id: string, to: SettledState): Promise<void> {
    const { clock } = this.#options;
    return new Promise((resolve, reject) => {
      const timer = clock.after(TRANSITION_MS + KNOWN_AFTER_MS, () =>
        this.#reject(waiting, 'the store has not reported its outcome'),
      );
      const waiting: Waiting = { id, to, timer, resolve, reject };
      this.#waiting.set(id, waiting);
    });
  }

  #judge(waiting: Waiting): void {
    const { transition, ended } = this.#options.record;
    const { id, to } = waiting;
    if (transition?.id === id) return;
    if (ended?.id !== id)
      this.#reject(waiting, 'another change followed before its outcome was read');
    else if (ended.isReached) void this.#awaitAll(this.#settle(waiting));
    else {
      const reason = `not every member completed its earlier changes within ${TRANSITION_MS / 1000} s`;
      this.#settle(waiting).reject(notReached(to, reason));
    }
  }

  /**
   * A member that does not confirm the end within this time has been removed, or the store is
   * unreachable.
   */
  async #awaitAll({ resolve }: Waiting): Promise<void> {
    await this.#options.record.allConfirmed();
    resolve();
  }

  #reject(waiting: Waiting, reason: string): void {
    const cause = new OutcomeUnknown(new Error(reason));
    this.#settle(waiting).reject(notReached(waiting.to, reason, { cause }));
  }

  #settle(waiting: Waiting): Waiting {
    waiting.timer.cancel();
    this.#waiting.delete(waiting.id);
    return waiting;
  }
}

function notReached(state: SettledState, reason: string, options?: ErrorOptions): GridError {
  return new GridError('STATE_NOT_REACHED', { state, reason }, options);
}
