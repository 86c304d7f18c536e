/** Each row of `v1` on maps, right and wrong, in both dialects. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { COMPATIBILITIES, type Compatibility } from '../../src/config/compatibility.ts';
import type { ReadResponse } from '../http/response-reader.ts';
import { restMember } from '../surface/rest-member.ts';

const ENTRY = 'v1/maps/m/entries/k';
const TAG = /^"[0-9a-f]{16}"$/;
const ABSENT_TAG = '"0123456789abcdef"';
const LIMITS = { bodyBytesMax: 200_000 };
const SECONDS_MAX = 2 ** 31 - 1;

type Ask = ReturnType<typeof restMember>['askWhole'];

function eachDialect(
  title: string,
  run: (ask: Ask, compatibility: Compatibility) => Promise<void>,
) {
  for (const compatibility of COMPATIBILITIES) {
    it(`${title}, compatibility ${compatibility}`, () =>
      run(restMember({ compatibility, limits: LIMITS }).askWhole, compatibility));
  }
}

function tagIn({ fields }: ReadResponse): string {
  const tag = fields.get('etag') ?? '';
  assert.match(tag, TAG);
  return tag;
}

function assertError(
  { status, fields, body }: ReadResponse,
  wanted: number,
  message: RegExp,
): void {
  assert.equal(status, wanted, body);
  assert.equal(fields.get('content-type'), 'application/json');
  assert.equal(fields.get('cache-control'), 'no-store');
  assert.match(JSON.parse(body).message, message);
}

/** Puts the value; returns the tag of the entry. */
async function put(ask: Ask, value: string, lines = 'Content-Type: a/b\r\n'): Promise<string> {
  return tagIn(await ask('PUT', ENTRY, value, lines));
}

describe('Entries of v1', () => {
  eachDialect('are made, replaced, read and removed', async (ask) => {
    const made = await ask('PUT', ENTRY, 'Ada', 'Content-Type: text/x\r\n');
    assert.equal(made.status, 201);
    assert.equal(made.fields.get('cache-control'), 'no-cache');
    const again = await ask('PUT', ENTRY, 'Ada Lovelace', 'Content-Type: text/y\r\n');
    assert.equal(again.status, 204);
    assert.notEqual(tagIn(again), tagIn(made));
    for (const method of ['GET', 'HEAD']) {
      const { status, fields, body } = await ask(method, ENTRY);
      assert.deepEqual([status, body], [200, method === 'GET' ? 'Ada Lovelace' : '']);
      assert.deepEqual(
        ['content-type', 'content-length', 'etag', 'cache-control'].map((name) => fields.get(name)),
        ['text/y', '12', tagIn(again), 'no-cache'],
      );
      assert.equal(fields.get('content-security-policy'), 'sandbox');
      assert.equal(fields.get('x-content-type-options'), 'nosniff');
      for (const name of ['grid-time-to-live', 'grid-max-idle']) assert.ok(!fields.has(name));
    }
    assert.equal((await ask('GET', 'rest/maps/m/k')).body, 'Ada Lovelace');
    for (let count = 0; count < 2; count++) {
      const removed = await ask('DELETE', ENTRY);
      assert.deepEqual([removed.status, removed.fields.get('cache-control')], [204, 'no-store']);
    }
    assertError(await ask('GET', ENTRY), 404, /Cannot GET .*: there is no such entry/);
    assert.equal((await ask('HEAD', ENTRY)).status, 404);
  });

  eachDialect('have any key, with slashes', async (ask) => {
    await ask('PUT', 'v1/maps/a%2Fb/entries/c/d%00/e/', 'v');
    assert.equal((await ask('GET', 'rest/maps/a%2Fb/c/d%00/e')).body, 'v');
    assert.equal((await ask('GET', 'v1/maps/a%2Fb/entries/c%2Fd%00%2Fe')).body, 'v');
    assert.equal((await ask('GET', 'v1/maps/m/entries/size')).status, 404);
  });

  eachDialect('need a name and a key', async (ask) => {
    const message = /the name or the key is empty/;
    for (const [method, path] of [
      ['GET', 'v1/maps/m/entries/'],
      ['PUT', 'v1/maps/m/entries/'],
      ['DELETE', 'v1/maps/m/entries/'],
      ['DELETE', 'v1/maps/m/entries//'],
      ['POST', 'v1/maps/m/counters/'],
      ['DELETE', 'v1/maps/m/'],
    ] as const) {
      assertError(await ask(method, path), 400, message);
    }
    const nameless = await ask('PUT', 'v1/maps//entries/k', 'v');
    assert.equal(nameless.status, 400);
    assert.match(nameless.body, message);
  });

  eachDialect('have the other methods and paths refused', async (ask) => {
    for (const [method, path, status] of [
      ['POST', ENTRY, 405],
      ['PUT', 'v1/maps/m/counters/k', 405],
      ['GET', 'v1/maps/m/counters/k', 405],
      ['PUT', 'v1/maps/m', 405],
      ['GET', 'v1/maps/m/events', 404],
      ['DELETE', 'v1/maps/m/entries', 405],
      ['DELETE', 'v1/maps/m/keys', 405],
      ['GET', 'v1/queues/q', 404],
      ['GET', 'v1', 404],
      ['GET', 'v1/', 404],
    ] as const) {
      assert.equal((await ask(method, path)).status, status, `${method} ${path}`);
    }
  });

  eachDialect('take no query', async (ask) => {
    for (const [method, path] of [
      ['GET', ENTRY],
      ['PUT', ENTRY],
      ['DELETE', ENTRY],
      ['POST', 'v1/maps/m/counters/k'],
      ['GET', 'v1/maps/m'],
      ['DELETE', 'v1/maps/m'],
    ] as const) {
      const refused = await ask(method, `${path}?by=1`, 'v');
      assertError(refused, 400, /the parameter "by": known are none/);
      assert.notEqual((await ask(method, `${path}?`)).status, 400, `${method} ${path}`);
    }
  });
});

