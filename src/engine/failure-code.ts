/** The error code for an operation that an engine did not do. */
import type { ErrorCode } from '../base/errors.ts';
import {
  CLOSED,
  DATA_LAYOUT,
  DISCONNECTED,
  FOREIGN_DATA,
  LOST,
  MEMORY_FULL,
  NO_LEASE,
  NOT_PERMITTED,
  type OperationResult,
  OVERLOADED,
  REFUSED,
  type Reason,
  SERVERS,
  SERVERS_REFUSE,
  TOO_FEW_REPLICAS,
  UNKNOWN,
  UNREACHABLE,
} from './engine.ts';
import {
  DISK_ERROR,
  DISK_FAILED,
  DISK_FULL,
  REPLICATION_FULL,
  type Veto,
} from './mutation-sink.ts';

const VETOES = {
  [DISK_FULL]: 'DISK_FULL',
  [DISK_FAILED]: 'DISK_FAILED',
  [DISK_ERROR]: 'DISK_ERROR',
  [REPLICATION_FULL]: 'REPLICATION_FULL',
} as const;

/** Codes of UNREACHABLE, by reason. */
const UNREACHABLE_CODES = {
  [CLOSED]: 'ENGINE_CLOSED',
  [DISCONNECTED]: 'ENGINE_DISCONNECTED',
  [TOO_FEW_REPLICAS]: 'SERVERS_SHORT',
  [SERVERS_REFUSE]: 'SERVERS_REFUSE',
  [NOT_PERMITTED]: 'SERVERS_FORBID',
  [NO_LEASE]: 'SERVERS_CUT_OFF',
  [FOREIGN_DATA]: 'SERVERS_FOREIGN',
  [OVERLOADED]: 'SERVERS_OVERLOADED',
  [DATA_LAYOUT]: 'SERVERS_LAYOUT',
  [SERVERS]: 'ENGINE_DISCONNECTED',
} as const satisfies Readonly<Record<Reason, ErrorCode>>;

/**
 * Returns the error code of a MEMORY_FULL, REFUSED, UNREACHABLE, LOST or UNKNOWN result, otherwise
 * undefined. The code's message has a placeholder only for the name.
 */
export function failureCode({ outcome, veto, reason }: OperationResult) {
  switch (outcome) {
    case MEMORY_FULL:
      return reason === SERVERS ? 'SERVERS_FULL' : 'MEMORY_FULL';
    case REFUSED:
      return VETOES[veto as Veto];
    case UNREACHABLE:
      return UNREACHABLE_CODES[reason as Reason];
    case LOST:
      return 'HOLD_LOST';
    case UNKNOWN:
      if (reason === TOO_FEW_REPLICAS) return 'SERVERS_UNCONFIRMED';
      return reason === SERVERS ? 'SERVERS_UNKNOWN' : 'OUTCOME_UNKNOWN';
    default:
      return undefined;
  }
}
