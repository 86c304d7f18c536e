/**
 * Creates the backups of a member, one at a time. A backup can be interrupted.
 * Tested by integration/maintenance.spec.ts.
 */
import type { Clock } from '../base/clock.ts';
import { GridError, reasonOf } from '../base/errors.ts';
import { Backup } from './backup.ts';
import { BackupDirectory } from './backup-directory.ts';
import type { Persistence } from './persistence.ts';

interface BackupReport {
  readonly directory: string;
  readonly files: number;
  readonly bytes: number;
}

export class Backups {
  readonly #persistence: Persistence;
  /** The directory for backups; undefined if none is configured. */
  readonly #directory: string | undefined;
  readonly #clock: Clock;
  /** Time when the last backup was complete, in ms since 1970; undefined if there is none. */
  completedMs: number | undefined;
  #running: Promise<BackupReport> | undefined;
  #backup: Backup | undefined;
  #isInterrupted = false;

  constructor(persistence: Persistence, directory: string | undefined, clock: Clock) {
    this.#persistence = persistence;
    this.#directory = directory;
    this.#clock = clock;
  }

  /**
   * Resolves once the backup is complete. Rejects with GridError BACKUP_* after removing the
   * incomplete backup.
   */
  async start(): Promise<BackupReport> {
    if (this.#directory === undefined) throw new GridError('BACKUP_NOWHERE', {});
    if (this.#running !== undefined) throw new GridError('BACKUP_UNDER_WAY', {});
    this.#isInterrupted = false;
    this.#running = this.#run(this.#directory);
    try {
      const report = await this.#running;
      this.completedMs = this.#clock.wall();
      return report;
    } catch (error) {
      if (error instanceof GridError && error.code.startsWith('BACKUP_')) throw error;
      const reason = reasonOf(error);
      throw new GridError('BACKUP_FAILED', { reason }, { cause: error });
    } finally {
      this.#running = undefined;
    }
  }

  /**
   * Resolves when the running backup has been removed. Rejects with GridError BACKUP_NOT_UNDER_WAY.
   */
  async interrupt(): Promise<void> {
    const running = this.#running;
    if (running === undefined) throw new GridError('BACKUP_NOT_UNDER_WAY', {});
    this.#isInterrupted = true;
    this.#backup?.interrupt();
    await running.catch(() => {});
  }

  async #run(parent: string): Promise<BackupReport> {
    const directory = await BackupDirectory.begin(parent);
    try {
      const { files } = await this.#write(directory);
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
      return { directory: await directory.complete(), files: files.length, bytes };
    } catch (error) {
      await directory.discard();
      throw error;
    }
  }

  async #write({ storage }: BackupDirectory) {
    const cut = await this.#persistence.retainFiles();
    try {
      const backup = new Backup(this.#persistence.storage, storage, cut, this.#clock);
      this.#backup = backup;
      if (this.#isInterrupted) backup.interrupt();
      return await backup.write();
    } finally {
      this.#backup = undefined;
      this.#persistence.releaseFiles();
    }
  }
}
