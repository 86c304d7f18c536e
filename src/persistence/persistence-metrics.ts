/** The metrics of persistence. */
import type { DurationHistogram } from '../base/duration-histogram.ts';
import { counter, type Figures, gauge, histogram } from '../base/figures.ts';

const METRICS = {
  logBytes: gauge('gridnode_log_bytes', "Size of the log's files, in bytes"),
  snapshot: gauge(
    'gridnode_snapshot_timestamp_seconds',
    'Time when the last snapshot was complete, in seconds since 1970',
  ),
  backup: gauge(
    'gridnode_backup_timestamp_seconds',
    'Time when the last backup of this member was complete, in seconds since 1970',
  ),
  diskFull: gauge('gridnode_disk_full', 'Whether writes are refused because the disk is full'),
  diskFailed: gauge(
    'gridnode_disk_failed',
    'Whether writes are refused because the disk has failed',
  ),
  written: counter('gridnode_log_written_bytes_total', 'Bytes written to the log'),
  syncs: histogram('gridnode_sync_duration_seconds', "Durations of the syncs of the log's files"),
};

/** The state of a persistence that has recovered its data. */
export interface PersistenceState {
  /** Length of the log's files, in bytes. */
  readonly logBytes: number;
  /** Time when the last snapshot was complete, in ms since 1970; undefined if there is none. */
  readonly snapshotMs: number | undefined;
  /** Time when this member completed its last backup, in ms since 1970; undefined if there is none. */
  readonly backupMs: number | undefined;
  /** Whether changes are refused because the disk is full, and because it has failed. */
  readonly isDiskFull: boolean;
  readonly hasDiskFailed: boolean;
  /** Number of bytes written to the log since the start. */
  readonly writtenBytes: number;
  /** Syncs of the log's files since the start. */
  readonly syncs: DurationHistogram;
}

export function reportPersistence(to: Figures, state: PersistenceState): void {
  const { snapshotMs, backupMs } = state;
  to.add(METRICS.logBytes, state.logBytes);
  if (snapshotMs !== undefined) to.add(METRICS.snapshot, snapshotMs / 1000);
  if (backupMs !== undefined) to.add(METRICS.backup, backupMs / 1000);
  to.add(METRICS.diskFull, state.isDiskFull ? 1 : 0);
  to.add(METRICS.diskFailed, state.hasDiskFailed ? 1 : 0);
  to.add(METRICS.written, state.writtenBytes);
  to.addDurations(METRICS.syncs, state.syncs);
}
