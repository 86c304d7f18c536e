/**
 * Who holds which lock, as far as the clients know. A holder is live until the time at which its
 * session lives for certain. Live holders of one lock, and fences that do not rise, are faults.
 */

export interface Holder {
  /** Time until which its session lives for certain, in ms; 0 once it may have ended. */
  liveUntilMs: number;
}

export type LockFault = 'two holders' | 'earlier fence' | 'lock lost' | 'session lost';

interface KnownLock {
  readonly holders: Set<Holder>;
  fence: number;
}

export class LockHistory {
  /** Number of locks that were taken by holders that were live then. */
  takenCount = 0;
  readonly faults: Record<LockFault, number> = {
    'two holders': 0,
    'earlier fence': 0,
    'lock lost': 0,
    'session lost': 0,
  };
  readonly #locks = new Map<string, KnownLock>();

  /** Called when a holder knows that it has a lock. */
  taken(name: string, holder: Holder, fence: number, nowMs: number): void {
    const lock = this.#locks.get(name) ?? { holders: new Set(), fence: 0 };
    this.#locks.set(name, lock);
    if (holder.liveUntilMs > nowMs) {
      this.takenCount++;
      const others = [...lock.holders].filter((other) => other !== holder);
      if (others.some(({ liveUntilMs }) => liveUntilMs > nowMs)) this.faults['two holders']++;
      if (fence < lock.fence || (fence === lock.fence && !lock.holders.has(holder)))
        this.faults['earlier fence']++;
      lock.fence = Math.max(fence, lock.fence);
    }
    lock.holders.add(holder);
  }

  /** Called before a holder releases its lock, and when it no longer acts as its holder. */
  left(name: string, holder: Holder): void {
    this.#locks.get(name)?.holders.delete(holder);
  }

  /** Called when a holder learns that its lock or its session does not exist any more. */
  lost(what: 'lock lost' | 'session lost', holder: Holder, nowMs: number): void {
    if (holder.liveUntilMs > nowMs) this.faults[what]++;
    holder.liveUntilMs = 0;
  }
}
