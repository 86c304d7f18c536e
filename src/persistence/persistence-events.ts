/**
 * Logs persistence events, and notifies the servers when delayed responses may be sent or must be
 * dropped. Tested by persistence/persistence-part.spec.ts.
 */
import type { ResponseSender } from '../http/response-delay.ts';
import type { Log } from '../telemetry/log.ts';
import type { Finding } from './findings.ts';
import type { ForcedStart } from './forced-start.ts';
import type { Opened } from './persistence.ts';
import type { RecoveryProgress } from './recovery.ts';
import type { Start } from './start-after-damage.ts';
import { isFullDisk } from './storage.ts';

/** Maximum number of foreign files that a log line names. */
const FILES_LOGGED_MAX = 10;
const FOREIGN_FILES =
  'files in the data directory do not belong to a member; they are left unchanged';

export class PersistenceEvents {
  readonly #log: Log;
  readonly #senders: ResponseSender[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  /** Registers a sender, which is notified when its delayed responses may be sent. */
  addSender(sender: ResponseSender): void {
    this.#senders.push(sender);
  }

  onFinding({ file, offset, what, isDamage }: Finding): void {
    if (isDamage) this.#log.error({ file, offset }, `cannot be read: "${file}" ${what}`);
    else this.#log.warn({ file, offset }, `"${file}" ${what}`);
  }

  onForced(start: Start, { aside, records, bytes }: ForcedStart): void {
    const outcome = start === 'forceStart' ? 'starts empty' : 'starts with the readable data';
    const message = `${start}: ${outcome}; the old files are in "${aside}"`;
    this.#log.warn({ records, bytes, aside }, message);
  }

  onRecovered(recovered: Opened): void {
    const { records, bytes, tornBytes, foreign } = recovered;
    this.#log.info({ records, bytes }, 'recovered');
    if (tornBytes > 0) {
      this.#log.warn({ bytes: tornBytes, ...recovered.end }, 'cut off the torn end of the log');
    }
    if (foreign.length > 0) {
      const files = foreign.slice(0, FILES_LOGGED_MAX);
      this.#log.warn({ files, count: foreign.length }, FOREIGN_FILES);
    }
  }

  onReleased(): void {
    for (const sender of this.#senders) sender.release();
  }

  onRefusing(isRefusing: boolean, fault: Error | undefined): void {
    const isOtherFault = fault !== undefined && !isFullDisk(fault);
    if (isRefusing && isOtherFault) {
      this.#log.error({ err: fault }, 'no segment of the log can be made: writes are refused');
    } else if (isRefusing) this.#log.error('the disk is full: writes are refused, reads go on');
    else this.#log.info('the disk has space again: writes are accepted');
  }

  onFailed(error: Error): void {
    this.#log.fatal({ err: error }, 'the disk has failed: this member must be restarted');
    for (const sender of this.#senders) sender.failDelayed();
  }

  onProgress(progress: RecoveryProgress): void {
    this.#log.info(progress, 'recovering');
  }

  onSnapshot(bytes: number): void {
    this.#log.debug({ bytes }, 'wrote a snapshot');
  }

  onCompacted(bytes: number): void {
    this.#log.info({ bytes }, 'freed space on the disk');
  }

  onSnapshotFailed(error: Error): void {
    this.#log.warn({ err: error }, 'cannot write a snapshot, will try again');
  }

  onCompactionFailed(error: Error): void {
    this.#log.warn({ err: error }, 'cannot free space on the disk, will try again');
  }
}
