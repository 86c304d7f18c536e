/** Times without a successful request of a kind, by member and slot range. */
import type { Success } from './fault-load.ts';

export interface Gaps {
  /** Longest time between two reads through the members that were not affected, in ms. */
  readonly reads: number;
  /** Longest time between two changes through these members, in ms. */
  readonly changes: number;
  /**
   * Time from the return of the replica until each of these members had changed each range, in ms.
   */
  readonly changesAfter: number;
  /** Time from the repair until the affected member had read and changed each range, in ms. */
  readonly memberBack: number;
}

interface GapsOptions {
  /** Times from which gaps of changes and of reads count. */
  readonly from: number;
  readonly readsFrom: number;
  readonly replicatedAt: number;
  readonly repairedAt: number;
  readonly affectedMember: number | undefined;
  groupOf(success: Success): string;
}

export function gapsOf(successes: readonly Success[], options: GapsOptions): Gaps {
  const { from, readsFrom, replicatedAt, repairedAt, affectedMember, groupOf } = options;
  const ofAffected = successes.filter(({ member }) => member === affectedMember);
  const others = successes.filter(({ member }) => member !== affectedMember);
  const reads = grouped(
    others.filter(({ isRead }) => isRead),
    groupOf,
  );
  const changes = grouped(
    others.filter(({ isRead }) => !isRead),
    groupOf,
  );
  const back = grouped(ofAffected, (success) => `${success.isRead} ${groupOf(success)}`);
  return {
    reads: longest(reads, (times) => longestPause(times, readsFrom)),
    changes: longest(changes, (times) => longestPause(times, from)),
    changesAfter: longest(changes, (times) => pauseAfter(times, replicatedAt)),
    memberBack: longest(back, (times) => pauseAfter(times, repairedAt)),
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
