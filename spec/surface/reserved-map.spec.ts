/**
 * Covers src/base/reserved-map.ts. No request reaches the reserved map, whatever its path and content,
 * and a member with entries in it responds to every request as one without.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import type { Span } from '../../src/base/span.ts';
import { COMPATIBILITIES, type Compatibility } from '../../src/config/compatibility.ts';
import { EmbeddedMetrics } from '../../src/engine/embedded/embedded-metrics.ts';
import { FOUND } from '../../src/engine/engine.ts';
import { DIALECTS } from '../../src/surface/dialect.ts';
import { AtOnce } from '../engine/embedded/at-once.ts';
import { Asker } from '../engine/results.ts';
import { FakeCarrier } from '../http/fake-carrier.ts';
import type { ReadResponse } from '../http/response-reader.ts';
import { scraped } from '../telemetry/scraped.ts';
import { restMember } from './rest-member.ts';

const ROUNDS = Number(process.env.SOAK_SIZE ?? 500);
const SHORT = { timeToLiveMs: 20, maxIdleSeconds: 0 };
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'];
/** Parts of paths: names, keys, the words of paths, and forms of nothing. */
const PARTS = [
  '',
  '',
  '',
  'm',
  'k',
  '.',
  '..',
  '%00',
  '%20',
  '%2F',
  '%2f',
  '%2E',
  ';',
  ';a=b',
  '+',
];
const WORDS = ['entries', 'keys', 'size', 'counters', 'bulk', 'lookup', 'maps', 'rest', 'events'];
const ENDS = ['', '', '/', '//', '?', '?prefix=', '?limit=2', '?name=', '#', '%', '%2', '%zz'];
const BODIES = [
  '',
  'v',
  'by=2',
  '{"key":"k"}',
  '{"op":"set","key":"k","value":"v"}',
  '{"name":""}',
];

type Member = ReturnType<typeof restMember>;

/** Returns the element at random. */
function oneOf<Value>(random: Random, values: readonly Value[]): Value {
  return values[random.below(values.length)]!;
}

/** The operations of the engine whose first argument is a map. */
const OF_MAPS = ['get', 'set', 'add', 'delete', 'clear', 'size', 'entries'] as const;

/** Returns the names of the maps that the engine is called with from now on. */
function calledMaps({ engine }: Member): Set<string> {
  const names = new Set<string>();
  for (const operation of OF_MAPS) {
    const call = engine[operation].bind(engine) as (map: Span, ...others: unknown[]) => void;
    Object.assign(engine, {
      [operation]: (map: Span, ...others: unknown[]) => {
        names.add(map.toBuffer().toString('latin1'));
        call(map, ...others);
      },
    });
  }
  return names;
}

/** The requests on map `name`, with their contents. */
function requestsOn(name: string, key: string): readonly (readonly [string, string, string?])[] {
  const [rest, v1] = [`rest/maps/${name}`, `v1/maps/${name}`];
  const lines = [
    { op: 'set', key, value: 'b' },
    { op: 'add', key: 'n', by: '3' },
    { op: 'delete', key },
  ];
  const bulk = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  return [
    ['GET', `${rest}/${key}`],
    ['HEAD', `${rest}/${key}`],
    ['POST', `${rest}/${key}`, 'v'],
    ['PUT', `${rest}/${key}`, 'vv'],
    ['DELETE', `${rest}/${key}`],
    ['DELETE', rest],
    ['DELETE', `${rest}/`],
    ['GET', v1],
    ['GET', `${v1}/size`],
    ['GET', `${v1}/keys`],
    ['GET', `${v1}/entries`],
    ['GET', `${v1}/entries?prefix=k`],
    ['DELETE', v1],
    ['GET', `${v1}/entries/${key}`],
    ['PUT', `${v1}/entries/${key}`, 'p'],
    ['DELETE', `${v1}/entries/${key}`],
    ['POST', `${v1}/counters/n`, 'by=7'],
    ['POST', `${v1}/bulk`, bulk],
    ['POST', `${v1}/lookup`, `{"key":"${key}"}\n{"key":"n"}\n`],
  ];
}

const OF_ALL = [
  'v1/maps',
  'v1/maps/',
  'v1/maps?prefix=',
  'v1/maps?limit=10000',
  'v1/maps?prefix=m',
];

/** Returns the response with its lines sorted: the order of a list depends on the ids of maps. */
function comparable({ status, fields, body }: ReadResponse): unknown[] {
  return [status, [...fields], body.split('\n').sort()];
}

/** Makes a random change of the reserved map, in the engine and in its model. */
function changeReserved(ask: AtOnce, random: Random, model: Map<string, string>): void {
  const key = `k${random.below(30)}`;
  const choice = random.below(20);
  if (choice < 8) {
    ask.set('', key, `${choice}`);
    model.set(key, `${choice}`);
  } else if (choice < 12) {
    ask.delete('', key);
    model.delete(key);
  } else if (choice < 16) {
    ask.add('', 'sum', 1n);
    model.set('sum', String(Number(model.get('sum') ?? 0) + 1));
  } else if (choice === 16) {
    ask.clear('');
    model.clear();
  } else ask.set('', `short ${key}`, 'v', '', SHORT);
}