describe('Conditional requests of v1', () => {
  eachDialect(
    'for changes are done if the condition holds, and otherwise not at all',
    async (ask) => {
      const first = await put(ask, '1');
      const second = await put(ask, '2');
      const list = `"x", ${first} ,W/"y",, ${second}`;
      for (const [method, lines, isDone] of [
        ['PUT', `If-Match: ${first}\r\n`, false],
        ['PUT', `If-Match: W/${second}\r\n`, false],
        ['PUT', `If-Match: "another-form"\r\n`, false],
        ['PUT', `If-None-Match: *\r\n`, false],
        ['PUT', `If-None-Match: ${list}\r\n`, false],
        ['PUT', `If-None-Match: W/${second}\r\n`, false],
        ['PUT', `If-Match: *\r\nIf-None-Match: *\r\n`, false],
        ['DELETE', `If-Match: ${first}\r\n`, false],
        ['DELETE', `If-None-Match: *\r\n`, false],
      ] as const) {
        const answer = await ask(method, ENTRY, 'x', lines);
        assert.equal(answer.status, isDone ? 204 : 412, lines);
        assert.equal(tagIn(answer), second);
        assertError(answer, 412, /the entry does not meet If-Match or If-None-Match/);
      }
      assert.equal((await ask('GET', ENTRY)).body, '2');
      const third = await put(ask, '3', `If-Match: ${list}\r\n`);
      const fourth = await put(ask, '4', `If-Match: "x"\r\nIf-Match: ${third}\r\n`);
      const fifth = await put(ask, '5', `If-Match: *\r\nIf-None-Match: ${third}\r\n`);
      assert.notEqual(fourth, fifth);
      assert.equal((await ask('DELETE', ENTRY, '', `If-Match: ${fifth}\r\n`)).status, 204);
      const gone = await ask('DELETE', ENTRY, '', `If-Match: ${fifth}\r\n`);
      assertError(gone, 412, /does not meet/);
      assert.ok(!gone.fields.has('etag'));
      assert.equal((await ask('PUT', ENTRY, '6', 'If-Match: *\r\n')).status, 412);
      assert.equal((await ask('PUT', ENTRY, '6', 'If-None-Match: *\r\n')).status, 201);
    },
  );

  eachDialect('for reads get 304 or 412', async (ask) => {
    const tag = await put(ask, 'v');
    for (const method of ['GET', 'HEAD']) {
      for (const [lines, status] of [
        [`If-None-Match: ${tag}\r\n`, 304],
        [`If-None-Match: W/${tag}\r\n`, 304],
        [`If-None-Match: *\r\n`, 304],
        [`If-None-Match: ${ABSENT_TAG}\r\n`, 200],
        [`If-Match: ${tag}\r\n`, 200],
        [`If-Match: *\r\n`, 200],
        [`If-Match: ${ABSENT_TAG}\r\n`, 412],
        [`If-Match: ${ABSENT_TAG}\r\nIf-None-Match: ${tag}\r\n`, 412],
        [`If-Match: ${tag}\r\nIf-None-Match: ${tag}\r\n`, 304],
      ] as const) {
        const answer = await ask(method, ENTRY, '', lines);
        assert.equal(answer.status, status, `${method} ${lines}`);
        assert.equal(tagIn(answer), tag);
        if (status !== 200) assert.ok(!answer.body.includes('v"'));
      }
    }
    await ask('DELETE', ENTRY);
    assertError(await ask('GET', ENTRY, '', 'If-None-Match: *\r\n'), 404, /no such entry/);
    assertError(await ask('GET', ENTRY, '', `If-Match: *\r\n`), 412, /does not meet/);
  });

  eachDialect('with an invalid condition are refused by its field and value', async (ask) => {
    const many = Array.from({ length: 17 }, () => ABSENT_TAG).join(',');
    for (const field of ['if-match', 'if-none-match']) {
      for (const value of ['0123456789abcdef', '"a', '', ',', '*, "a"', 'w/"a"', '"a" "b"', many]) {
        for (const method of ['GET', 'PUT', 'DELETE']) {
          const answer = await ask(method, ENTRY, '', `${field}: ${value}\r\n`);
          assertError(answer, 400, new RegExp(`^Cannot use ${field}: .*entity tags`));
        }
      }
      const most = Array.from({ length: 16 }, () => ABSENT_TAG).join(',');
      assert.notEqual((await ask('GET', ENTRY, '', `${field}: ${most}\r\n`)).status, 400);
    }
    assert.equal((await ask('GET', ENTRY)).status, 404);
  });
});

