/**
 * Paths of the settings that error messages name. The table of settings uses these constants too.
 */

export const SETTINGS_IN_MESSAGES = {
  backupDirectory: 'persistence.backup-dir',
  clusterName: 'cluster-name',
  engineAllowEviction: 'engine.allow-eviction',
  enginePassword: 'engine.password',
  engineUser: 'engine.user',
  maxMemory: 'max-memory',
  partitionCount: 'partition-count',
  recoveryPolicy: 'persistence.cluster-data-recovery-policy',
} as const;
