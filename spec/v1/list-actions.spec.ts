/** The lists of `v1`: their lines, pages and parameters. Covers src/v1/cursor.ts and src/v1/json-lines.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_SPAN, Span } from '../../src/base/span.ts';
import { COMPATIBILITIES, type Compatibility } from '../../src/config/compatibility.ts';
import { FOREVER, NOBODY } from '../../src/engine/engine.ts';
import { restMember } from '../surface/rest-member.ts';

const LIMITS = { bodyBytesMax: 2_000_000 };
const LINE_BYTES_MAX = 1_048_576;

type Ask = ReturnType<typeof restMember>['askWhole'];
type Line = Readonly<Record<string, string | number | null>>;

function eachDialect(
  title: string,
  run: (ask: Ask, compatibility: Compatibility) => Promise<void>,
): void {
  for (const compatibility of COMPATIBILITIES) {
    it(`${title}, compatibility ${compatibility}`, () =>
      run(restMember({ compatibility, limits: LIMITS }).askWhole, compatibility));
  }
}

/** Returns the lines of a list and, apart, the cursor of the last one. */
async function listed(
  ask: Ask,
  path: string,
): Promise<{ lines: readonly Line[]; cursor: string | null }> {
  const { status, fields, body } = await ask('GET', path);
  assert.equal(status, 200, body);
  assert.equal(fields.get('content-type'), 'application/x-ndjson');
  assert.equal(fields.get('cache-control'), 'no-store');
  const text = Buffer.from(body, 'latin1').toString();
  assert.ok(text.endsWith('\n'));
  const lines = text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  const last = lines.pop();
  assert.deepEqual(Object.keys(last ?? {}), ['cursor']);
  return { lines, cursor: last?.['cursor'] as string | null };
}

/** Returns the lines of all pages with this limit. */
async function paged(ask: Ask, path: string, limit: number): Promise<readonly Line[]> {
  const all: Line[] = [];
  for (let cursor = ''; ; ) {
    const from = cursor === '' ? '' : `&cursor=${cursor}`;
    const page = await listed(ask, `${path}${path.includes('?') ? '&' : '?'}limit=${limit}${from}`);
    assert.ok(page.lines.length <= limit);
    all.push(...page.lines);
    if (page.cursor === null) return all;
    assert.match(page.cursor, /^[A-Za-z0-9_-]{1,128}$/);
    assert.equal(page.lines.length, limit, 'only the last page is short');
    cursor = page.cursor;
  }
}

function sorted(lines: readonly Line[], member: string): unknown[] {
  return lines.map((line) => line[member]).sort();
}

async function assertRefused(ask: Ask, path: string, message: RegExp): Promise<void> {
  const { status, fields, body } = await ask('GET', path);
  assert.equal(status, 400, `${path} ${body}`);
  assert.equal(fields.get('content-type'), 'application/json');
  assert.match(JSON.parse(body).message, message);
}

