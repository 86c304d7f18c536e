/**
 * The sending of one partition of servers to a publisher's target, as the member that does it knows
 * it. Tested by server-sender.spec.ts.
 */
import type { WaitingEvents } from './waiting-events.ts';

export class ServerLane {
  readonly partition: number;
  /** Time at which the keys that wait are read; Infinity if none are known to wait. */
  dueMs: number;
  /** Whether the keys are being read, or a batch with them is in flight. */
  isBusy = false;
  /** Whether the next key may have a long value, so that it is read by itself. */
  isLong = false;
  /** Number of keys that waited when they were last counted. */
  count = 0;
  /** The last moment whose changes are known to be acknowledged. */
  currentMs: number;
  /** Whether nothing waited at that moment; otherwise it is the time of the oldest key known. */
  #wasEmpty = false;
  /** Number up to which the target has the keys while their marks remain; 0 if none do. */
  remainsTo = 0;
  /** The epoch of the numbers below. */
  #epoch = 0;
  /** Number up to which keys were acknowledged. */
  #doneTo = 0;
  /** By number, the checksums of keys that were sent and may wait. */
  #sent: ReadonlyMap<number, number> = new Map();
  #sentTo = 0;

  /** Called when it is not busy any more. */
  #onFree: (() => void)[] = [];

  constructor(partition: number, nowMs: number) {
    this.partition = partition;
    this.dueMs = nowMs;
    this.currentMs = nowMs;
  }

  /** Ends what made it busy. */
  free(): void {
    this.isBusy = false;
    for (const onFree of this.#onFree.splice(0)) onFree();
  }

  /** Resolves when it has become free, for whoever makes it busy first. */
  freed(): Promise<void> {
    return new Promise((resolve) => this.#onFree.push(resolve));
  }

  /** Reads the keys that wait by that time at the latest. */
  expectBy(timeMs: number): void {
    this.dueMs = Math.min(this.dueMs, timeMs);
  }

  /** Called when nothing waits that was marked before that time. */
  onEmpty(timeMs: number): void {
    this.count = 0;
    this.currentMs = timeMs;
    this.#wasEmpty = true;
  }

  /** Called with the time of the key that has waited longest: another member may have marked it. */
  onOldest(timeMs: number): void {
    if (!this.#wasEmpty) this.currentMs = Math.min(this.currentMs, timeMs);
  }

  /**
   * Returns whether the target may mistake events for earlier ones of the epoch: the servers have
   * assigned numbers again, as a failover has lost the changes that had them.
   */
  repeatsNumbers({ keys }: WaitingEvents, epoch: number): boolean {
    if (epoch !== this.#epoch) return false;
    for (const [number, checksum] of keys) {
      if (number <= this.#doneTo) return true;
      if (number <= this.#sentTo && this.#sent.get(number) !== checksum) return true;
    }
    return false;
  }

  /** Called when the events are sent in that epoch. */
  onSent({ keys }: WaitingEvents, epoch: number): void {
    if (epoch !== this.#epoch) {
      this.#epoch = epoch;
      this.#doneTo = 0;
      this.#sentTo = 0;
      this.#sent = new Map();
    }
    // Keys with lower numbers than the last one of the events do not wait any more.
    let last = 0;
    for (const number of keys.keys()) last = number;
    const later = [...this.#sent].filter(([number]) => number > last);
    this.#sent = new Map([...keys, ...later]);
    this.#sentTo = Math.max(this.#sentTo, last);
  }

  /** Called when the target has the keys up to the number. */
  onDone(number: number): void {
    this.#doneTo = Math.max(this.#doneTo, number);
  }
}
