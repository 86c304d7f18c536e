/**
 * An endpoint of a publisher: whether it is used, its data set, and when it is tried again. The
 * time between two attempts begins at 100 ms and doubles up to the discovery period; after a denied
 * attempt (401, 403) it begins at 10 s. The jitter shortens it by up to half, but not below these
 * 10 s. Tested by publisher.spec.ts.
 */
import { addressText } from '../base/server-address.ts';
import { BATCH_BYTES_MAX } from './batch-limits.ts';
import type { WanEndpoint } from './wan-config.ts';

const FIRST_DELAY_MS = 100;
const DENIED_DELAY_MS = 10_000;
/** Number of doublings after which every period is exceeded. */
const DOUBLINGS_MAX = 30;

export class TargetEndpoint {
  readonly endpoint: WanEndpoint;
  /** The address in messages. */
  readonly text: string;
  /** `usable` from a successful handshake until something fails. */
  status: 'idle' | 'connecting' | 'usable' = 'idle';
  /** The data set in the response to the last handshake. */
  dataSet: Buffer | undefined;
  /** Number of batches in flight. */
  inFlightCount = 0;
  /**
   * Maximum size of the events of a batch, in bytes: below 4 MiB after the endpoint found a batch
   * too long.
   */
  bytesMax = BATCH_BYTES_MAX;
  /** Time before which no attempt is made. */
  retryAtMs = 0;
  readonly #periodMs: number;
  readonly #random: () => number;
  #failures = 0;
  /** The last logged text, which is not logged again at each attempt. */
  #lastLogged = '';

  constructor(endpoint: WanEndpoint, periodMs: number, random: () => number) {
    this.endpoint = endpoint;
    this.text = addressText(endpoint);
    this.#periodMs = periodMs;
    this.#random = random;
  }

  /** Schedules the next attempt after a failure. */
  fail(nowMs: number, isDenied = false): void {
    const first = isDenied ? DENIED_DELAY_MS : FIRST_DELAY_MS;
    const doubled = first * 2 ** Math.min(this.#failures++, DOUBLINGS_MAX);
    const delayMs = Math.min(doubled, Math.max(first, this.#periodMs));
    this.status = 'idle';
    const leastMs = isDenied ? first : 0;
    this.retryAtMs = nowMs + Math.max(leastMs, delayMs * (1 - this.#random() / 2));
  }

  /** Stops using the endpoint. It is tried again after a discovery period. */
  dismiss(nowMs: number): void {
    this.status = 'idle';
    this.retryAtMs = nowMs + this.#periodMs;
  }

  succeed(): void {
    this.#failures = 0;
  }

  /** Records the text, empty for a success. Returns whether it is new and is to be logged. */
  isNew(text: string): boolean {
    const isNew = this.#lastLogged !== text;
    this.#lastLogged = text;
    return isNew;
  }
}
