import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CallResponse, WAN_CALLS, wordsOf } from '../../src/cli/member-calls.ts';
import type { PublisherStatus } from '../../src/wan/wan-status.ts';

const PUBLISHER: PublisherStatus = {
  wanReplicationName: 'map',
  wanPublisherId: 'p',
  clusterName: 'target',
  state: 'PAUSED',
  queueSize: 3,
  queueCapacity: 10,
  queueBytes: 200,
  eventsSent: 5,
  eventsDropped: 1,
  eventsRejected: 2,
  lagMillis: 40,
  lastError: null,
};

function shown(words: string, response: CallResponse): string | undefined {
  return WAN_CALLS.find(([row]) => wordsOf(row) === words)?.[1](response);
}

test('publishers prints one line per publisher, with its last error', () => {
  const line =
    'map p  to target  PAUSED  3 of 10 wait, the oldest for 40 ms  5 sent, 1 dropped, 2 rejected';
  const publishers = [PUBLISHER, { ...PUBLISHER, lastError: 'no route' }];
  assert.equal(shown('publishers', { publishers }), `${line}\n${line}  no route`);
  assert.equal(shown('publishers', {}), '');
});

test('add prints the message and each publisher, added or ignored', () => {
  const response = { message: 'one', addedPublisherIds: ['a'], ignoredPublisherIds: ['b', 'c'] };
  assert.equal(shown('add [file]', response), 'one\nadded    a\nignored  b\nignored  c');
  assert.equal(shown('add [file]', {}), 'done');
});
