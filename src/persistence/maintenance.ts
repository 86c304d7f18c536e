/** The maintenance operations on stored data. Tested by persistence-actions.spec.ts. */

/**
 * The maintenance operations on the stored data. Each rejects with a GridError that states the
 * reason; then nothing has changed. @internal
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

/** A complete backup. */
export interface BackupMade {
  /** Path of its directory. */
  readonly path: string;
  /** Size of its files, in bytes. */
  readonly bytes: number;
  /** Duration, in seconds. */
  readonly seconds: number;
}
