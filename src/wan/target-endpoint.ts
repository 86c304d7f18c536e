/**
 * An endpoint of a publisher: whether it is used, which data set it has, and when it is tried again. The
 * time between two attempts begins at 100 ms and doubles, up to the discovery period; after an attempt that
 * was denied (401, 403) it begins at 10 s. The jitter takes up to half of it away, but not of those 10 s.
 */
import { addressText } from '../base/server-address.ts';
import { BATCH_BYTES_MAX } from './batch-limits.ts';
import type { WanEndpoint } from './publisher-options.ts';

const FIRST_DELAY_MS = 100;
const DENIED_DELAY_MS = 10_000;
/** More doublings than any period has. */
const DOUBLINGS_MAX = 30;

export class TargetEndpoint {
  readonly endpoint: WanEndpoint;
  /** For people. */
  readonly text: string;
  /** `usable` after a handshake, until something fails. */
  status: 'idle' | 'connecting' | 'usable' = 'idle';
  /** That of the last handshake. */
  dataSet: Buffer | undefined;
  /** Batches under way. */
  underWay = 0;
  /** Bytes of a batch's events: less than 4 MiB after the endpoint has found a batch too long. */
  bytesMax = BATCH_BYTES_MAX;
  /** No attempt before this time. */
  retryAtMs = 0;
  readonly #periodMs: number;
  readonly #random: () => number;
  #failures = 0;
  /** What was logged last, so that it is not logged at each attempt. */
  #told = '';

  constructor(endpoint: WanEndpoint, periodMs: number, random: () => number) {
    this.endpoint = endpoint;
    this.text = addressText(endpoint);
    this.#periodMs = periodMs;
    this.#random = random;
  }

  /** An attempt has failed. */
  fail(nowMs: number, isDenied = false): void {
    const first = isDenied ? DENIED_DELAY_MS : FIRST_DELAY_MS;
    const doubled = first * 2 ** Math.min(this.#failures++, DOUBLINGS_MAX);
    const delayMs = Math.min(doubled, Math.max(first, this.#periodMs));
    this.status = 'idle';
    const leastMs = isDenied ? first : 0;
    this.retryAtMs = nowMs + Math.max(leastMs, delayMs * (1 - this.#random() / 2));
  }

  /** It is not to be used; it is looked at again after a discovery period. */
  dismiss(nowMs: number): void {
    this.status = 'idle';
    this.retryAtMs = nowMs + this.#periodMs;
  }

  succeed(): void {
    this.#failures = 0;
  }

  /** Whether this is news, so that it is to be logged. Empty: all is well again. */
  isNews(text: string): boolean {
    const isNews = this.#told !== text;
    this.#told = text;
    return isNews;
  }
}
