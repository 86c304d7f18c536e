/**
 * The life of a member: its parts pass through the phases of a start and of a stop, and a change of
 * the configuration is checked by all of them before any changes. This file knows no part.
 */
import { GridError } from '../base/errors.ts';
import type { Part } from '../base/part.ts';

/** The phases of a start after the ports are bound. */
const PHASES = ['restore', 'recover', 'enter'] as const;

interface Start {
  /** Called when the ports are bound. */
  onBound(): void;
  /** Cuts off the connections of a member whose start failed. */
  cutOff(): void;
}

/**
 * Starts the parts. If a phase of a part rejects, calls `cutOff`, closes all parts and rejects with
 * the same error. When `stopped` resolves before the end, does the same with GridError
 * STOPPED_RECOVERING.
 */
export async function start<Config>(
  parts: readonly Part<Config>[],
  { onBound, cutOff }: Start,
  stopped: Promise<unknown> = new Promise(() => {}),
): Promise<void> {
  let phase: keyof Part<Config> = 'listen';
  const stop = stopped.then(() => {
    throw new GridError('STOPPED_RECOVERING', {});
  });
  stop.catch(() => {});
  try {
    for (const part of parts) await part.listen?.();
    onBound();
    for (phase of PHASES) {
      for (const part of parts) {
        const work = part[phase]?.();
        if (work !== undefined) await Promise.race([work, stop]);
      }
    }
  } catch (error) {
    cutOff();
    const closed = close(parts).catch(() => {});
    // Data that is not recovered yet cannot be lost, and a disk may hang: the recovery ends at its
    // next slice, and a stop need not wait for it.
    const isStop = error instanceof GridError && error.code === 'STOPPED_RECOVERING';
    if (phase === 'enter' || !isStop) await closed;
    throw error;
  }
}

/** Drains the parts, then closes them. Rejects with the first error after closing all of them. */
export async function end<Config>(parts: readonly Part<Config>[]): Promise<void> {
  const last = parts.toReversed();
  const drained = await Promise.allSettled(last.map((part) => part.drain?.()));
  const closed = await Promise.allSettled([close(parts)]);
  throwFirst([...drained, ...closed]);
}

/** Closes the parts one after the other, the last one first. Rejects with the first error. */
async function close<Config>(parts: readonly Part<Config>[]): Promise<void> {
  const results: PromiseSettledResult<unknown>[] = [];
  for (const part of parts.toReversed()) {
    results.push(...(await Promise.allSettled([part.close?.()])));
  }
  throwFirst(results);
}

/**
 * Resolves with the function that changes the configuration of all parts. Rejects, without any
 * change, with the first error of a part.
 */
export async function change<Config>(
  parts: readonly Part<Config>[],
  config: Config,
  rereads: boolean,
): Promise<() => void> {
  const changes: (() => void)[] = [];
  for (const part of parts) {
    if (part.change !== undefined) changes.push(await part.change(config, rereads));
  }
  return () => {
    for (const each of changes) each();
  };
}

function throwFirst(results: readonly PromiseSettledResult<unknown>[]): void {
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