describe('Lifetimes of v1', () => {
  eachDialect('are those of the fields, or of the map', async (ask) => {
    const left = async (path: string): Promise<readonly (string | undefined)[]> => {
      const { fields } = await ask('GET', path);
      return [fields.get('grid-time-to-live'), fields.get('grid-max-idle')];
    };
    await put(ask, 'v', 'Grid-Time-To-Live: 60\r\n');
    assert.deepEqual(await left(ENTRY), ['60', undefined]);
    await put(ask, 'v', `Grid-Time-To-Live: ${SECONDS_MAX}\r\nGrid-Max-Idle: ${SECONDS_MAX}\r\n`);
    assert.deepEqual(await left(ENTRY), [`${SECONDS_MAX}`, `${SECONDS_MAX}`]);
    await put(ask, 'v', 'Grid-Max-Idle: 0\r\n');
    assert.deepEqual(await left(ENTRY), [undefined, undefined]);
    await ask('PUT', 'v1/maps/two-seconds/entries/k', 'v', 'Grid-Max-Idle: 9\r\n');
    assert.deepEqual(await left('v1/maps/two-seconds/entries/k'), ['2', '9']);
    await ask('PUT', 'v1/maps/two-idle/entries/k', 'v', 'Grid-Time-To-Live: 5\r\n');
    assert.deepEqual(await left('v1/maps/two-idle/entries/k'), ['5', '2']);
    await ask('PUT', 'v1/maps/two-seconds/entries/k', 'v', 'Grid-Time-To-Live: 0\r\n');
    assert.deepEqual(await left('v1/maps/two-seconds/entries/k'), [undefined, undefined]);
    await ask('POST', 'v1/maps/two-seconds/counters/n', '');
    assert.deepEqual(await left('v1/maps/two-seconds/entries/n'), ['2', undefined]);
  });

  eachDialect('are refused by their field and value', async (ask) => {
    for (const field of ['grid-time-to-live', 'grid-max-idle']) {
      for (const value of ['-1', '1.5', 'x', '', `${SECONDS_MAX + 1}`, '1'.repeat(30)]) {
        const answer = await ask('PUT', ENTRY, 'v', `${field}: ${value}\r\n`);
        assertError(answer, 400, new RegExp(`^Cannot use ${field}: "${value}": not an integer`));
      }
      const twice = await ask('PUT', ENTRY, 'v', `${field}: 1\r\n${field}: 1\r\n`);
      assert.deepEqual([twice.status, twice.body], [400, '']);
    }
    assert.equal((await ask('GET', ENTRY)).status, 404);
  });
});

