/**
 * Receives the events of the log. Its methods are never called from within a call of the engine.
 */
export interface LogObserver {
  /** Delayed responses may be sent. */
  onReleased(): void;
  /** The log continues in another segment. */
  onSegment(): void;
  /** Mutations start or stop being refused for lack of space. */
  onRefusing(isRefusing: boolean, fault: Error | undefined): void;
  onFailed(error: Error): void;
}
