/** The members of a line: valid and invalid JSON, and the comparison with JSON.parse. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Span } from '../../src/base/span.ts';
import { LineMembers } from '../../src/v1/line-members.ts';

const KNOWN = new Set(['a', 'b', 'aBase64', 'key', 'keyBase64', 'ключ', '']);
const RUNS = Number(process.env.SOAK_CASES ?? 2000);
const NOT_AN_OBJECT = 'Cannot read the line: not a JSON object';

function membersOf(line: string | Buffer): LineMembers {
  const bytes = Buffer.from(line);
  // The line is a part of other bytes.
  const content = Buffer.concat([Buffer.from('"{'), bytes, Buffer.from('}"\n\\')]);
  return new LineMembers(new Span().set(content, 2, 2 + bytes.length), KNOWN);
}

function faultOf(line: string | Buffer): string {
  return membersOf(line).fault;
}

function bytesOf(line: string, name: string): string | undefined {
  const members = membersOf(line);
  const bytes = members.bytes(name);
  assert.equal(members.fault === '', bytes !== undefined, members.fault);
  return bytes?.toBuffer().toString('latin1');
}

describe('The members of a line', () => {
  it('are texts, whose bytes are UTF-8, and other words as they are written', () => {
    const members = membersOf(
      ' {"a" : "x\\u00e9\\ud83d\\ude00\\"\\/\\n" ,\t"b":-12.50e+3,"\\u006bey":"é","ключ":null}\r',
    );
    assert.equal(members.fault, '');
    assert.deepEqual(members.names, ['a', 'b', 'key', 'ключ']);
    assert.equal(members.text('a')?.toBuffer().toString(), 'xé😀"/\n');
    assert.equal(members.text('key')?.toBuffer().toString(), 'é');
    assert.deepEqual([members.written('b'), members.written('ключ')], ['-12.50e+3', 'null']);
    assert.deepEqual([members.written('a'), members.written('none')], ['xé😀"/\n', '']);
    assert.deepEqual(
      [members.isText('a'), members.isText('b'), members.has('c')],
      [true, false, false],
    );
    assert.deepEqual(membersOf('{}').names, []);
  });

  it('are bytes, also in base64', () => {
    assert.equal(bytesOf('{"a":""}', 'a'), '');
    assert.equal(bytesOf('{"aBase64":"/wA="}', 'a'), '\xff\0');
    assert.equal(bytesOf('{"aBase64":""}', 'a'), '');
    for (const wrong of ['/w', '/wA', '/wB=', '_wA=', '/wA=\\n', ' /wA=', '/w A=', '====', 'é']) {
      assert.equal(bytesOf(`{"aBase64":"${wrong}"}`, 'a'), undefined, wrong);
    }
    const both = membersOf('{"a":"","aBase64":""}');
    assert.equal(both.bytes('a'), undefined);
    assert.equal(both.fault, 'Cannot use the member "aBase64": the line also has "a"');
  });

  it('are refused by their name and value', () => {
    const long = 'x'.repeat(1000);
    for (const [line, fault] of [
      ['{"c":1}', 'Cannot use the member "c": it is unknown'],
      [`{"${long}":1}`, `Cannot use the member "${'x'.repeat(99)}…: it is unknown`],
      ['{"a":1,"a":1}', 'Cannot use the member "a": it is repeated'],
      ['{"a":1,"\\u0061":1}', 'Cannot use the member "a": it is repeated'],
      ['{"a":{}}', 'Cannot use the member "a": neither a text nor a number'],
      ['{"a":[', 'Cannot use the member "a": neither a text nor a number'],
      ['{"a":"\\ud800"}', 'Cannot use the member "a": it has half a surrogate pair'],
      ['{"a":"\\ude00\\ud83d"}', 'Cannot use the member "a": it has half a surrogate pair'],
      ['{"\\ud800":1}', 'Cannot use the member "": it has half a surrogate pair'],
    ] as const) {
      assert.equal(faultOf(line), fault);
    }
    for (const [line, name, fault] of [
      ['{}', 'a', 'Cannot use the member "a": it is missing'],
      ['{}', 'key', 'Cannot use the member "key": it is missing'],
      ['{"a":1}', 'a', 'Cannot use a=1: not a text in quotes'],
      ['{"a":null}', 'a', 'Cannot use a=null: not a text in quotes'],
      [
        `{"aBase64":"${long}!"}`,
        'a',
        `Cannot use aBase64="${'x'.repeat(99)}…: not base64 with its padding`,
      ],
    ] as const) {
      const members = membersOf(line);
      assert.equal(members.bytes(name), undefined);
      assert.equal(members.fault, fault);
    }
    for (const line of ['{"key":""}', '{"keyBase64":""}']) {
      const members = membersOf(line);
      assert.equal(members.key(), undefined);
      assert.equal(members.fault, 'Cannot use the member "key": it is empty');
    }
  });

  it('are not read from anything else than a JSON object in UTF-8', () => {
    for (const line of [
      ...['', '[]', '1', '"a"', 'null', '{', '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}'],
      ...['{,"a":1}', '{"a":1 "b":1}', '{"a" 1}', '{a:1}', "{'a':1}", '{"a":1}}', '{"a":1} x'],
      ...['{"a":01}', '{"a":+1}', '{"a":.5}', '{"a":1.}', '{"a":1e}', '{"a":-}', '{"a":tru}'],
      ...['{"a":"', '{"a":"x', '{"a":"\\', '{"a":"\\"', '{"a":"\\x"}', '{"a":"\\u12"}', '{"a":}'],
      ...['{"a":"\t"}', '{"a":"\0"}', '\ufeff{}', '{"a":NaN}', '{"a":Infinity}', '{"a":0x1}'],
    ]) {
      assert.equal(faultOf(line), NOT_AN_OBJECT, line);
    }
    for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82]]) {
      const line = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);
      assert.equal(faultOf(line), 'Cannot read the line: not UTF-8');
    }
  });

  it('are read in time that is linear in their length', () => {
    const length = 1_048_576;
    for (const [first, repeated] of [
      ['', '['],
      ['', '{"a":'],
      ['{"a":"', '\\"'],
      ['{"a":"', '\\\\'],
      ['{"a":"', 'x'],
      ['{', ' '],
      ['{"a":', '1'],
    ] as const) {
      const line = first + repeated.repeat(length / repeated.length);
      assert.notEqual(faultOf(line), '');
    }
  });

  it('are those that JSON.parse finds, or the line has a fault', () => {
    const word = fc.oneof(fc.double(), fc.integer(), fc.boolean(), fc.constant(null));
    const value = fc.oneof({ weight: 4, arbitrary: fc.string({ unit: 'binary' }) }, word);
    const object = fc.dictionary(fc.constantFrom(...KNOWN), value);
    const damaged = fc
      .tuple(object, fc.nat(), fc.string({ maxLength: 2 }))
      .map(([valid, at, text]) => {
        const json = JSON.stringify(valid);
        const from = at % (json.length + 1);
        return json.slice(0, from) + text + json.slice(from + (at % 3));
      });
    const line = fc.oneof(
      object.map((valid) => JSON.stringify(valid)),
      damaged,
      fc.json(),
    );
    fc.assert(
      fc.property(line, (json) => {
        const members = membersOf(json);
        const isUtf8 = !/\p{Surrogate}/u.test(json);
        const wanted = parsed(json);
        if (wanted === undefined || !isUtf8) return;
        if (members.fault !== '') {
          const isOfMembers = Object.entries(wanted).some(([name, each]) => {
            if (!KNOWN.has(name) || (typeof each === 'object' && each !== null)) return true;
            return (
              /\p{Surrogate}/u.test(name) ||
              (typeof each === 'string' && /\p{Surrogate}/u.test(each))
            );
          });
          assert(isOfMembers || members.fault.includes('repeated'), `${json}: ${members.fault}`);
          return;
        }
        assert.deepEqual([...members.names].sort(), Object.keys(wanted).sort());
        for (const [name, each] of Object.entries(wanted)) {
          if (members.isText(name)) assert.equal(members.written(name), each);
          else assert.deepEqual(JSON.parse(members.written(name)), each);
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('are never read from a line that JSON.parse refuses', () => {
    const text = fc.string({ unit: fc.constantFrom(...'{}[]":,\\u0a1-+.eEtrue\t ') });
    fc.assert(
      fc.property(text, (rest) => {
        const json = `{"a":${rest}}`;
        if (membersOf(json).fault === '') assert.notEqual(parsed(json), undefined, json);
      }),
      { numRuns: RUNS },
    );
  });
});

/** Returns the object of a line; undefined if it is none. */
function parsed(json: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
