/** The public interface: the exports for programs that embed a member. */
export { type ERRORS, type ErrorCode, GridError } from './base/errors.ts';
export type { ENDPOINT_GROUPS, EndpointGroup } from './config/endpoint-group.ts';
export { ConfigFault } from './config/finding.ts';
export { type EmbeddedMember, startMember } from './embedding/embedded-member.ts';
export type { GridLock, LockSignal } from './embedding/grid-lock.ts';
export type { LockOptions } from './embedding/member-locks.ts';
export type { Bytes, GroupName, MemberOptions } from './embedding/member-options.ts';
export type { LogLine, MemberLog, ProgramLog } from './embedding/program-log.ts';
export type { ChangeConditions, GridMap, SetOptions } from './local/grid-map.ts';
export type { GivingUp, GridQueue, OfferOptions, PollOptions } from './local/grid-queue.ts';
export type { StoredEntry, StoredValue } from './local/local-data.ts';
export type { ListedEntry, ListedMap, ListOptions } from './local/local-lists.ts';
export type { BytesOrText } from './local/plain-bytes.ts';
