/** The public interface: the exports for programs that embed a member. */
export { ERRORS, type ErrorCode, GridError } from './base/errors.ts';
export type { ClusterState, MemberInfo, NodeState, SettledState } from './cluster/cluster.ts';
export { ENDPOINT_GROUPS, type EndpointGroup } from './config/endpoint-group.ts';
export { ConfigFault } from './config/finding.ts';
export { type EmbeddedMember, type MapOptions, startMember } from './embedding/embedded-member.ts';
export type { GridLock, LockSignal } from './embedding/grid-lock.ts';
export type { ListeningAt, MemberEvents } from './embedding/member-events.ts';
export type { LockOptions } from './embedding/member-locks.ts';
export type { Bytes, GroupName, MapSettings, MemberOptions } from './embedding/member-options.ts';
export type { LogLine, MemberLog, ProgramLog } from './embedding/program-log.ts';
export type { ChangeConditions, GridMap, SetOptions } from './local/grid-map.ts';
export type { GridQueue, OfferOptions, PollOptions } from './local/grid-queue.ts';
export type { GivingUp } from './local/known-options.ts';
export type { ListedEntry, ListedMap, ListOptions } from './local/local-lists.ts';
export type { StoredBytes, StoredEntry, StoredValue } from './local/local-values.ts';
export type { BytesOrText } from './local/plain-bytes.ts';
export type { LoadHistory, MemberStatus, PersistenceStatus } from './monitoring/status-report.ts';
export type { BackupMade } from './persistence/maintenance.ts';
