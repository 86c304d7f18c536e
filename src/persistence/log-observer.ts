/** Receives the events of the log. Never called from inside a call of the engine. */
export interface LogObserver {
  /** More answers may be sent. */
  onReleased(): void;
  /** The log continues in another segment. */
  onSegment(): void;
  /** From now on mutations are refused for want of space, or no longer. */
  onRefusing(isRefusing: boolean, fault: Error | undefined): void;
  onFailed(error: Error): void;
}
