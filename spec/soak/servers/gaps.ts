/** The times in which nothing of a kind succeeded, by member and range of slots. */
import type { Success } from './fault-load.ts';

export interface Gaps {
  /** The longest time between two reads of the members that were not hit, ms. */
  readonly reads: number;
  /** The same of changes. */
  readonly changes: number;
  /** From the replica's return until the last group had a change; ms. */
  readonly changesAfter: number;
  /** From the mending until the member that was hit had a read and a change of each range; ms. */
  readonly memberBack: number;
}

interface GapsOptions {
  /** From when on changes are looked at; and reads. */
  readonly from: number;
  readonly readsFrom: number;
  readonly replicatedAt: number;
  readonly mendedAt: number;
  readonly memberHit: number | undefined;
  groupOf(success: Success): string;
}

export function gapsOf(successes: readonly Success[], options: GapsOptions): Gaps {
  const { from, readsFrom, replicatedAt, mendedAt, memberHit, groupOf } = options;
  const ofHit = successes.filter(({ member }) => member === memberHit);
  const others = successes.filter(({ member }) => member !== memberHit);
  const reads = grouped(
    others.filter(({ isRead }) => isRead),
    groupOf,
  );
  const changes = grouped(
    others.filter(({ isRead }) => !isRead),
    groupOf,
  );
  const back = grouped(ofHit, (success) => `${success.isRead} ${groupOf(success)}`);
  return {
    reads: longest(reads, (times) => longestPause(times, readsFrom)),
    changes: longest(changes, (times) => longestPause(times, from)),
    changesAfter: longest(changes, (times) => pauseAfter(times, replicatedAt)),
    memberBack: longest(back, (times) => pauseAfter(times, mendedAt)),
  };
}

function grouped(
  successes: readonly Success[],
  groupOf: (success: Success) => string,
): readonly number[][] {
  const groups = new Map<string, number[]>();
  for (const success of successes) {
    const group = groupOf(success);
    const times = groups.get(group);
    if (times === undefined) groups.set(group, [success.at]);
    else times.push(success.at);
  }
  for (const times of groups.values()) times.sort((a, b) => a - b);
  return [...groups.values()];
}

function longest(groups: readonly number[][], pauseOf: (times: number[]) => number): number {
  return Math.max(0, ...groups.map(pauseOf));
}

function longestPause(times: readonly number[], from: number): number {
  let pause = 0;
  let last = from;
  for (const time of times) {
    if (time <= from) continue;
    pause = Math.max(pause, time - last);
    last = time;
  }
  return pause;
}

function pauseAfter(times: readonly number[], from: number): number {
  const next = times.find((time) => time >= from);
  return next === undefined ? Number.POSITIVE_INFINITY : next - from;
}
