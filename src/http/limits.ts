/** The limits of a connection; settings `network.http.*`, each with its own flag. */
export interface HttpLimits {
  /** All header fields of a request with their line ends, in bytes; also chunk extensions and trailers. */
  readonly headerBytesMax: number;
  /** The request target, in bytes. */
  readonly targetBytesMax: number;
  /** The content of a request, in bytes. */
  readonly bodyBytesMax: number;
  /** Open connections. */
  readonly connectionsMax: number;
  /** Requests of one connection that wait: delayed answers, or requests behind a poll. */
  readonly pipelineMax: number;
  /** Time from the first byte of a request to the end of its head; also of a TLS handshake. */
  readonly headerTimeoutSeconds: number;
  /** Time without a byte of a request's content. */
  readonly bodyProgressTimeoutSeconds: number;
  /** Time in which the client takes nothing of the answers that wait for it. */
  readonly writeProgressTimeoutSeconds: number;
  /** Time without a request. */
  readonly keepAliveTimeoutSeconds: number;
  /** Time for the first request of a connection, to the end of its head; undefined: no limit of its own. */
  readonly firstRequestTimeoutSeconds?: number;
  /** Contents under way, answers that wait for their clients, long heads and polls, in all, in bytes. */
  readonly inFlightBytesMax: number;
}
