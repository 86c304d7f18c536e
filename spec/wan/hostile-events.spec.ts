/**
 * Covers src/wan/received-batch.ts. Events must obey the limits of clients' requests. Those with hostile
 * content types, keys and names are sent among events that clients could have written. None of the
 * former is stored, all of the latter are, and the response counts the rejected ones. `make soak`
 * sends a million.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PASS_THROUGH } from '../../src/engine/merge-policy.ts';
import { CLEAR, DELETE, Mutation, SET } from '../../src/engine/mutation.ts';
import { BATCH, HEAD_BYTES, sealPlain } from '../../src/wan/message-format.ts';
import { EventRules } from '../../src/wan/received-batch.ts';
import { span } from '../engine/results.ts';
import { generator, pairOf, REQUEST_LIMITS } from './members.ts';
import { batchOf, headOf, receiver, WALL_MS } from './messages.ts';

const EVENTS = Number(process.env.WAN_CASES ?? 400) * 10;
const SEED = Number(process.env.WAN_SEED ?? 1);
const BATCH_EVENTS = 40;
/** Number of events after which a new member receives them, so that memory use stays low. */
const MEMBER_EVENTS = 20_000;
const TYPES = ['', 'text/plain', 'a/b;\tc="d"', 'text/h\xe9', ' ', '\xff'.repeat(500)];
const BAD = ['\r', '\n', '\0', '\x01', '\x0b', '\x1f', '\x7f', '\x1b[2J'];
const SPLIT = 'text/html\r\nSet-Cookie: a=b\r\n\r\n<script>';
const LONG = [32_800, 50_000];
/** Length of a key whose escapes exceed the limit of a target, and of one whose escapes do not. */
const ESCAPED = 11_000;
const NAMES = ['m', 'map', 'ma p', '\r\n', '\0', 'h\xe9', '%2F', 'a/b', '?#'];

function changeWith(fields: Partial<Record<'name' | 'key' | 'value' | 'contentType', string>>) {
  const change = new Mutation();
  change.operation = SET;
  const all = { name: 'm', key: 'k', value: 'v', contentType: 'a/b', ...fields };
  for (const [field, text] of Object.entries(all)) {
    change[field as keyof typeof fields].copyFrom(span(text));
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
    const random = generator(SEED);
    const below = (most: number) => Math.floor(random() * most);
    let rejected = 0;
    for (let sent = 0; sent < EVENTS; ) {
      const member = receiver();
      const { log } = member.engine;
      for (let number = 1; number < MEMBER_EVENTS && sent < EVENTS; number += BATCH_EVENTS) {
        const changes = Array.from({ length: BATCH_EVENTS }, () => randomEvent(below, sent++));
        const lane = { laneCount: 1, firstNumber: number };
        const batch = batchOf(changes, member.dataSetId, { ...lane, policy: PASS_THROUGH });
        const { status, body } = await member.receive(sealPlain(batch, headOf(BATCH)));
        const context = `seed ${SEED}, event ${sent}`;
        assert.equal(status, 200, context);
        const taken = changes.filter(couldBeWritten);
        const own = changes.length - taken.length;
        rejected += own;
        const answer = Buffer.from(body);
        assert.equal(answer.readUInt32LE(HEAD_BYTES + 4), changes.length, context);
        assert.equal(answer.readDoubleLE(HEAD_BYTES + 16), own, context);
        assert.deepEqual(log.splice(0).map(outline), taken.map(outline), context);
      }
      await member.replications.close(0);
      void member.engine.close();
    }
    assert.ok(rejected > EVENTS / 4, `${rejected}`);
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
    assert.deepEqual(target.places, ['map/good0', 'map/good1', 'map/good2']);
    await network.pass(60_000, 5000);
    source.engine.change(SET, 'map', 'bad'.padEnd(40_000, '.'), 'v');
    await network.pass(200);
    assert.deepEqual([written(source).length, written(target).length], [2, 2]);
  });
});

type Below = (count: number) => number;

/** Returns a SET or DELETE; a third of them are hostile. */
function randomEvent(below: Below, number: number): Mutation {
  const change = new Mutation();
  change.operation = below(8) === 0 ? DELETE : SET;
  const drawn = below(20);
  // Few events are long, because these take most of the time.
  const kind = drawn <= 4 && drawn !== 1 && below(8) > 0 ? 19 : drawn;
  const name = kind === 0 ? 'n'.repeat(LONG[below(2)]!) : NAMES[below(NAMES.length)]!;
  let key = `${number} ${BAD[below(BAD.length)]}${below(3) === 0 ? '%/?'.repeat(below(100)) : ''}`;
  if (kind === 1) key = '';
  else if (kind === 2) key += 'k'.repeat(LONG[below(2)]!);
  else if (kind === 3) key += '%'.repeat(ESCAPED);
  else if (kind === 4) key += '\xe9'.repeat(ESCAPED);
  change.name.copyFrom(span(name));
  change.key.copyFrom(span(key));
  change.version.set((WALL_MS % 2 ** 16) * 2 ** 16, Math.floor(WALL_MS / 2 ** 16));
  if (change.operation === DELETE) return change;
  change.value.copyFrom(span(`value ${number}`));
  let type = TYPES[below(TYPES.length)]!;
  if (kind === 5) type = SPLIT;
  else if (kind === 6) type = 't'.repeat(LONG[below(2)]!);
  else if (kind < 10) {
    const at = below(type.length + 1);
    type = type.slice(0, at) + BAD[below(BAD.length)]! + type.slice(at);
  }
  change.contentType.copyFrom(span(type));
  return change;
}

function textOf(bytes: Mutation['name']): string {
  return bytes.toBuffer().toString('latin1');
}

/** Whether a client could make the change, by the rules of HTTP and the default limits. */
function couldBeWritten({ name, key, contentType }: Mutation): boolean {
  const { headerBytesMax, targetBytesMax } = REQUEST_LIMITS;
  const type = textOf(contentType);
  const escaped = (text: string) => text.replace(/[\0- \x7f#%?]/g, '%00');
  const path = `${escaped(textOf(name)).replaceAll('/', '%2F')}/${escaped(textOf(key))}`;
  const target = `/grid/rest/maps/${path.replace(/\/$/, '%2F')}`;
  const isType = /^[\t\x20-\x7e\x80-\xff]*$/.test(type);
  const isFitting = `Content-Type:${type}\r\n`.length <= headerBytesMax;
  return isType && isFitting && key.length > 0 && target.length <= targetBytesMax;
}

/** Returns a summary of a change for comparison. */
function outline({ operation, name, key, value, contentType }: Mutation): string {
  return JSON.stringify([operation, ...[name, key, value, contentType].map(textOf)]);
}
