/**
 * The contract of the operations on the stored data as a whole, beside reading and writing it. Each rejects
 * with a GridError that tells the reason; then nothing has changed.
 */
export interface Upkeep {
  /** Makes a backup. Resolves once it is complete. */
  backUp(): Promise<BackupMade>;
  /** Interrupts the backup under way. Resolves once nothing of it is left. */
  interruptBackup(): Promise<void>;
  /** Starts a member that waits for this call, without data. Resolves once it serves. */
  forceStart(): Promise<void>;
  /** The same, with the readable data. */
  partialStart(): Promise<void>;
}

export interface BackupMade {
  readonly path: string;
  readonly bytes: number;
  readonly seconds: number;
}
