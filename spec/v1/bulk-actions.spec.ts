/** Many changes in one request, right and wrong, in both dialects; and their course over time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { COMPATIBILITIES } from '../../src/config/compatibility.ts';
import { restMember } from '../surface/rest-member.ts';

const BULK = 'v1/maps/m/bulk';
const TAG = /^"[0-9a-f]{16}"$/;
const ABSENT_TAG = '"0123456789abcdef"';
const SECONDS_MAX = 2 ** 31 - 1;
const LINES_MAX = 10_000;
const LINE_BYTES_MAX = 1_048_576;
const LIMITS = { bodyBytesMax: 4_000_000, headerBytesMax: 1000 };

type Member = ReturnType<typeof restMember>;
type Result = Readonly<Record<string, unknown>>;

function eachDialect(title: string, run: (member: Member) => Promise<void>) {
  for (const compatibility of COMPATIBILITIES) {
    it(`${title}, compatibility ${compatibility}`, () =>
      run(restMember({ compatibility, limits: LIMITS })));
  }
}

/** Returns the lines of a response. */
function resultsIn(body: string): Result[] {
  assert(body === '' || body.endsWith('\n'));
  return body
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(Buffer.from(line, 'latin1').toString()));
}

/** Sends the lines, each a text or an object, and returns the results. */
async function bulk(
  { askWhole }: Pick<Member, 'askWhole'>,
  lines: readonly (string | object)[],
  path = BULK,
): Promise<Result[]> {
  const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
  const { status, fields, body } = await askWhole('POST', path, texts.join('\n'));
  const results = resultsIn(body);
  const isWrong = results.some((result) => Number(result.status) >= 400);
  assert.equal(status, isWrong ? 207 : 200, body);
  assert.equal(fields.get('content-type'), 'application/x-ndjson');
  assert.equal(fields.get('cache-control'), 'no-store');
  return results;
}

/** Returns the message of the only line. */
async function messageFor(member: Member, line: string | object): Promise<string> {
  const [result, ...others] = await bulk(member, [line]);
  assert.deepEqual([result?.status, others], [400, []], JSON.stringify(result));
  assert.deepEqual(Object.keys(result ?? {}), ['status', 'message']);
  return String(result?.message);
}

