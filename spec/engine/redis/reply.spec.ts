import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ReplyValue, replyValue } from '../../../src/engine/redis/control-connection.ts';
import { ReplyFault, ReplyReader } from '../../../src/engine/redis/reply.ts';

/** Bytes, and the values they encode. */
const SAMPLES: readonly [string, ReplyValue][] = [
  ['+OK\r\n', 'OK'],
  ['+\r\n', ''],
  [':0\r\n', 0],
  [':-12\r\n', -12],
  [':9007199254740991\r\n', 2 ** 53 - 1],
  ['$-1\r\n', null],
  ['*-1\r\n', null],
  ['$0\r\n\r\n', ''],
  ['$5\r\na\r\nbc\r\n', 'a\r\nbc'],
  ['*0\r\n', []],
  ['*3\r\n:1\r\n$1\r\nx\r\n*2\r\n+a\r\n$-1\r\n', [1, 'x', ['a', null]]],
];
const ALL = SAMPLES.map(([text]) => text).join('');
const VALUES = SAMPLES.map(([, value]) => value);

/** Returns the replies in the pieces, each of which is overwritten after it is read. */
function read(pieces: readonly Buffer[]): ReplyValue[] {
  const values: ReplyValue[] = [];
  const reader = new ReplyReader((reply) => values.push(replyValue(reply)));
  for (const piece of pieces) {
    const bytes = Buffer.from(piece);
    reader.read(bytes, bytes.length);
    bytes.fill(0xdd);
  }
  return values;
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

test('ReplyReader reads replies of every kind', () => {
  assert.deepEqual(read([bytesOf(ALL)]), VALUES);
});

test('ReplyReader reads an error with its text', () => {
  const [value] = read([bytesOf('-ERR what: "x"\r\n')]);
  assert.ok(value instanceof Error);
  assert.equal(value.message, 'ERR what: "x"');
});

test('ReplyReader reads equal replies wherever the bytes are split', () => {
  const bytes = bytesOf(ALL);
  for (let at = 0; at <= bytes.length; at++) {
    assert.deepEqual(read([bytes.subarray(0, at), bytes.subarray(at)]), VALUES, `at ${at}`);
  }
  assert.deepEqual(read([...bytes].map((byte) => Buffer.of(byte))), VALUES);
});

test('ReplyReader does not receive an incomplete reply', () => {
  for (const [text] of SAMPLES) {
    for (let length = 0; length < text.length; length++) {
      assert.deepEqual(read([bytesOf(text.slice(0, length))]), []);
    }
  }
});

test('ReplyReader reads long strings in pieces, and those received with others', () => {
  const long = 'y'.repeat(300_000);
  const bytes = bytesOf(`:1\r\n$${long.length}\r\n${long}\r\n:2\r\n`);
  for (const size of [1000, 65_536, 299_999]) {
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
    assert.deepEqual(read(pieces), [1, long, 2]);
  }
});

test('ReplyReader refuses bytes that are not RESP2', () => {
  const wrong = [
    'x\r\n',
    '\r\n',
    '_\r\n',
    ':\r\n',
    ':-\r\n',
    ':1.5\r\n',
    ':1\rx',
    ':12345678901234567890\r\n',
    '$-2\r\n',
    '*-2\r\n',
    '$1\r\nxy\r\n',
    '$536870913\r\n',
    '*99999999\r\n',
    `+${'x'.repeat(70_000)}`,
  ];
  for (const text of wrong) {
    assert.throws(() => read([bytesOf(text)]), ReplyFault, JSON.stringify(text.slice(0, 20)));
  }
});

test('ReplyReader throws only ReplyFault for any bytes', () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom(...SAMPLES.map(([text]) => bytesOf(text))),
    fc.constantFrom('*', '$', ':', '-', '+', '\r', '\n', '\r\n', '1', '-1', '9').map(bytesOf),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      try {
        read(pieces);
      } catch (error) {
        assert.ok(error instanceof ReplyFault, `${error}`);
      }
    }),
    { numRuns: 2000 },
  );
});

test('ReplyReader reads any values, however they are split', () => {
  const leaf = fc.oneof(
    fc.maxSafeInteger(),
    fc.constant(null),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  );
  const { value } = fc.letrec<{ value: ReplyValue }>((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, leaf, fc.array(tie('value'), { maxLength: 5 })),
  }));
  fc.assert(
    fc.property(
      fc.array(value, { maxLength: 6 }),
      fc.array(fc.nat(), { maxLength: 8 }),
      (values, cuts) => {
        const bytes = bytesOf(values.map(written).join(''));
        const places = cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b);
        const pieces = [0, ...places].map((at, index) =>
          bytes.subarray(at, places[index] ?? bytes.length),
        );
        // JSON has no -0, and neither do replies.
        assert.deepEqual(JSON.stringify(read(pieces)), JSON.stringify(values));
      },
    ),
    { numRuns: 500 },
  );
});

function written(value: ReplyValue): string {
  if (typeof value === 'number') return `:${value}\r\n`;
  if (value === null) return '$-1\r\n';
  if (typeof value === 'string') return `$${value.length}\r\n${value}\r\n`;
  return Array.isArray(value) ? `*${value.length}\r\n${value.map(written).join('')}` : '';
}
