/** Which outcomes are errors, and which ones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERRORS, type ErrorCode } from '../../src/base/errors.ts';
import {
  ABSENT,
  type Answer,
  APPLIED,
  CLOSED,
  CONDITION_FAILED,
  COUNTED,
  DISCONNECTED,
  FOUND,
  LOST,
  MEMORY_FULL,
  QUEUE_FULL,
  REFUSED,
  UNKNOWN,
  UNREACHABLE,
} from '../../src/engine/engine.ts';
import { failureCode } from '../../src/engine/failure-code.ts';
import {
  DISK_ERROR,
  DISK_FAILED,
  DISK_FULL,
  REPLICATION_FULL,
} from '../../src/engine/mutation-sink.ts';

function codeOf(outcome: number, veto = 0, reason = 0) {
  return failureCode({ outcome, veto, reason } as unknown as Answer);
}

test('every outcome that is none of the expected ones has a code with status 503', () => {
  const codes = [
    codeOf(MEMORY_FULL),
    codeOf(UNREACHABLE, 0, CLOSED),
    codeOf(UNREACHABLE, 0, DISCONNECTED),
    codeOf(LOST),
    codeOf(UNKNOWN),
    ...[DISK_FULL, DISK_FAILED, REPLICATION_FULL, DISK_ERROR].map((code) => codeOf(REFUSED, code)),
  ];
  assert.deepEqual(codes, [
    ...['MEMORY_FULL', 'ENGINE_CLOSED', 'ENGINE_DISCONNECTED', 'HOLD_LOST', 'OUTCOME_UNKNOWN'],
    ...['DISK_FULL', 'DISK_FAILED', 'REPLICATION_FULL', 'DISK_ERROR'],
  ]);
  for (const code of codes) assert.equal(ERRORS[code as ErrorCode].status, 503);
});

test('expected outcomes have none', () => {
  for (const outcome of [FOUND, ABSENT, APPLIED, QUEUE_FULL, COUNTED, CONDITION_FAILED]) {
    assert.equal(codeOf(outcome), undefined);
  }
});
