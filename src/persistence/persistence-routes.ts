/** The rows of operations on all stored data (group PERSISTENCE). Tested by surface/surface.spec.ts. */
import { administering } from '../surface/route.ts';

const STARTING = { isServedWhileStarting: true } as const;
const BACK_UP = 'Back up the stored data';
const INTERRUPT = 'Interrupt the backup in progress';

export const PERSISTENCE_ROUTES = {
  forceStart: calling('forceStart', 'Start empty; the stored data is moved aside', {
    ...STARTING,
    command: 'force-start',
  }),
  partialStart: calling('partialStart', 'Start with the readable part of the data', {
    ...STARTING,
    command: 'partial-start',
  }),
  backUp: calling('backup', BACK_UP, {
    command: 'backup',
    about: 'Back up the stored data; prints the path, the bytes and the seconds',
  }),
  interruptBackup: calling('backupInterrupt', INTERRUPT, { command: 'interrupt-backup' }),
  hotBackup: calling('hotBackup', BACK_UP),
  interruptHotBackup: calling('hotBackupInterrupt', INTERRUPT),
} as const;

function calling(path: string, summary: string, further?: Parameters<typeof administering>[3]) {
  const own = { statuses: [200, 409], ...further } as const;
  return administering('PERSISTENCE', `rest/management/cluster/${path}`, summary, own);
}
