/** What a connection may take; settings `network.http.*`, each with its own flag. */
export interface HttpLimits {
  /** All header fields of a request with their line ends, in bytes; also chunk extensions and trailers. */
  readonly headerBytesMax: number;
  /** The request target, in bytes. */
  readonly targetBytesMax: number;
  /** The content of a request, in bytes. */
  readonly bodyBytesMax: number;
  /** Open connections. */
  readonly connectionsMax: number;
  /** Answers of one connection that may wait to leave before reading pauses. */
  readonly pipelineMax: number;
}

/** Defaults: see the table of limits in README. */
export const DEFAULT_LIMITS: HttpLimits = {
  headerBytesMax: 32768,
  targetBytesMax: 32768,
  bodyBytesMax: 16777216,
  connectionsMax: 10000,
  pipelineMax: 1024,
};
