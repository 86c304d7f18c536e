import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EmbeddedPart } from '../../../src/engine/embedded/embedded-part.ts';
import { FROM_REPLAY, SET } from '../../../src/engine/mutation.ts';
import type { Config } from '../../../src/member/config.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { NO_WAN } from '../../../src/wan/wan-config.ts';
import { load } from '../../config/documents.ts';
import { FakeClock } from '../../fake-clock.ts';
import { scraped } from '../../telemetry/scraped.ts';
import { changeOf } from '../changes.ts';
import { span } from '../results.ts';
import { DelayingSink } from '../sinks.ts';
import { AtOnce } from './at-once.ts';

const { config } = await load('grid.yaml', 'grid: { queue: { small: { max-size: 3 } } }');
const MIB = 1_048_576;

function partOf(changed: Partial<Config> = {}) {
  const clock = new FakeClock();
  const log = createLog('INFO', { write: () => {} });
  const changedConfig = { ...config, maxMemory: 64 * MIB, ...changed };
  const part = new EmbeddedPart(changedConfig, clock, log, [new DelayingSink()], {
    keepsTombstones: (map) => map.toString() === 'replicated',
  });
  const { engine } = part;
  return {
    part,
    engine,
    clock,
    ask: new AtOnce(engine),
    series: () => scraped((to) => part.figures(to)),
  };
}

/** Returns the series whose name begins with this text. */
function beginningWith(series: Record<string, number>, text: string): Record<string, number> {
  return Object.fromEntries(Object.entries(series).filter(([name]) => name.startsWith(text)));
}

test('A member that recovers reports its memory, a closed one nothing', async () => {
  const { part, engine, series } = partOf();
  const replay = engine.replay();
  const change = changeOf(SET, { version: 1, origin: FROM_REPLAY, sequence: 1 });
  change.life.copyFrom(change.version);
  replay.apply(change);
  const recovering = series();
  assert.deepEqual(Object.keys(recovering), [
    'gridnode_memory_used_bytes',
    'gridnode_memory_limit_bytes',
  ]);
  assert.equal(recovering.gridnode_memory_used_bytes, engine.memoryBytes);
  assert.equal(recovering.gridnode_memory_limit_bytes, 64 * MIB);
  replay.end();
  await part.enter();
  assert.equal(series().gridnode_maps, 1);
  assert.equal(series()['gridnode_map_entries{map="m"}'], 1);
  await part.close();
  assert.deepEqual(series(), {});
});

test('Maps, queues and their data are reported', async () => {
  const { part, engine, clock, ask, series } = partOf();
  await part.enter();
  for (const key of ['a', 'b']) ask.set('m', key, 'v');
  ask.set('"n"\n', 'k', 'v', '', { timeToLiveMs: 1000, maxIdleSeconds: 0 });
  for (const item of ['a', 'b', 'c']) ask.offer('small', item);
  const { hold } = ask.take('small');
  const ticket = engine.take(span('empty'), 1000, { onResult: () => {} });
  const data = {
    gridnode_maps: 2,
    gridnode_queues: 2,
    'gridnode_map_entries{map="m"}': 2,
    'gridnode_map_entries{map="%22n%22%0A"}': 1,
    'gridnode_map_bytes{map="m"}': 64,
    'gridnode_map_bytes{map="%22n%22%0A"}': 40,
    gridnode_unlisted_map_entries: 0,
    'gridnode_queue_items{queue="small"}': 2,
    'gridnode_queue_items{queue="empty"}': 0,
    'gridnode_queue_held_items{queue="small"}': hold === 0 ? 0 : 1,
    'gridnode_queue_held_items{queue="empty"}': 0,
    'gridnode_queue_waiters{queue="small"}': 0,
    'gridnode_queue_waiters{queue="empty"}': 1,
    'gridnode_queue_capacity_items{queue="small"}': 3,
    gridnode_unlisted_queue_items: 0,
    gridnode_expired_entries_total: 0,
  };
  const { gridnode_memory_used_bytes, gridnode_memory_limit_bytes, ...others } = series();
  assert.ok(gridnode_memory_used_bytes! > 0 && gridnode_memory_limit_bytes === 64 * MIB);
  assert.deepEqual(others, data);
  engine.cancel(ticket);
  clock.advance(60_000);
  const later = series();
  assert.deepEqual(beginningWith(later, 'gridnode_map_entries'), {
    'gridnode_map_entries{map="m"}': 2,
  });
  assert.deepEqual([later.gridnode_maps, later.gridnode_queues], [1, 1]);
  assert.equal(later.gridnode_expired_entries_total, 1);
  await part.close();
});

test('Names above the maximum are summed', async () => {
  const { part, ask, series } = partOf({ metricsNamesMax: 2 });
  await part.enter();
  for (let name = 0; name < 5; name++) {
    for (let key = 0; key <= name; key++) {
      ask.set(`${name}`, `${key}`, 'v');
      ask.offer(`${name}`, 'item');
    }
  }
  const found = series();
  assert.deepEqual([found.gridnode_maps, found.gridnode_queues], [5, 5]);
  for (const kind of ['map_entries{map', 'queue_items{queue']) {
    assert.deepEqual(Object.values(beginningWith(found, `gridnode_${kind}`)), [1, 2]);
  }
  assert.equal(found.gridnode_unlisted_map_entries, 12);
  assert.equal(found.gridnode_unlisted_queue_items, 12);
  await part.close();
});

test('Tombstones are reported with WAN, or if there are any', async () => {
  const names = ['gridnode_tombstones', 'gridnode_tombstones_dropped_total'];
  const { part, ask, series } = partOf({ wanTombstonesMax: 1 });
  await part.enter();
  const tombstones = () => beginningWith(series(), 'gridnode_tombstones');
  assert.deepEqual(tombstones(), {});
  const groups = new Map(config.endpointGroups).set('WAN', true);
  const unused = { ...config, ...NO_WAN };
  (await part.change({ ...unused, endpointGroups: groups }))();
  assert.deepEqual(Object.keys(tombstones()), names);
  (await part.change(unused))();
  assert.deepEqual(tombstones(), {});
  for (const key of ['a', 'b']) ask.set('replicated', key, 'v');
  for (const key of ['a', 'b']) ask.delete('replicated', key);
  assert.deepEqual(tombstones(), { [names[0]!]: 1, [names[1]!]: 1 });
  await part.close();
});

test('A scrape of 100,000 maps has 100 of them and is less than 1 MiB', async () => {
  const { part, ask, series } = partOf();
  await part.enter();
  for (let map = 0; map < 100_000; map++) ask.set(`map ${map}`, 'k', 'v');
  const found = series();
  assert.equal(Object.keys(beginningWith(found, 'gridnode_map_entries')).length, 100);
  assert.deepEqual([found.gridnode_maps, found.gridnode_unlisted_map_entries], [100_000, 99_900]);
  assert.ok(Object.keys(found).join('\n').length < MIB);
  await part.close();
});
