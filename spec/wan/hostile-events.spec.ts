/**
 * Covers src/wan/event-rules.ts. Events must obey the limits of clients' requests; `make soak`
 * sends a million.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CLEAR, Mutation, SET } from '../../src/engine/mutation.ts';
import { EventRules } from '../../src/wan/event-rules.ts';
import { sendHostileEvents } from './hostile-events.ts';
import { pairOf, REQUEST_LIMITS } from './members.ts';
import { spanOf } from './simulated-engine.ts';

function changeWith(fields: Partial<Record<'name' | 'key' | 'value' | 'contentType', string>>) {
  const change = new Mutation();
  change.operation = SET;
  const all = { name: 'm', key: 'k', value: 'v', contentType: 'a/b', ...fields };
  for (const [field, text] of Object.entries(all)) {
    change[field as keyof typeof fields].copyFrom(spanOf(text));
  }
  return change;
}

describe('EventRules', () => {
  const rules = new EventRules({ ...REQUEST_LIMITS, bodyBytesMax: 100 });
  const { headerBytesMax, targetBytesMax } = REQUEST_LIMITS;
  const path = '/grid/rest/maps/m/'.length;

  it('rejects changes that no client could have written, tested on both sides of each limit', () => {
    const cases: [Mutation, RegExp | undefined][] = [
      [changeWith({}), undefined],
      [changeWith({ contentType: '' }), undefined],
      [changeWith({ contentType: 'a\tb é' }), undefined],
      [changeWith({ contentType: 'a\r\nSet-Cookie: a=b' }), /content type has a control character/],
      [changeWith({ contentType: 'a\0' }), /content type has a control character/],
      [changeWith({ contentType: '\x7f' }), /content type has a control character/],
      [changeWith({ contentType: 'a'.repeat(headerBytesMax - 15) }), undefined],
      [changeWith({ contentType: 'a'.repeat(headerBytesMax - 14) }), /header-bytes-max/],
      [changeWith({ key: '' }), /key is empty/],
      [changeWith({ value: 'v'.repeat(100) }), undefined],
      [changeWith({ value: 'v'.repeat(101) }), /value has 101 bytes.*body-bytes-max/],
      [changeWith({ key: 'k'.repeat(targetBytesMax - path) }), undefined],
      [changeWith({ key: 'k'.repeat(targetBytesMax - path + 1) }), /target-bytes-max/],
      [changeWith({ key: `${'k'.repeat(targetBytesMax - path - 3)}%` }), undefined],
      [changeWith({ key: `${'k'.repeat(targetBytesMax - path - 2)}%` }), /target-bytes-max/],
      [changeWith({ key: `/${'k'.repeat(targetBytesMax - path - 1)}` }), undefined],
      [changeWith({ name: `/${'n'.repeat(targetBytesMax - path - 2)}` }), /target-bytes-max/],
    ];
    for (const [change, fault] of cases) {
      const found = rules.faultOf(change);
      if (fault === undefined) assert.equal(found, undefined);
      else assert.match(found ?? '', fault);
    }
    const clear = changeWith({ key: '', value: '', contentType: '' });
    clear.operation = CLEAR;
    assert.equal(rules.faultOf(clear), undefined);
  });
});

describe('WanReceiver.receive', () => {
  it('skips events that no client could have written, and applies the others', async () => {
    const rejected = await sendHostileEvents(4000, 1);
    assert.ok(rejected > 1000, `${rejected}`);
  });

  it('logs one line a minute, and so does the source, which counts them', async () => {
    const { network, a: source, b: target } = pairOf();
    const written = (member: typeof source) =>
      member.log.lines.filter((line) => line.includes('no client could have written'));
    // The model's clients have no limits.
    for (let round = 0; round < 3; round++) {
      source.engine.change(SET, 'map', `bad${round}`.padEnd(40_000, '.'), 'v');
      source.engine.change(SET, 'map', `good${round}`, 'v');
      await network.pass(200);
    }
    assert.deepEqual([written(source).length, written(target).length], [1, 1]);
    const { eventsRejected, eventsSent, queueSize } = source.status;
    assert.deepEqual([eventsRejected, eventsSent, queueSize], [3, 3, 0]);
    assert.deepEqual(
      target.engine.contents().map((text) => text.split(' ')[0]),
      ['map/good0', 'map/good1', 'map/good2'],
    );
    await network.pass(60_000, 5000);
    source.engine.change(SET, 'map', 'bad'.padEnd(40_000, '.'), 'v');
    await network.pass(200);
    assert.deepEqual([written(source).length, written(target).length], [2, 2]);
  });
});
