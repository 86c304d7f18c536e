/**
 * The transport of a publisher's messages to the members of other clusters.
 * Tested by publisher.spec.ts.
 */
import type { WanEndpoint } from './wan-config.ts';

export interface WanTransport {
  /**
   * Sends a message. Resolves with the response: an HTTP status and a body of at most
   * RESPONSE_BYTES_MAX. Rejects if it is unknown whether the message arrived, including when there is
   * no response within `timeoutMs`. The message's bytes must not change until then.
   */
  send(endpoint: WanEndpoint, message: Uint8Array, timeoutMs: number): Promise<TransportResponse>;
  /** Closes every connection. Exchanges in flight reject. */
  close(): void;
}

export interface TransportResponse {
  readonly status: number;
  readonly body: Uint8Array;
}

/** Maximum size of a response body, in bytes; no member's response is nearly as long. */
export const RESPONSE_BYTES_MAX = 65_536;

const TEXT_LENGTH_SHOWN = 500;

/** Describes a response other than 200 for logs and terminals; its body may be anything. */
export function statusText({ status, body }: TransportResponse): string {
  const text = Buffer.from(body)
    .toString()
    .slice(0, TEXT_LENGTH_SHOWN)
    .replace(/\p{Cc}+/gu, ' ');
  return text === '' ? `${status}` : `${status}, ${text}`;
}
