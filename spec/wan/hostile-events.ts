/**
 * Events with hostile content types, keys and names, among events that clients could have written.
 * None of the former is stored, all of the latter are, and the response counts the rejected ones.
 */
import assert from 'node:assert/strict';
import { PASS_THROUGH } from '../../src/engine/merge-policy.ts';
import { DELETE, Mutation, SET } from '../../src/engine/mutation.ts';
import { BATCH, HEAD_BYTES, sealPlain } from '../../src/wan/message-format.ts';
import { generator, REQUEST_LIMITS } from './members.ts';
import { batchOf, headOf, receiver, WALL_MS } from './messages.ts';

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
  set(change.name, name);
  set(change.key, key);
  change.version.set((WALL_MS % 2 ** 16) * 2 ** 16, Math.floor(WALL_MS / 2 ** 16));
  if (change.operation === DELETE) return change;
  set(change.value, `value ${number}`);
  let type = TYPES[below(TYPES.length)]!;
  if (kind === 5) type = SPLIT;
  else if (kind === 6) type = 't'.repeat(LONG[below(2)]!);
  else if (kind < 10) {
    const at = below(type.length + 1);
    type = type.slice(0, at) + BAD[below(BAD.length)]! + type.slice(at);
  }
  set(change.contentType, type);
  return change;
}

function set(span: Mutation['name'], text: string): void {
  const bytes = Buffer.from(text, 'latin1');
  span.set(bytes, 0, bytes.length);
}

function textOf(span: Mutation['name']): string {
  return span.toBuffer().toString('latin1');
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

/** Sends `count` events. Returns how many were rejected. */
export async function sendHostileEvents(count: number, seed: number): Promise<number> {
  const random = generator(seed);
  const below = (most: number) => Math.floor(random() * most);
  let rejected = 0;
  for (let sent = 0; sent < count; ) {
    const member = receiver();
    const { log } = member.engine;
    let own = 0;
    for (let number = 1; number < MEMBER_EVENTS && sent < count; number += BATCH_EVENTS) {
      const changes = Array.from({ length: BATCH_EVENTS }, () => randomEvent(below, sent++));
      const lane = { laneCount: 1, firstNumber: number };
      const batch = batchOf(changes, member.dataSetId, { ...lane, policy: PASS_THROUGH });
      const { status, body } = await member.receive(sealPlain(batch, headOf(BATCH)));
      const context = `seed ${seed}, event ${sent}`;
      assert.equal(status, 200, context);
      const taken = changes.filter(couldBeWritten);
      own += changes.length - taken.length;
      const answer = Buffer.from(body);
      assert.equal(answer.readUInt32LE(HEAD_BYTES + 4), changes.length, context);
      assert.equal(answer.readDoubleLE(HEAD_BYTES + 16), own, context);
      assert.deepEqual(log.splice(0).map(outline), taken.map(outline), context);
    }
    rejected += own;
    await member.replications.close(0);
    void member.engine.close();
  }
  return rejected;
}
