/** The phases of a start and a stop, and a change of the configuration in all parts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GridError } from '../../src/base/errors.ts';
import type { Part } from '../../src/base/part.ts';
import { change, end, start } from '../../src/member/life.ts';

type Phase = 'listen' | 'restore' | 'recover' | 'enter' | 'drain' | 'close';

const NAMES = ['a', 'b', 'c'] as const;
const START = ['listen', 'restore', 'recover', 'enter'] as const;
const STARTED = START.flatMap((phase) => [
  ...NAMES.map((name) => `${name} ${phase}`),
  ...(phase === 'listen' ? ['bound'] : []),
]);
const CLOSED = ['c close', 'b close', 'a close'];

/** Returns three parts that note their calls; one call, or none, does something else. */
function partsWith(at = '', instead: () => Promise<void> = async () => {}) {
  const calls: string[] = [];
  const partOf = (name: string): Part<object> => {
    const phase = (each: Phase) => async () => {
      calls.push(`${name} ${each}`);
      await Promise.resolve();
      if (at === `${name} ${each}`) await instead();
    };
    return {
      listen: phase('listen'),
      restore: phase('restore'),
      recover: phase('recover'),
      enter: phase('enter'),
      drain: phase('drain'),
      close: phase('close'),
    };
  };
  const watch = { onBound: () => calls.push('bound'), cutOff: () => calls.push('cut off') };
  return { calls, parts: NAMES.map(partOf), watch };
}

const failing = async () => {
  throw new Error('no');
};

test('A start goes through the parts phase by phase, a stop back through them', async () => {
  const { calls, parts, watch } = partsWith();
  await start(parts, watch);
  assert.deepEqual(calls.splice(0), STARTED);
  const ended = end(parts);
  assert.deepEqual(calls, ['c drain', 'b drain', 'a drain'], 'all of them begin in one turn');
  await ended;
  assert.deepEqual(calls.slice(NAMES.length), CLOSED);
});

test('After a phase that fails, connections are cut off and all parts are closed', async () => {
  for (const at of STARTED.filter((each) => each !== 'bound')) {
    const { calls, parts, watch } = partsWith(at, failing);
    await assert.rejects(start(parts, watch), { message: 'no' });
    const begun = STARTED.slice(0, STARTED.indexOf(at) + 1);
    assert.deepEqual(calls, [...begun, 'cut off', ...CLOSED], at);
  }
});

test('A start that is stopped closes all parts, and waits for that once it has recovered', async () => {
  for (const at of STARTED.filter((each) => !/listen|bound/.test(each))) {
    let stop = () => {};
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    let goOn = () => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const { calls, parts, watch } = partsWith(at, () => {
      stop();
      return held;
    });
    await assert.rejects(start(parts, watch, stopped), { code: 'STOPPED_RECOVERING' });
    const begun = STARTED.slice(0, STARTED.indexOf(at) + 1);
    if (at.endsWith('enter')) assert.deepEqual(calls, [...begun, 'cut off', ...CLOSED], at);
    else assert.deepEqual(calls.slice(0, begun.length + 1), [...begun, 'cut off'], at);
    goOn();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(calls, [...begun, 'cut off', ...CLOSED], at);
  }
});

test('A stop closes all parts even if one fails, and rejects with the first error', async () => {
  for (const at of NAMES.flatMap((name) => [`${name} drain`, `${name} close`])) {
    const { calls, parts } = partsWith(at, failing);
    await assert.rejects(end(parts), { message: 'no' });
    assert.deepEqual(calls, ['c drain', 'b drain', 'a drain', ...CLOSED], at);
  }
});

test('change changes nothing if a part rejects, else all parts in one turn', async () => {
  const calls: string[] = [];
  const noted = (name: string, rejects = false): Part<string> => ({
    async change(config, rereads) {
      calls.push(`check ${name} ${config} ${rereads}`);
      if (rejects) throw new GridError('DISK_FULL', { name });
      return () => calls.push(`change ${name}`);
    },
  });
  const [a, b, c] = NAMES.map((name) => noted(name)) as [Part<string>, Part<string>, Part<string>];
  (await change([a, {}, b, c], 'new', true))();
  const expected = [
    ...NAMES.map((name) => `check ${name} new true`),
    ...NAMES.map((name) => `change ${name}`),
  ];
  assert.deepEqual(calls.splice(0), expected);
  for (const [at, name] of NAMES.entries()) {
    const parts = [a, b, c].with(at, noted(name, true));
    await assert.rejects(change(parts, 'new', false), { code: 'DISK_FULL' });
    const checked = NAMES.slice(0, at + 1).map((each) => `check ${each} new false`);
    assert.deepEqual(calls.splice(0), checked, 'no part has changed');
  }
});
