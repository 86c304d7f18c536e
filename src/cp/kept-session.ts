/**
 * A session that its holder keeps by heartbeats. It is lost once it has ended, or shortly before its
 * time is over without a heartbeat that got through: early enough to end the work under its locks before
 * another session can take them.
 */
import { type Clock, TIMER_MS_MAX, type Timer } from '../base/clock.ts';

/** Maximum time between the loss of a session and the end of its time, in ms. */
const LOST_EARLY_MS = 5000;

interface OpenedSession {
  readonly id: number;
  readonly timeToLiveMs: number;
  /** When the request that opened it was sent, on the clock. */
  readonly sentMs: number;
  /**
   * Sends a heartbeat. Resolves with false if the session has ended, and rejects if it is not known
   * whether the heartbeat got through.
   */
  renew(timeoutMs: number): Promise<boolean>;
}

export class KeptSession {
  readonly id: number;
  /** Time from the loss of the session to the end of its time, in ms. */
  readonly graceMs: number;
  /** Aborts when the session is lost. */
  readonly lost: AbortSignal;
  readonly #clock: Clock;
  readonly #timeToLiveMs: number;
  readonly #renew: OpenedSession['renew'];
  readonly #loss = new AbortController();
  #hasEnded = false;
  #isStopped = false;
  #timer: Timer | undefined;
  #lossTimer: Timer | undefined;

  constructor(clock: Clock, { id, timeToLiveMs, sentMs, renew }: OpenedSession) {
    this.id = id;
    this.lost = this.#loss.signal;
    this.#clock = clock;
    this.#timeToLiveMs = Math.min(timeToLiveMs, TIMER_MS_MAX);
    this.graceMs = Math.min(LOST_EARLY_MS, this.#timeToLiveMs / 6);
    this.#renew = renew;
    this.#onRenewed(sentMs);
  }

  /** Whether the session is known to have ended. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Ends the heartbeats. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#lossTimer?.cancel();
  }

  /** `sentMs`: when the last heartbeat that got through was sent. */
  #onRenewed(sentMs: number): void {
    this.#lossTimer?.cancel();
    const lossMs = sentMs + this.#timeToLiveMs - this.graceMs;
    const leftMs = Math.max(0, lossMs - this.#clock.now());
    this.#lossTimer = this.#clock.after(leftMs, () => this.#lose());
    this.#beatAfter(this.#timeToLiveMs / 3);
  }

  #beatAfter(delayMs: number): void {
    this.#timer = this.#clock.after(delayMs, () => void this.#beat());
  }

  async #beat(): Promise<void> {
    const sentMs = this.#clock.now();
    let isThere: boolean | undefined;
    try {
      isThere = await this.#renew(this.#timeToLiveMs / 3);
    } catch {
      // The reason may pass: the next heartbeat follows soon.
    }
    if (this.#isStopped) return;
    if (isThere === true) this.#onRenewed(sentMs);
    else if (isThere === undefined) this.#beatAfter(this.#timeToLiveMs / 15);
    else {
      this.#hasEnded = true;
      this.#lose();
    }
  }

  #lose(): void {
    this.stop();
    this.#loss.abort();
  }
}
