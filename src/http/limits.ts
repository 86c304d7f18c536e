/** The limits of the server and its connections: the settings `network.http.*`, each also a flag. */
export interface HttpLimits {
  /** Limit in bytes for all header fields with line ends; also for chunk extensions and trailers. */
  readonly headerBytesMax: number;
  /** Maximum length of the request target, in bytes. */
  readonly targetBytesMax: number;
  /** Maximum size of the content of a request, in bytes. */
  readonly bodyBytesMax: number;
  /** Maximum number of open connections. */
  readonly connectionsMax: number;
  /**
   * Maximum number of waiting requests of a connection: delayed responses, or requests after a
   * poll.
   */
  readonly pipelineMax: number;
  /** Maximum time from the first byte of a request to the end of its head; also for handshakes. */
  readonly headerTimeoutSeconds: number;
  /** Maximum time without progress in a request's content. */
  readonly bodyProgressTimeoutSeconds: number;
  /** Maximum time in which the client reads nothing of the responses that wait for it. */
  readonly writeProgressTimeoutSeconds: number;
  /** Maximum time without a request. */
  readonly keepAliveTimeoutSeconds: number;
  /** Maximum time to the end of a connection's first head; undefined for no separate limit. */
  readonly firstRequestTimeoutSeconds?: number;
  /**
   * Maximum total size of bodies in progress, responses that wait for slow readers, long heads and
   * polls, in bytes.
   */
  readonly inFlightBytesMax: number;
}