describe('Ranges of v1', () => {
  eachDialect('are parts of the value', async (ask) => {
    for (const value of ['0123456789', 'x'.repeat(100_000)]) {
      const tag = await put(ask, value);
      const { length } = value;
      for (const [range, start, end] of [
        ['bytes=0-0', 0, 1],
        ['bytes=2-5', 2, 6],
        ['bytes=5-', 5, length],
        ['bytes=-3', length - 3, length],
        [`bytes=-${length + 1}`, 0, length],
        ['bytes=9-999999999999', 9, length],
        ['BYTES= 1-2 ', 1, 3],
      ] as const) {
        for (const lines of ['', `If-Range: ${tag}\r\n`]) {
          const { status, fields, body } = await ask(
            'GET',
            ENTRY,
            '',
            `Range: ${range}\r\n${lines}`,
          );
          assert.equal(status, 206, range);
          assert.equal(body, value.slice(start, end));
          assert.equal(fields.get('content-range'), `bytes ${start}-${end - 1}/${length}`);
          assert.equal(fields.get('content-type'), 'a/b');
        }
      }
      const whole = [
        'bytes=5-2',
        'bytes=-',
        'bytes=0-1,3-4',
        'lines=0-1',
        'bytes 0-1',
        'bytes=a-b',
      ];
      for (const range of whole) {
        const { status, body } = await ask('GET', ENTRY, '', `Range: ${range}\r\n`);
        assert.deepEqual([status, body.length], [200, length], range);
      }
      for (const condition of [`W/${tag}`, ABSENT_TAG, 'Sat, 28 Nov 2026 12:00:00 GMT']) {
        const lines = `Range: bytes=0-0\r\nIf-Range: ${condition}\r\n`;
        assert.equal((await ask('GET', ENTRY, '', lines)).status, 200, condition);
      }
      for (const range of [`bytes=${length}-`, 'bytes=-0', 'bytes=999999999999-']) {
        const answer = await ask('GET', ENTRY, '', `Range: ${range}\r\n`);
        assertError(answer, 416, /no byte of bytes=.* is among \d+ bytes/);
        assert.equal(answer.fields.get('content-range'), `bytes */${length}`);
      }
      assert.equal((await ask('HEAD', ENTRY, '', 'Range: bytes=0-0\r\n')).status, 200);
      const unmodified = `Range: bytes=0-0\r\nIf-None-Match: ${tag}\r\n`;
      assert.equal((await ask('GET', ENTRY, '', unmodified)).status, 304);
    }
    await put(ask, '');
    assert.equal((await ask('GET', ENTRY, '', 'Range: bytes=0-\r\n')).status, 416);
    for (const field of ['Range: bytes=0-0', `If-Range: ${ABSENT_TAG}`]) {
      const twice = await ask('GET', ENTRY, '', `${field}\r\n${field}\r\n`);
      assert.deepEqual([twice.status, twice.body], [400, '']);
    }
  });
});

