/** How a publisher's messages reach the members of other clusters. */
import type { WanEndpoint } from './publisher-options.ts';

export interface WanTransport {
  /**
   * Sends a message. Resolves with the answer: an HTTP status and the body, at most ANSWER_BYTES_MAX.
   * Rejects when it is not known whether the message came, also where no answer has come within
   * `timeoutMs`. The message's bytes stay unchanged until then.
   */
  send(endpoint: WanEndpoint, message: Uint8Array, timeoutMs: number): Promise<TransportAnswer>;
  /** Closes every connection; what is under way rejects. */
  close(): void;
}

export interface TransportAnswer {
  readonly status: number;
  readonly body: Uint8Array;
}

/** Limit of the body of an answer; no member's answer comes near it. */
export const ANSWER_BYTES_MAX = 65_536;

const TEXT_LENGTH_MAX = 500;

/** What an answer other than 200 says: its body may be anything, and the text goes to logs and terminals. */
export function statusText({ status, body }: TransportAnswer): string {
  const text = Buffer.from(body)
    .toString()
    .slice(0, TEXT_LENGTH_MAX)
    .replace(/\p{Cc}+/gu, ' ');
  return text === '' ? `${status}` : `${status}, ${text}`;
}
