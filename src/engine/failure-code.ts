/** Why an engine did not do an operation, as the code of an error. */
import type { ErrorCode } from '../base/errors.ts';
import {
  type Answer,
  DISCONNECTED,
  LOST,
  MEMORY_FULL,
  REFUSED,
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

/**
 * The code of an answer MEMORY_FULL, REFUSED, UNREACHABLE, LOST or UNKNOWN, otherwise undefined; the
 * message has a place for the name alone.
 */
export function failureCode({ outcome, veto, reason }: Answer) {
  switch (outcome) {
    case MEMORY_FULL:
      return 'MEMORY_FULL' satisfies ErrorCode;
    case REFUSED:
      return VETOES[veto as Veto];
    case UNREACHABLE:
      return reason === DISCONNECTED
        ? ('ENGINE_DISCONNECTED' satisfies ErrorCode)
        : ('ENGINE_CLOSED' satisfies ErrorCode);
    case LOST:
      return 'HOLD_LOST' satisfies ErrorCode;
    case UNKNOWN:
      return 'OUTCOME_UNKNOWN' satisfies ErrorCode;
    default:
      return undefined;
  }
}