describe('Counters of v1', () => {
  const COUNTER = 'v1/maps/m/counters/k';

  eachDialect('add to the number in an entry', async (ask) => {
    const first = await ask('POST', COUNTER);
    assert.deepEqual([first.status, first.body], [200, '1']);
    for (const [form, sum] of [
      ['by=41', '42'],
      ['by=-50', '-8'],
      ['&by=%2D1&', '-9'],
      ['by=0', '-9'],
    ] as const) {
      const { fields, body } = await ask('POST', COUNTER, form, 'Content-Type: a/type\r\n');
      assert.deepEqual([body, fields.get('content-type')], [sum, 'text/plain']);
      assert.equal(fields.get('cache-control'), 'no-cache');
    }
    const last = await ask('POST', COUNTER);
    const { body, fields } = await ask('GET', ENTRY);
    assert.deepEqual([body, fields.get('etag')], ['-8', tagIn(last)]);
  });

  eachDialect('are refused for another value, sum or parameter', async (ask) => {
    await put(ask, 'Ada');
    assertError(await ask('POST', COUNTER), 409, /the value or the sum is not a 64-bit integer/);
    await put(ask, `${2n ** 63n - 1n}`);
    assertError(await ask('POST', COUNTER), 409, /64-bit integer/);
    for (const [form, message] of [
      ['by=1.5', /by=1\.5: not a 64-bit integer/],
      ['by=', /by=: not a 64-bit integer/],
      ['by', /by=: not a 64-bit integer/],
      [`by=${2n ** 63n}`, /not a 64-bit integer/],
      ['by=%zz', /"by": its value has an invalid escape/],
      ['by=1&by=1', /"by": it is repeated/],
      ['to=1', /"to": known are by/],
      [`${'x'.repeat(200)}=1`, /"x{100}": known are by/],
    ] as const) {
      assertError(await ask('POST', COUNTER, form), 400, message);
    }
    assertError(await ask('POST', COUNTER, `by=${'1'.repeat(70_000)}`), 400, /longer than 65536/);
  });
});

describe('Maps of v1', () => {
  eachDialect('have a size, and are cleared', async (ask) => {
    for (const path of ['v1/maps/m', 'v1/maps/m/']) {
      const { status, fields, body } = await ask('GET', path);
      assert.deepEqual([status, JSON.parse(body)], [200, { name: 'm', size: 0, bytes: 0 }]);
      assert.equal(fields.get('cache-control'), 'no-store');
    }
    await put(ask, 'x'.repeat(1000));
    const { size, bytes } = JSON.parse((await ask('GET', 'v1/maps/m')).body);
    assert.deepEqual([size, bytes > 1000, bytes < 1100], [1, true, true]);
    assert.deepEqual(JSON.parse((await ask('GET', 'v1/maps/%FF%00')).body), {
      nameBase64: '/wA=',
      size: 0,
      bytes: 0,
    });
    const count = await ask('GET', 'v1/maps/m/size/');
    assert.deepEqual([count.body, count.fields.get('content-type')], ['1', 'text/plain']);
    assert.equal((await ask('DELETE', 'v1/maps/m')).status, 204);
    assert.equal((await ask('GET', 'v1/maps/m/size')).body, '0');
  });

  eachDialect('are not changed in PASSIVE, with status 503', async (ask, compatibility) => {
    const member = restMember({ compatibility });
    await put(member.askWhole, 'v');
    await member.ask('POST', 'rest/management/cluster/changeState', 'dev&&PASSIVE');
    for (const [method, path] of [
      ['PUT', ENTRY],
      ['DELETE', ENTRY],
      ['POST', 'v1/maps/m/counters/k'],
      ['DELETE', 'v1/maps/m'],
    ] as const) {
      const { status, body } = await member.askWhole(method, path);
      assert.deepEqual([status, /PASSIVE/.test(body)], [503, true], body);
    }
    assert.equal((await member.askWhole('GET', ENTRY)).body, 'v');
    assert.equal((await ask('GET', ENTRY)).status, 404);
  });
});
