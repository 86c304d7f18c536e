/** Why an engine did not do what it was asked for, as the code of an error. */
import type { ErrorCode } from '../base/errors.ts';
import { type Answer, MEMORY_FULL, REFUSED } from './engine.ts';
import {
  DISK_ERROR,
  DISK_FAILED,
  DISK_FULL,
  REPLICATION_FULL,
  type Refusal,
} from './mutation-sink.ts';

const REFUSALS = {
  [DISK_FULL]: 'DISK_FULL',
  [DISK_FAILED]: 'DISK_FAILED',
  [DISK_ERROR]: 'DISK_ERROR',
  [REPLICATION_FULL]: 'REPLICATION_FULL',
} as const;

/** Of an answer MEMORY_FULL, REFUSED or UNAVAILABLE; the message has a place for the name alone. */
export function refusalCode({ outcome, refusal }: Answer) {
  if (outcome === MEMORY_FULL) return 'MEMORY_FULL' satisfies ErrorCode;
  return outcome === REFUSED ? REFUSALS[refusal as Refusal] : ('ENGINE_CLOSED' satisfies ErrorCode);
}