/** Returns the metrics of the data, with and without series of names. */
function metricsOf({ engine }: Member): readonly Record<string, number>[] {
  return [0, 1000].map((most) => scraped((to) => new EmbeddedMetrics(engine, most).reportData(to)));
}

function eachDialect(title: string, run: (compatibility: Compatibility) => Promise<void>): void {
  for (const each of COMPATIBILITIES) it(`${title}, compatibility ${each}`, () => run(each));
}

describe('The reserved map', () => {
  eachDialect('is reached by no path', async (compatibility) => {
    const member = restMember({ compatibility });
    const { engine, ask } = member;
    const own = new AtOnce(engine);
    own.set('', 'k', 'own');
    own.set('', '', 'own');
    const names = calledMaps(member);
    for (const key of ['', 'k', 'k/', '/k', '//', '%00']) {
      for (const [method, path, body = ''] of requestsOn('', key)) {
        const answer = await ask(method, path, body);
        const isOther = path === 'v1/maps/' && method === 'GET';
        const isEmpty =
          compatibility === 'hazelcast' && /^(DELETE|HEAD) rest/.test(`${method} ${path}`);
        if (!isOther && !isEmpty) assert.match(answer, /^4/, `${method} ${path}`);
      }
    }
    assert.deepEqual(names, new Set());
    const random = new Random(compatibility.length);
    for (let round = 0; round < ROUNDS; round++) {
      const parts = Array.from({ length: random.below(5) }, () =>
        oneOf(random, random.below(3) === 0 ? WORDS : PARTS),
      );
      const start = random.below(2) === 0 ? 'rest/maps' : 'v1/maps';
      const path = [start, ...parts].join('/') + oneOf(random, ENDS);
      const socket = new FakeCarrier();
      member.connect(socket);
      socket.receive(
        Buffer.from(member.textOf(oneOf(random, METHODS), path, oneOf(random, BODIES))),
      );
    }
    // Targets with a host, and a segment of another form.
    const segment = DIALECTS[compatibility].pathSegment;
    for (const target of [`http://h/${segment}/rest/maps//k`, `//${segment}/rest/maps//k`]) {
      for (const method of ['GET', 'DELETE']) {
        const socket = new FakeCarrier();
        member.connect(socket);
        socket.receive(`${method} ${target} HTTP/1.1\r\nHost: h\r\n\r\n`);
      }
    }
    assert.ok(names.size > 5 && !names.has(''), [...names].join());
    assert.deepEqual([own.get('', 'k').value, own.get('', '').value], ['own', 'own']);
    assert.equal(own.size('').count, 2);
  });

  it('is not cleared by DELETE maps/ of the original, even if the engine is closed', async () => {
    const { engine, ask } = restMember({ compatibility: 'hazelcast' });
    const own = new AtOnce(engine);
    own.set('', 'k', 'own');
    assert.equal(await ask('DELETE', 'rest/maps/'), '200');
    assert.equal(own.get('', 'k').outcome, FOUND);
    await engine.close();
    assert.equal(await ask('DELETE', 'rest/maps/'), '200');
    await ask('POST', 'rest/management/cluster/changeState', 'dev&&PASSIVE');
    assert.match(await ask('DELETE', 'rest/maps/'), /^500 /);
  });

  eachDialect('does not change a response or a metric', async (compatibility) => {
    const [bare, member] = [restMember({ compatibility }), restMember({ compatibility })];
    const random = new Random(2 + compatibility.length);
    const ask = new AtOnce(member.engine);
    const model = new Map<string, string>();
    for (let round = 0; round < ROUNDS; round++) {
      for (let rest = random.below(3); rest > 0; rest--) changeReserved(ask, random, model);
      const stepMs = 1 + random.below(3) * random.below(20);
      for (const { clock } of [bare, member]) clock.advance(stepMs);
      const name = random.below(8) === 0 ? '' : `m${random.below(4)}`;
      const isOfAll = random.below(6) === 0;
      const request: readonly [string, string, string?] = isOfAll
        ? ['GET', oneOf(random, OF_ALL)]
        : oneOf(random, requestsOn(name, `k${random.below(5)}`));
      const [expected, answer] = [
        await bare.askWhole(...request),
        await member.askWhole(...request),
      ];
      assert.deepEqual(comparable(answer), comparable(expected), request.join(' '));
      if (round % 10 === 0) assert.deepEqual(metricsOf(member), metricsOf(bare));
    }
    const entries = await new Asker(member.engine).allEntries('');
    const kept = entries.filter(({ key }) => !key.startsWith('short'));
    assert.deepEqual(new Map(kept.map(({ key, value }) => [key, value])), model);
    assert.ok(model.size > 0);
    member.engine.invariants();
  });

  it('is not in the pages of a list of names', async () => {
    const { engine, askWhole } = restMember();
    const own = new AtOnce(engine);
    for (const map of ['', 'a', 'b', 'c']) own.set(map, 'k', 'v');
    const names: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const from: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const { body } = await askWhole('GET', `v1/maps?limit=1${from}`);
      const lines = body
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      cursor = lines.pop().cursor;
      for (const line of lines) names.push(line.name);
    }
    assert.deepEqual(names, ['a', 'b', 'c']);
  });
});
