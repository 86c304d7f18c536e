/** The metrics of persistence. */
import { counter, type Figures, gauge, histogram } from '../base/figures.ts';
import type { Backups } from './backups.ts';
import type { Persistence } from './persistence.ts';

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
  diskFull: gauge('gridnode_disk_full', 'Whether writes are refused until the disk has space'),
  diskFailed: gauge('gridnode_disk_failed', 'Whether writes are refused until a restart'),
  written: counter('gridnode_log_written_bytes_total', 'Bytes written to the log'),
  syncs: histogram('gridnode_sync_duration_seconds', "Durations of the syncs of the log's files"),
};

/** `persistence` has recovered its data. */
export function reportPersistence(to: Figures, persistence: Persistence, backups: Backups): void {
  const { log, logBytes, snapshotMs } = persistence;
  const { completedMs } = backups;
  to.add(METRICS.logBytes, logBytes);
  if (snapshotMs !== undefined) to.add(METRICS.snapshot, snapshotMs / 1000);
  if (completedMs !== undefined) to.add(METRICS.backup, completedMs / 1000);
  to.add(METRICS.diskFull, log.isDiskFull ? 1 : 0);
  to.add(METRICS.diskFailed, log.hasFailed ? 1 : 0);
  to.add(METRICS.written, log.writtenBytes);
  to.addDurations(METRICS.syncs, log.syncs);
}
