/**
 * Waits until every member acts on a revision of the shared record: the members have confirmed it, or
 * have been removed, and no replaced member has a lease. Tested by shared-cluster.spec.ts.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { type ClusterView, GAP_MS } from './membership-store.ts';

interface Waiting {
  readonly revision: number;
  readonly timer: Timer;
  readonly resolve: (isConfirmed: boolean) => void;
}

export class MemberConfirmations {
  readonly #clock: Clock;
  /** Time within which a silent member is removed, in ms. */
  readonly #limitMs: number;
  readonly #waiting = new Set<Waiting>();
  #view: ClusterView | undefined;
  #isClosed = false;

  /** `leaseMs`: see Join. */
  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.#limitMs = leaseMs + GAP_MS;
  }

  /**
   * Resolves with true once every member has confirmed the revision. Resolves with false if that is
   * not known after the time in which a silent member is removed: a member cannot act on the
   * revision, or the store is unreachable.
   */
  of(revision: number): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    if (this.#view !== undefined && isConfirmed(this.#view, revision)) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = this.#clock.after(this.#limitMs, () => this.#settle(waiting, false));
      const waiting: Waiting = { revision, timer, resolve };
      this.#waiting.add(waiting);
    });
  }

  /** Called with each view. */
  follow(view: ClusterView): void {
    this.#view = view;
    for (const waiting of this.#waiting) {
      if (isConfirmed(view, waiting.revision)) this.#settle(waiting, true);
    }
  }

  /** Resolves all with false, also later ones: the member leaves. */
  close(): void {
    this.#isClosed = true;
    for (const waiting of this.#waiting) this.#settle(waiting, false);
  }

  #settle(waiting: Waiting, isConfirmed: boolean): void {
    waiting.timer.cancel();
    this.#waiting.delete(waiting);
    waiting.resolve(isConfirmed);
  }
}

function isConfirmed({ members, replacedCount }: ClusterView, revision: number): boolean {
  return replacedCount === 0 && members.every(({ confirmed }) => confirmed >= revision);
}