describe('A bulk request', () => {
  eachDialect('changes entries in the order of its lines', async (member) => {
    const { askWhole } = member;
    const [made, replaced, first, sum, removed, absent, ...others] = await bulk(member, [
      { op: 'set', key: 'a', value: '1', contentType: 'text/x' },
      { op: 'set', key: 'a', value: 'é', contentType: 'text/y' },
      { op: 'add', key: 'n' },
      { op: 'add', key: 'n', by: 41 },
      { op: 'delete', key: 'a' },
      { op: 'delete', key: 'a' },
    ]);
    assert.match(String(made?.etag), TAG);
    assert.deepEqual(Object.keys(made!), ['status', 'etag']);
    assert.deepEqual([made?.status, replaced?.status], [201, 204]);
    assert.notEqual(made?.etag, replaced?.etag);
    assert.deepEqual(Object.keys(sum!), ['status', 'etag', 'value']);
    assert.deepEqual([first?.value, sum?.value, sum?.status], ['1', '42', 200]);
    assert.deepEqual([removed, absent, others], [{ status: 204 }, { status: 204 }, []]);
    assert.equal((await askWhole('GET', 'rest/maps/m/a')).status, 204);
    const { body, fields } = await askWhole('GET', 'v1/maps/m/entries/n');
    assert.deepEqual([body, fields.get('etag')], ['42', sum?.etag]);
    assert.equal(fields.get('content-type'), 'text/plain');
  });

  eachDialect('has bytes as texts or in base64', async (member) => {
    const { askWhole } = member;
    const [, , , result] = await bulk(
      member,
      [
        { op: 'set', key: 'ключ/é', value: 'Größe', contentType: 'text/plain; charset=UTF-8' },
        { op: 'set', keyBase64: '/wA=', valueBase64: 'AP8=' },
        { op: 'set', key: 'empty', value: '', contentType: '' },
        { op: 'delete', keyBase64: '/wA=', ifNoneMatch: ABSENT_TAG },
        { op: 'set', keyBase64: 'YQ==', valueBase64: '', contentTypeBase64: 'YS//' },
        { op: 'add', keyBase64: '/wA=' },
      ],
      'v1/maps/%FF%2F/bulk',
    );
    assert.deepEqual(result, { status: 204 });
    const got = async (key: string) => {
      const { body, fields } = await askWhole('GET', `rest/maps/%FF%2F/${key}`);
      return [Buffer.from(body, 'latin1').toString(), fields.get('content-type')];
    };
    const name = encodeURIComponent('ключ/é');
    assert.deepEqual(await got(name), ['Größe', 'text/plain; charset=UTF-8']);
    assert.deepEqual(await got('%FF%00'), ['1', 'text/plain']);
    assert.deepEqual(await got('empty'), ['', undefined]);
    assert.deepEqual(await got('a'), ['', 'a/\xff']);
  });

  eachDialect('gives entries the lifetimes of lines, or of the map', async (member) => {
    const set = { op: 'set', value: 'v' };
    const keys = async (map: string, lines: readonly object[]) => {
      await bulk(
        member,
        lines.map((line, index) => ({ ...set, key: `${index}`, ...line })),
        `v1/maps/${map}/bulk`,
      );
      const seen = [];
      for (const index of lines.keys()) {
        const { fields } = await member.askWhole('GET', `v1/maps/${map}/entries/${index}`);
        seen.push([fields.get('grid-time-to-live'), fields.get('grid-max-idle')]);
      }
      return seen;
    };
    assert.deepEqual(
      await keys('m', [
        {},
        { timeToLiveSeconds: 60 },
        { timeToLiveSeconds: SECONDS_MAX, maxIdleSeconds: SECONDS_MAX },
        { timeToLiveSeconds: 0, maxIdleSeconds: 0 },
      ]),
      [
        [undefined, undefined],
        ['60', undefined],
        [`${SECONDS_MAX}`, `${SECONDS_MAX}`],
        [undefined, undefined],
      ],
    );
    assert.deepEqual(
      await keys('two-seconds', [
        {},
        { timeToLiveSeconds: 0 },
        { maxIdleSeconds: 9 },
        { op: 'set' },
      ]),
      [
        ['2', undefined],
        [undefined, undefined],
        ['2', '9'],
        ['2', undefined],
      ],
    );
    await bulk(member, [{ op: 'add', key: 'n' }], 'v1/maps/two-idle/bulk');
    const { fields } = await member.askWhole('GET', 'v1/maps/two-idle/entries/n');
    assert.equal(fields.get('grid-max-idle'), '2');
  });

  eachDialect('checks the condition of each line', async (member) => {
    const [made] = await bulk(member, [{ op: 'set', key: 'k', value: '1' }]);
    const { etag } = made!;
    const set = { op: 'set', key: 'k', value: '2' };
    const results = await bulk(member, [
      { ...set, ifNoneMatch: '*' },
      { ...set, ifMatch: ABSENT_TAG },
      { ...set, ifMatch: `W/${etag}` },
      { op: 'delete', key: 'k', ifNoneMatch: `"x" , W/${etag}` },
      { ...set, key: 'other', ifMatch: '*' },
      { ...set, ifMatch: `"x",${etag}` },
      { ...set, ifMatch: `${etag}` },
      { op: 'delete', key: 'k', ifMatch: '*', ifNoneMatch: `${etag}` },
      { ...set, ifNoneMatch: '*' },
    ]);
    const statuses = results.map(({ status }) => status);
    assert.deepEqual(statuses, [412, 412, 412, 412, 412, 204, 412, 204, 201]);
    const refusal = 'the entry does not meet If-Match or If-None-Match';
    assert.deepEqual(results.slice(0, 4), [
      { status: 412, etag, message: `Cannot set the entry: ${refusal}` },
      { status: 412, etag, message: `Cannot set the entry: ${refusal}` },
      { status: 412, etag, message: `Cannot set the entry: ${refusal}` },
      { status: 412, etag, message: `Cannot delete the entry: ${refusal}` },
    ]);
    assert.deepEqual(Object.keys(results[4]!), ['status', 'message']);
    assert.equal(results[6]?.etag, results[5]?.etag);
  });

  eachDialect('adds 64-bit integers, as numbers or as texts', async (member) => {
    const add = (by: string) => `{"op":"add","key":"n","by":${by}}`;
    const most = 2n ** 63n - 1n;
    const values = async (lines: readonly (string | object)[]) =>
      (await bulk(member, lines)).map(
        ({ status, value, message }) => value ?? `${status} ${message}`,
      );
    const refusal = '409 Cannot add to the entry: the value or the sum is not a 64-bit integer';
    assert.deepEqual(
      await values([
        ...['9007199254740993', '"9007199254740993"', '-0', '"-18014398509481987"'].map(add),
        ...[`${most}`, '"1"', `-${most}`, '0', `${-most - 1n}`, '"-1"'].map(add),
        { op: 'set', key: 'n', value: 'Ada' },
        add('1'),
      ]),
      [
        ...['9007199254740993', '18014398509481986', '18014398509481986', '-1'],
        ...[`${most - 1n}`, `${most}`, '0', '0', `${-most - 1n}`, refusal],
        '204 undefined',
        refusal,
      ],
    );
  });

  eachDialect('does the lines beside those that are wrong', async (member) => {
    const results = await bulk(member, [
      { op: 'set', key: 'a', value: '1' },
      'not JSON',
      { op: 'set', key: 'b', value: '2' },
      { op: 'set', key: 'c', value: '2', by: 1 },
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      [201, 400, 201, 400],
    );
    assert.equal((await member.askWhole('GET', 'v1/maps/m/size')).body, '2');
  });

  eachDialect('names what is wrong with a line', async (member) => {
    const set = { op: 'set', key: 'k', value: 'v' };
    const most = Array.from({ length: 16 }, () => ABSENT_TAG).join(',');
    for (const [line, message] of [
      ['{"op":"set"', 'Cannot read the line: not a JSON object'],
      ['{"op":"set","key":"k","value":"\\ud800"}', /"value": it has half a surrogate pair/],
      [{ key: 'k' }, 'Cannot use the member "op": it is missing'],
      [{ ...set, op: 'put' }, 'Cannot use op="put": not "set", "delete" or "add"'],
      [{ ...set, op: 'constructor' }, /op="constructor": not/],
      [{ ...set, op: 1 }, 'Cannot use op=1: not a text in quotes'],
      [{ op: 'set', value: 'v' }, 'Cannot use the member "key": it is missing'],
      [{ ...set, key: '' }, 'Cannot use the member "key": it is empty'],
      [{ op: 'delete', keyBase64: '' }, 'Cannot use the member "key": it is empty'],
      [{ ...set, key: 1 }, 'Cannot use key=1: not a text in quotes'],
      [{ ...set, keyBase64: 'aw==' }, 'Cannot use the member "keyBase64": the line also has "key"'],
      [{ op: 'delete', keyBase64: 'aw' }, 'Cannot use keyBase64="aw": not base64 with its padding'],
      [{ op: 'set', key: 'k' }, 'Cannot use the member "value": it is missing'],
      [{ ...set, valueBase64: '' }, /"valueBase64": the line also has "value"/],
      [{ ...set, value: null }, 'Cannot use value=null: not a text in quotes'],
      [{ ...set, by: 1 }, 'Cannot use the member "by": "set" has no use for it'],
      [{ op: 'delete', key: 'k', value: '' }, '"delete" has no use for it'],
      [{ op: 'delete', key: 'k', timeToLiveSeconds: 1 }, '"timeToLiveSeconds": "delete" has'],
      [{ op: 'add', key: 'k', ifMatch: '*' }, 'Cannot use the member "ifMatch": "add" has no use'],
      [{ op: 'add', key: 'k', contentType: 'a/b' }, '"contentType": "add" has no use for it'],
      [{ ...set, etag: '"x"' }, 'Cannot use the member "etag": it is unknown'],
      ['{"op":"add","key":"k","by":1,"by":1}', 'Cannot use the member "by": it is repeated'],
      [{ op: 'add', key: 'k', by: 1.5 }, 'Cannot use by=1.5: not a 64-bit integer'],
      [{ op: 'add', key: 'k', by: 'x' }, 'Cannot use by="x": not a 64-bit integer'],
      [{ op: 'add', key: 'k', by: '' }, 'Cannot use by="": not a 64-bit integer'],
      [{ op: 'add', key: 'k', by: null }, 'Cannot use by=null: not a 64-bit integer'],
      [`{"op":"add","key":"k","by":${2n ** 63n}}`, 'by=9223372036854775808: not a 64-bit'],
      ['{"op":"add","key":"k","by":1e3}', 'Cannot use by=1e3: not a 64-bit integer'],
      ...['timeToLiveSeconds', 'maxIdleSeconds'].flatMap((name) =>
        [-1, 1.5, SECONDS_MAX + 1, '1', true, null].map((value): [object, string] => [
          { ...set, [name]: value },
          `Cannot use ${name}=${JSON.stringify(value)}: not an integer from 0 to 2147483647`,
        ]),
      ),
      ...['ifMatch', 'ifNoneMatch'].flatMap((name) =>
        ['', 'x', '*,"a"', '"a', `${most},"b"`].map((value): [object, RegExp] => [
          { ...set, [name]: value },
          new RegExp(`^Cannot use ${name}=".*not \\* or 1 to 16 entity tags in quotes$`),
        ]),
      ),
      [{ ...set, ifMatch: 1 }, 'Cannot use ifMatch=1: not a text in quotes'],
      [{ ...set, contentType: 'a\nb' }, 'contentType="a\\nb": not the value of a header field'],
      [{ ...set, contentTypeBase64: 'Cg==' }, 'contentTypeBase64="Cg==": not the value of a'],
      [{ ...set, contentTypeBase64: '', contentType: '' }, 'the line also has "contentType"'],
      [{ ...set, contentType: 7 }, 'Cannot use contentType=7: not a text in quotes'],
      [
        { ...set, contentType: 'x'.repeat(986) },
        '"contentType": it has 986 bytes, the limit is 985',
      ],
    ] as const) {
      const text = await messageFor(member, line);
      if (typeof message === 'string') assert(text.includes(message), text);
      else assert.match(text, message);
    }
    assert.equal((await member.askWhole('GET', 'v1/maps/m/size')).body, '0');
    const type = 'x'.repeat(985);
    const [longest] = await bulk(member, [{ ...set, contentType: type, ifNoneMatch: most }]);
    assert.equal(longest?.status, 201);
    assert.equal((await member.askWhole('GET', 'rest/maps/m/k')).fields.get('content-type'), type);
    assert.deepEqual(member.failures, []);
  });

  eachDialect('skips empty lines', async (member) => {
    const line = '{"op":"add","key":"n"}';
    const body = `\n\r\n ${line}\r\n\t \n${' '.repeat(70_000)}\n${'\n'.repeat(70_000)}${line} \n\n${line}`;
    const results = await bulk(member, [body]);
    assert.deepEqual(
      results.map(({ value }) => value),
      ['1', '2', '3'],
    );
    for (const empty of ['', '\n', ' \r\n\n']) assert.deepEqual(await bulk(member, [empty]), []);
  });

  eachDialect('has a limit of lines and of their length', async (member) => {
    const add = '{"op":"add","key":"n"}';
    const lineOf = (length: number) => {
      const line = '{"op":"set","key":"k","value":""}';
      return line.replace('""', `"${'v'.repeat(length - line.length)}"`);
    };
    const lines = Array.from({ length: LINES_MAX }, () => add);
    const results = await bulk(member, ['', ...lines, ' ', '']);
    assert.deepEqual([results.length, results.at(-1)?.value], [LINES_MAX, `${LINES_MAX}`]);
    assert.equal((await bulk(member, [lineOf(LINE_BYTES_MAX), add]))[0]?.status, 201);
    for (const [refused, message] of [
      [[...lines, add], 'Cannot read the lines: there are more than 10000'],
      [
        [add, '', lineOf(LINE_BYTES_MAX + 1)],
        'Cannot read line 2: it is longer than 1048576 bytes',
      ],
      [[add, '\t', `${lineOf(LINE_BYTES_MAX)}\r`], 'Cannot read line 2: it is longer'],
    ] as const) {
      const { status, fields, body } = await member.askWhole('POST', BULK, refused.join('\n'));
      assert.deepEqual([status, fields.get('cache-control')], [413, 'no-store']);
      assert(JSON.parse(body).message.includes(message), body);
    }
    const { body } = await member.askWhole('GET', 'v1/maps/m/entries/n');
    assert.equal(body, `${LINES_MAX + 1}`);
  });

  eachDialect('has a long key, value and response', async (member) => {
    const key = 'k'.repeat(500_000);
    const [made] = await bulk(member, [{ op: 'set', key, value: 'v' }]);
    const [, other] = await bulk(member, [
      { op: 'delete', key: `${key}x` },
      { op: 'set', key, value: 'w', ifNoneMatch: made?.etag },
    ]);
    assert.deepEqual([other?.status, other?.etag], [412, made?.etag]);
    const wrong = await bulk(
      member,
      Array.from({ length: LINES_MAX }, () => `{"op":"${'\\u0001'.repeat(20)}"}`),
    );
    assert.equal(wrong.length, LINES_MAX);
    assert.equal(member.server.inFlight.usedBytes, 0);
  });

  eachDialect('is refused as a whole for its method, path or query', async (member) => {
    const line = '{"op":"add","key":"n"}';
    for (const [method, path, status, message] of [
      ['GET', BULK, 405, /allowed methods are OPTIONS, POST|allowed methods are POST/],
      ['PUT', BULK, 405, /allowed methods/],
      ['POST', `${BULK}?a=1`, 400, /the parameter "a": known are none/],
      ['POST', 'v1/maps//bulk', 400, /the name or the key is empty/],
    ] as const) {
      const answer = await member.askWhole(method, path, line);
      assert.equal(answer.status, status);
      assert.match(JSON.parse(answer.body).message, message);
    }
    assert.equal((await bulk(member, [line], `${BULK}/`)).length, 1);
    await member.ask('POST', 'rest/management/cluster/changeState', 'dev&&PASSIVE');
    const { status, body } = await member.askWhole('POST', BULK, line);
    assert.deepEqual([status, /PASSIVE/.test(body)], [503, true]);
    assert.equal((await member.askWhole('GET', 'v1/maps/m/entries/n')).body, '1');
    await nextTurn();
  });
});