describe('Lists of v1', () => {
  eachDialect('have a line for each entry, with everything about it', async (ask) => {
    assert.deepEqual(await listed(ask, 'v1/maps/m/entries'), { lines: [], cursor: null });
    const put = await ask(
      'PUT',
      'v1/maps/m/entries/a%22%C3%A9',
      'Ada "\u00fc"\n',
      'Content-Type: text/x\r\nGrid-Time-To-Live: 60\r\nGrid-Max-Idle: 7\r\n',
    );
    const { lines } = await listed(ask, 'v1/maps/m/entries');
    assert.deepEqual(lines, [
      {
        key: 'a"\u00e9',
        etag: put.fields.get('etag'),
        contentType: 'text/x',
        length: 9,
        value: 'Ada "\u00fc"\n',
        timeToLiveSeconds: 60,
        maxIdleSeconds: 7,
      },
    ]);
    const bare = await ask('PUT', 'v1/maps/m2/entries/%FF', '');
    assert.deepEqual((await listed(ask, 'v1/maps/m2/entries')).lines, [
      { keyBase64: '/w==', etag: bare.fields.get('etag'), length: 0, value: '' },
    ]);
    assert.deepEqual((await listed(ask, 'v1/maps/m2/keys')).lines, [{ keyBase64: '/w==' }]);
    assert.deepEqual(await listed(ask, 'v1/maps/m2/keys/'), {
      lines: [{ keyBase64: '/w==' }],
      cursor: null,
    });
    await ask('GET', 'rest/maps/m2/x');
    const maps = await listed(ask, 'v1/maps');
    assert.deepEqual(sorted(maps.lines, 'name'), ['m', 'm2']);
    assert.deepEqual(await listed(ask, 'v1/maps/'), maps);
    for (const line of maps.lines) {
      const one = JSON.parse((await ask('GET', `v1/maps/${line['name']}`)).body);
      assert.deepEqual(line, one);
    }
  });

  eachDialect('in pages have each element once, whatever the limit', async (ask) => {
    const keys = Array.from(
      { length: 150 },
      (_, index) => `${index % 2 === 0 ? 'a' : 'b'}${index}`,
    );
    for (const key of keys) await ask('PUT', `v1/maps/m/entries/${key}`, key);
    for (const key of keys.slice(0, 20)) await ask('PUT', `v1/maps/${key}/entries/k`, 'v');
    for (const limit of [1, 2, 7, 149, 150, 10_000]) {
      for (const list of ['keys', 'entries']) {
        const lines = await paged(ask, `v1/maps/m/${list}`, limit);
        assert.deepEqual(sorted(lines, 'key'), [...keys].sort());
      }
      const even = await paged(ask, 'v1/maps/m/keys?prefix=a', limit);
      assert.deepEqual(sorted(even, 'key'), keys.filter((key) => key.startsWith('a')).sort());
      const maps = await paged(ask, 'v1/maps', limit);
      assert.deepEqual(sorted(maps, 'name'), [...keys.slice(0, 20), 'm'].sort());
    }
    assert.equal((await paged(ask, 'v1/maps?prefix=b', 3)).length, 10);
    assert.deepEqual(await paged(ask, 'v1/maps/m/keys?prefix=b1%2B', 3), []);
    assert.equal((await paged(ask, 'v1/maps/m/keys?prefix=', 40)).length, 150);
  });

  it('leave out a value whose line would be too long', async () => {
    const { served, askWhole: ask } = restMember();
    const start = '{"key":"k","etag":"\\"0123456789abcdef\\"","length":1048576,"value":""}'.length;
    for (const [length, character, isLeftOut] of [
      [LINE_BYTES_MAX - start, 'x', false],
      [LINE_BYTES_MAX - start + 1, 'x', true],
      [LINE_BYTES_MAX, 'x', true],
      [1_500_000, 'x', true],
      [200_000, '\u0001', true],
      [100_000, '\u0001', false],
      [800_000, '\u00ff', true],
      [700_000, '\u00ff', false],
    ] as const) {
      const value = Buffer.alloc(length, character, 'latin1');
      const [map, key] = [Span.of('m'), Span.of('k')];
      served.set(map, key, Span.of(value), NO_SPAN, FOREVER, undefined, NOBODY);
      const { lines } = await listed(ask, 'v1/maps/m/entries');
      const [line = {}] = lines;
      assert.equal(line['length'], length);
      assert.equal(!('value' in line || 'valueBase64' in line), isLeftOut, `${length}`);
    }
  });

  eachDialect('refuse parameters by their names and values', async (ask) => {
    await ask('PUT', 'v1/maps/m/entries/k', 'v');
    await ask('PUT', 'v1/maps/m/entries/l', 'v');
    const { cursor } = await listed(ask, 'v1/maps/m/entries?limit=1');
    for (const path of ['v1/maps', 'v1/maps/m/keys', 'v1/maps/m/entries']) {
      for (const limit of ['0', '-1', '10001', '1.5', 'x', '', '00000000001']) {
        const message = new RegExp(`^Cannot use limit=${limit}: not an integer from 1 to 10000$`);
        await assertRefused(ask, `${path}?limit=${limit}`, message);
      }
      for (const bad of ['x', '', 'A'.repeat(43), 'A'.repeat(5000), '%00', `${cursor}A`]) {
        await assertRefused(ask, `${path}?cursor=${bad}`, /^Cannot use cursor=.*: not a cursor of/);
      }
      await assertRefused(ask, `${path}?x=1`, /"x": known are prefix, limit, cursor$/);
      await assertRefused(ask, `${path}?limit=1&limit=1`, /"limit": it is repeated/);
      await assertRefused(ask, `${path}?prefix=%f`, /"prefix": its value has an invalid escape/);
      assert.equal((await ask('HEAD', path)).status, 200);
      assert.equal((await ask('POST', path, 'x')).status, 405);
      assert.equal((await ask('DELETE', path)).status, 405);
    }
    await assertRefused(ask, `v1/maps/n/entries?cursor=${cursor}`, /not a cursor of this list/);
    await assertRefused(ask, `v1/maps?cursor=${cursor}`, /not a cursor of this list/);
    assert.equal((await listed(ask, `v1/maps/m/keys?cursor=${cursor}`)).lines.length, 1);
    const other = restMember({ limits: LIMITS });
    await other.askWhole('PUT', 'v1/maps/m/entries/k', 'v');
    const path = `v1/maps/m/entries?cursor=${cursor}`;
    await assertRefused(other.askWhole, path, /since the member has started/);
  });
});
