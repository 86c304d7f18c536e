/**
 * Waits until every member has confirmed a revision of the shared record, or acts on it: the members
 * have reported that, or have been removed, and no replaced member has a lease.
 * Tested by shared-cluster.spec.ts.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { type ClusterView, GAP_MS, type StoredMember } from './membership-store.ts';

/** The revision that is waited for: see StoredMember. */
type Reported = keyof Pick<StoredMember, 'confirmed' | 'applied'>;

interface Waiting {
  readonly revision: number;
  readonly reported: Reported;
  readonly timer: Timer;
  readonly resolve: (isByAll: boolean) => void;
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
   * Resolves with true once every member has reported the revision. Resolves with false if that is
   * not known after the time in which a silent member is removed: a member cannot act on the
   * revision, or the store is unreachable.
   */
  of(revision: number, reported: Reported): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    const view = this.#view;
    if (view !== undefined && isReportedBy(view, revision, reported)) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = this.#clock.after(this.#limitMs, () => this.#settle(waiting, false));
      const waiting: Waiting = { revision, reported, timer, resolve };
      this.#waiting.add(waiting);
    });
  }

  /** Called with each view. */
  follow(view: ClusterView): void {
    this.#view = view;
    for (const waiting of this.#waiting) {
      const { revision, reported } = waiting;
      if (isReportedBy(view, revision, reported)) this.#settle(waiting, true);
    }
  }

  /** Returns the addresses of the members that have not reported the revision, by the last view. */
  missing(revision: number, reported: Reported): readonly string[] {
    const { members = [] } = this.#view ?? {};
    return members.filter((each) => each[reported] < revision).map(({ address }) => address);
  }

  /** Resolves all with false, also later ones: the member leaves. */
  close(): void {
    this.#isClosed = true;
    for (const waiting of this.#waiting) this.#settle(waiting, false);
  }

  #settle(waiting: Waiting, isByAll: boolean): void {
    waiting.timer.cancel();
    this.#waiting.delete(waiting);
    waiting.resolve(isByAll);
  }
}

function isReportedBy(
  { members, replacedCount }: ClusterView,
  revision: number,
  reported: Reported,
): boolean {
  return replacedCount === 0 && members.every((each) => each[reported] >= revision);
}
