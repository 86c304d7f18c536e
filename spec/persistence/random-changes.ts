/** Random changes of every kind, and overwrites. */
import assert from 'node:assert/strict';
import { Random } from '../../bench/harness.ts';
import type { AtOnce } from '../engine/embedded/at-once.ts';
import type { PersistentSubject } from './subject.ts';

const KEYS = 12;
/** The reserved map is one of them. */
const MAPS = ['', 'map 1', 'map 2'] as const;

/** Makes one random change, which may be refused. */
export function changeAtRandom(ask: AtOnce, random: Random): void {
  const map = MAPS[random.below(MAPS.length)]!;
  const key = `key ${random.below(KEYS)}`;
  const queue = `queue ${random.below(3)}`;
  const type = random.below(3) === 0 ? 'text/plain' : '';
  const choice = random.below(100);
  if (choice < 45) ask.set(map, key, random.bytes(random.below(200)), type);
  else if (choice < 50) ask.set(map, key, random.bytes(9), type, LIFETIME);
  else if (choice < 60) ask.delete(map, key);
  else if (choice < 63) ask.clear(map);
  else if (choice < 83) ask.offer(queue, random.bytes(random.below(60)), type);
  else ask.poll(queue);
}

/** Overwrites random keys of a map, with 100 ms between the changes, while `isMore` returns true. */
export async function overwrite(
  { ask, pass }: Pick<PersistentSubject, 'ask' | 'pass'>,
  isMore: (count: number) => boolean,
): Promise<void> {
  const random = new Random(4);
  for (let count = 0; isMore(count); count++) {
    assert.ok(count < 9000);
    ask.set('overwritten', `key ${random.below(100)}`, Buffer.alloc(random.below(300)));
    await pass(100);
  }
}

const LIFETIME = { timeToLiveMs: 10_000_000, maxIdleSeconds: 100_000 };
