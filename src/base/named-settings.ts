/** Paths of settings that the messages of errors name; the table of settings has them from here. */

export const NAMED_SETTINGS = {
  backupDirectory: 'persistence.backup-dir',
  clusterName: 'cluster-name',
  engineAllowEviction: 'engine.allow-eviction',
  enginePassword: 'engine.password',
  engineUser: 'engine.user',
  maxMemory: 'max-memory',
  partitionCount: 'partition-count',
  recoveryPolicy: 'persistence.cluster-data-recovery-policy',
} as const;
