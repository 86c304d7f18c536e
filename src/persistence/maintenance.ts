/**
 * The contract of the maintenance operations on the stored data. Each rejects with a GridError that
 * states the reason; then nothing has changed.
 */
export interface Maintenance {
  /** Creates a backup. Resolves once it is complete. */
  backUp(): Promise<BackupMade>;
  /** Interrupts the running backup. Resolves once it has been removed. */
  interruptBackup(): Promise<void>;
  /** Starts a waiting member without data. Resolves once it serves requests. */
  forceStart(): Promise<void>;
  /** Starts a waiting member with the readable data. Resolves once it serves requests. */
  partialStart(): Promise<void>;
}

export interface BackupMade {
  readonly path: string;
  readonly bytes: number;
  readonly seconds: number;
}
