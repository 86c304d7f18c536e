/**
 * Lists of a hash on a real server that resizes it meanwhile: each entry that exists throughout is
 * passed. All entries of a map are in one hash, as there is one partition.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Layout, MAP } from '../../src/engine/redis/layout.ts';
import { Asker } from '../engine/results.ts';
import { serverForTests } from './engine-server.ts';
import { sendCommand } from './server-group.ts';
import { serverProgram } from './server-process.ts';
import { storeEngine } from './store-engines.ts';

const CLUSTER_NAME = 'lists';
const ENTRIES = 200_000;
/** Entries that one command changes, within the limit for a reply. */
const CHANGED_AT_ONCE = 20_000;
/** Elements up to which the server keeps a hash compact. */
const COMPACT_MAX = 512;
/** Number of entries that come and go in small hashes. */
const OTHERS = 8000;
const LAYOUT = new Layout(CLUSTER_NAME, 1);
/** Sets fields from the first to the last number, or deletes them if there is no value. */
const CHANGE = `
local from, to = tonumber(ARGV[2]), tonumber(ARGV[3])
for number = from, to do
  local field = ARGV[1] .. ' ' .. number
  if ARGV[4] == '' then redis.call('HDEL', KEYS[1], field)
  else redis.call('HSET', KEYS[1], field, ARGV[4]) end
end`;
const VALUE = `\x10version0value`;

const server = serverForTests('--hash-max-listpack-entries', `${COMPACT_MAX}`);
const settings = { clusterName: CLUSTER_NAME, partitionCount: 1 };

async function change(map: string, prefix: string, count: number, value = VALUE): Promise<void> {
  const key = LAYOUT.key(MAP, 0, Buffer.from(map)).toString('latin1');
  for (let from = 1; from <= count; from += CHANGED_AT_ONCE) {
    const to = Math.min(count, from + CHANGED_AT_ONCE - 1);
    await sendCommand(server.port, 'EVAL', CHANGE, '1', key, prefix, `${from}`, `${to}`, value);
  }
}

/** Lists the map in calls of `count`, and asserts that all entries that stay are passed. */
async function assertListed(
  map: string,
  staying: number,
  count: number,
  between: (calls: number) => Promise<void>,
): Promise<void> {
  const engine = await storeEngine({ port: server.port, ...settings });
  try {
    let calls = 0;
    const seen = new Set<string>();
    await new Asker(engine)
      .allEntries(map, { count }, () => between(++calls))
      .then((entries) => {
        for (const { key } of entries) if (key.startsWith('stays')) seen.add(key);
      });
    assert.equal(seen.size, staying);
  } finally {
    await engine.close();
  }
}

/** Lets others come and go, so that the table becomes larger and smaller. */
function resizing(map: string, others: number, every: number, times: number) {
  let isLarge = false;
  let left = times;
  return async (calls: number): Promise<void> => {
    if (calls % every !== 0 || left-- <= 0) return;
    await change(map, 'other', others, isLarge ? '' : VALUE);
    isLarge = !isLarge;
  };
}

for (const count of [100, 10_000]) {
  test(`${ENTRIES} entries are passed in calls of ${count} while ${serverProgram()} resizes the hash`, async () => {
    const map = `large ${count}`;
    await change(map, 'stays', ENTRIES);
    await assertListed(map, ENTRIES, count, resizing(map, ENTRIES, 50, 4));
  });
}

for (const count of [1, 2, 7]) {
  test(`entries are passed in calls of ${count} while ${serverProgram()} resizes the hash`, async () => {
    for (const staying of [30, 700, 3000]) {
      const map = `small ${count} ${staying}`;
      await change(map, 'stays', staying);
      await change(map, 'other', OTHERS);
      const every = Math.max(1, Math.floor(staying / count / 20));
      await assertListed(map, staying, count, resizing(map, OTHERS, every, 20));
    }
  });
}

for (const count of [1, 3, 60]) {
  test(`entries are passed in calls of ${count} while ${serverProgram()} converts the hash`, async () => {
    for (const at of [1, 2, 5]) {
      const map = `compact ${count} ${at}`;
      await change(map, 'stays', COMPACT_MAX);
      await assertListed(map, COMPACT_MAX, count, async (calls) => {
        if (calls === at) await change(map, 'other', 1, `${VALUE}${'v'.repeat(100)}`);
        if (calls === at + 2) await change(map, 'other', 3000);
      });
    }
  });
}
