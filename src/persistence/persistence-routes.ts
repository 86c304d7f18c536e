/** The rows of operations on all stored data (group PERSISTENCE). Tested by surface/surface.spec.ts. */
import { administering } from '../surface/route.ts';

export const PERSISTENCE_ROUTES = {
  forceStart: starting('forceStart', 'Start empty; the stored data is moved aside', 'force-start'),
  partialStart: starting(
    'partialStart',
    'Start with the readable part of the data',
    'partial-start',
  ),
  backUp: backup(
    'backup',
    'Back up the stored data; prints the path, the bytes and the seconds',
    'backup',
  ),
  interruptBackup: backup(
    'backupInterrupt',
    'Interrupt the backup in progress',
    'interrupt-backup',
  ),
  hotBackup: backup('hotBackup', 'Back up the stored data; an old name of backup'),
  interruptHotBackup: backup(
    'hotBackupInterrupt',
    'Interrupt the backup in progress; an old name of backupInterrupt',
  ),
} as const;

function starting(path: string, summary: string, command: string) {
  return { ...backup(path, summary, command), isServedWhileStarting: true };
}

function backup(path: string, summary: string, command = '') {
  const further = { statuses: [200, 409], command } as const;
  return administering('PERSISTENCE', `rest/management/cluster/${path}`, summary, further);
}
