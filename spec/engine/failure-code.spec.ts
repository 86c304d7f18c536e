/** Outcomes that are errors, and their codes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERRORS, type ErrorCode } from '../../src/base/errors.ts';
import {
  ABSENT,
  APPLIED,
  CLOSED,
  CONDITION_FAILED,
  COUNTED,
  DISCONNECTED,
  FOUND,
  LOST,
  MEMORY_FULL,
  type OperationResult,
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
import {
  AWAY,
  CROWDED_OUT,
  CUT_OFF,
  type Failure,
  FORBIDDEN,
  FOREIGN,
  FULL,
  isUnknown,
  OTHER_LAYOUT,
  outcomeOf,
  reasonOf,
  REFUSED as SERVERS_REFUSED,
  SHORT,
  UNANSWERED,
  UNCONFIRMED,
} from '../../src/engine/redis/failure.ts';

function codeOf(outcome: number, veto = 0, reason = 0) {
  return failureCode({ outcome, veto, reason } as unknown as OperationResult);
}

test('every unexpected outcome has a code with status 503', () => {
  const codes = [
    codeOf(MEMORY_FULL),
    codeOf(UNREACHABLE, 0, CLOSED),
    codeOf(UNREACHABLE, 0, DISCONNECTED),
    codeOf(LOST),
    codeOf(UNKNOWN),
    ...[DISK_FULL, DISK_FAILED, REPLICATION_FULL, DISK_ERROR].map((code) => codeOf(REFUSED, code)),
  ];
  assert.deepEqual(codes, [
    'MEMORY_FULL',
    'ENGINE_CLOSED',
    'ENGINE_DISCONNECTED',
    'HOLD_LOST',
    'OUTCOME_UNKNOWN',
    'DISK_FULL',
    'DISK_FAILED',
    'REPLICATION_FULL',
    'DISK_ERROR',
  ]);
  for (const code of codes) assert.equal(ERRORS[code as ErrorCode].status, 503);
});

const OF_SERVERS: readonly [Failure, string, RegExp][] = [
  [AWAY, 'ENGINE_DISCONNECTED', /servers are unreachable/],
  [FULL, 'SERVERS_FULL', /memory of the servers/],
  [SHORT, 'SERVERS_SHORT', /too few replicas/],
  [SERVERS_REFUSED, 'SERVERS_REFUSE', /server accepts no changes/],
  [FORBIDDEN, 'SERVERS_FORBID', /lacks a permission on the servers/],
  [CUT_OFF, 'SERVERS_CUT_OFF', /lost contact/],
  [FOREIGN, 'SERVERS_FOREIGN', /another program/],
  [CROWDED_OUT, 'SERVERS_OVERLOADED', /too many requests are waiting for the servers/],
  [OTHER_LAYOUT, 'SERVERS_LAYOUT', /different layout/],
  [UNANSWERED, 'SERVERS_UNKNOWN', /servers have not replied; it may have been done/],
  [UNCONFIRMED, 'SERVERS_UNCONFIRMED', /too few replicas.*; it may have been done/],
];

test('each failure of servers has a message that names the servers, not a disk or max-memory', () => {
  for (const [failure, code, words] of OF_SERVERS) {
    assert.equal(codeOf(outcomeOf(failure), 0, reasonOf(failure)), code);
    const { message, status } = ERRORS[code as ErrorCode];
    assert.equal(status, 503);
    assert.match(message, words);
    assert.match(message, /server/);
    assert.doesNotMatch(message, /disk|restart|max-memory/);
    assert.match(message, isUnknown(failure) ? /may have been done$/ : /nothing was done$/);
  }
  assert.equal(new Set(OF_SERVERS.map(([failure]) => failure)).size, 11);
});

test('expected outcomes have no code', () => {
  for (const outcome of [FOUND, ABSENT, APPLIED, QUEUE_FULL, COUNTED, CONDITION_FAILED]) {
    assert.equal(codeOf(outcome), undefined);
  }
});
