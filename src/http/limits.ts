/** The limits of the server and its connections: the settings `network.http.*`, each also a flag. */
export interface HttpLimits {
  /** Limit in bytes for all header fields with line ends; also for chunk extensions and trailers. */
  readonly headerBytesMax: number;
  /** Limit for the request target, in bytes. */
  readonly targetBytesMax: number;
  /** Limit for the content of a request, in bytes. */
  readonly bodyBytesMax: number;
  /** Limit for the number of open connections. */
  readonly connectionsMax: number;
  /** Limit for the waiting requests of a connection: delayed responses, or requests after a poll. */
  readonly pipelineMax: number;
  /** Limit for the time from the first byte of a request to the end of its head; also for handshakes. */
  readonly headerTimeoutSeconds: number;
  /** Limit for the time without progress in a request's content. */
  readonly bodyProgressTimeoutSeconds: number;
  /** Limit for the time in which the client reads nothing of the responses that wait for it. */
  readonly writeProgressTimeoutSeconds: number;
  /** Limit for the time without a request. */
  readonly keepAliveTimeoutSeconds: number;
  /** Limit for the time to the end of a connection's first head; undefined for no separate limit. */
  readonly firstRequestTimeoutSeconds?: number;
  /** Total for contents under way, responses that wait for slow readers, long heads and polls, in bytes. */
  readonly inFlightBytesMax: number;
}
