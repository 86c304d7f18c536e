/** Routes of request targets, and the parts of targets that are name and key. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Span } from '../../src/base/span.ts';
import { DELETE, GET, HEAD, POST, PUT } from '../../src/http/methods.ts';
import { RequestHead } from '../../src/http/request-head.ts';
import { resolveTarget } from '../../src/http/target.ts';
import { ROWS, routerOf } from './table.ts';

const METHODS = { DELETE, GET, HEAD, POST, PUT };

function route(target: string, segment = 'grid') {
  const head = new RequestHead();
  head.method = GET;
  const bytes = Buffer.from(`GET ${target} HTTP/1.1`, 'latin1');
  head.target.set(bytes, 4, 4 + Buffer.byteLength(target, 'latin1'));
  assert(resolveTarget(head, new Span()) === 0, `${target} is a target`);
  const parts = { nameStart: 0, nameEnd: 0, keyStart: 0, keyEnd: 0 };
  const match = routerOf('none', segment).match(head, parts);
  const text = (start: number, end: number): string => bytes.toString('latin1', 4 + start, 4 + end);
  return {
    match,
    name: text(parts.nameStart, parts.nameEnd),
    key: text(parts.keyStart, parts.keyEnd),
  };
}

describe('Router.match', () => {
  it('finds every route of the table', () => {
    for (const row of ROWS) {
      const path = row.path.replace(/\{seconds\}/, '5').replace(/\{\w+\}/g, 'x');
      const { match } = route(`/grid/${path}`);
      const method = METHODS[row.method];
      assert.equal(match?.groups[method], row.group, row.path);
      assert.equal(match?.refusal, undefined, row.path);
      const endpoint = match?.endpoints[method];
      assert(endpoint !== undefined && match?.path === row.path, row.path);
      const { run, waits, respond, ...found } = endpoint;
      assert.deepEqual(found, row);
    }
  });

  it('takes everything after the map as the key, except one trailing slash', () => {
    assert.deepEqual(pick(route('/grid/rest/maps/m/a/b')), ['m', 'a/b']);
    assert.deepEqual(pick(route('/grid/rest/maps/m/a//')), ['m', 'a/']);
    assert.deepEqual(pick(route('/grid/rest/maps/m/a?b/c')), ['m', 'a']);
    assert.deepEqual(pick(route('/grid/rest/maps/m%2F/%2F')), ['m%2F', '%2F']);
  });

  it('serves only paths below its own segment', () => {
    assert.equal(route('/hazelcast/health').match, undefined);
    assert.notEqual(route('/hazelcast/health', 'hazelcast').match, undefined);
    assert.equal(route('/grid/health', 'hazelcast').match, undefined);
    assert.deepEqual(pick(route('/a/rest/maps/m/k', 'a')), ['m', 'k']);
  });

  it('distinguishes an unknown path within a group from one outside all groups', () => {
    assert.equal(route('/grid/rest/queues/a/b/c').match?.refusal, 'PATH_UNKNOWN');
    for (const path of ['maps/', 'maps/m/', 'maps//k', 'queues/', 'queues//5']) {
      assert.equal(route(`/grid/rest/${path}`).match?.refusal, 'PATH_WITHOUT_NAME', path);
    }
    assert.equal(route('/grid/rest/queues/q//').match?.path, 'rest/queues/{queue}/{seconds}');
    assert.equal(route('/grid/healthy').match?.refusal, 'PATH_WITHOUT_NAME');
    assert.equal(route('/grid/rest/wan/what').match?.groups[GET], 'WAN');
    assert.equal(route('/grid/rest/maps').match, undefined);
    assert.equal(route('/grid/rest/').match, undefined);
    assert.equal(route('/').match, undefined);
  });
});

function pick({ name, key }: { name: string; key: string }): string[] {
  return [name, key];
}
