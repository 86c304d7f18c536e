/**
 * The contract of what can be asked of stored data as a whole, beside reading and writing it. Each
 * rejects with a GridError that says why not; then nothing has changed.
 */
export interface Upkeep {
  /** Resolves once there is a backup. */
  backUp(): Promise<BackupMade>;
  /** Resolves once nothing is left of the backup under way. */
  interruptBackup(): Promise<void>;
  /** Starts a member that waits for it, empty; resolves once it serves. */
  forceStart(): Promise<void>;
  /** The same, with what can be read. */
  partialStart(): Promise<void>;
}

export interface BackupMade {
  readonly path: string;
  readonly bytes: number;
  readonly seconds: number;
}
