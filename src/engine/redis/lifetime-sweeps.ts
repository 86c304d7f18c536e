/**
 * Reclaims the memory of expired entries, which no request finds or counts. Every second the oldest
 * member checks some of the partitions, each about every 10 s. A check asks for the maps with
 * expired entries, which are removed in short steps. Every PURGE_ROUNDS rounds, expiry times of
 * deleted entries are also removed. Old tombstones are removed in each round while there are publishers,
 * otherwise with the purges. Clears that have failed in some partitions are continued (map-clears.ts):
 * every round, or with the purges if no map has a reference. Everything is repeatable.
 * Tested by redis-membership-store.spec.ts.
 */
import { Span } from '../../base/span.ts';
import { header } from './command-buffer.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Failure } from './failure.ts';
import { EXPIRIES, EXPIRING, type Layout, MAP, TOMBSTONE_ORDER, TOMBSTONES } from './layout.ts';
import { PURGE, SWEEP } from './map-scripts.ts';
import { SWEEP_MARKED } from './marked-scripts.ts';
import type { Marking } from './marking.ts';
import type { RedisMerges } from './redis-merges.ts';
import { ARRAY, INTEGER, kindSet } from './reply.ts';
import { NUMBER, READ, type Reading, runStep, STRINGS, UPKEEP } from './run-step.ts';
import type { TombstoneLimits } from './tombstone-limits.ts';

/** Maximum number of expired entries that one step removes. */
const SWEPT_MAX = 100;
/** Time in which all partitions are checked, in seconds; longer if there are very many. */
const ROUND_SECONDS = 10;
/** Rounds between two purges of a partition. */
const PURGE_ROUNDS = 5;
/** Expiry times that one purge step checks. */
const PURGED_MAX = 500;
const PARTITIONS_PER_RUN_MAX = 256;
/** Maximum number of partitions that are processed at the same time. */
const PARTITIONS_AT_ONCE = 4;
/** Maximum number of maps that one check of a partition finds; the next check finds the rest. */
const MAPS_PER_CHECK = 64;
export const FROM_FIRST = Buffer.from('-inf');
const TO_LAST = Buffer.from('+inf');
const ENDED = header(7, 'ZRANGEBYSCORE');
const LIMIT = Buffer.from('LIMIT');

export interface SweepOptions {
  readonly dispatcher: Dispatcher;
  readonly layout: Layout;
  readonly marking: Marking;
  readonly tombstones: TombstoneLimits;
  /** The servers' time, in ms. */
  now(): number;
}

interface LifetimeSweepsOptions extends SweepOptions {
  readonly merges: Pick<RedisMerges, 'trim' | 'clears'>;
}

export class LifetimeSweeps {
  readonly #options: LifetimeSweepsOptions;
  #next = 0;
  #round = 0;
  #isRunning = false;

  constructor(options: LifetimeSweepsOptions) {
    this.#options = options;
  }

  /** Starts a run. Called every second. Does nothing while the last run is under way. */
  begin(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const { partitionCount } = this.#options.layout;
    const share = Math.ceil(partitionCount / ROUND_SECONDS);
    let left = Math.min(share, PARTITIONS_PER_RUN_MAX);
    const work = async (): Promise<void> => {
      while (left > 0) {
        left--;
        const partition = this.#next;
        const round = this.#round;
        this.#next = (partition + 1) % partitionCount;
        if (this.#next === 0) this.#round++;
        await this.#sweepPartition(partition);
        const { marking, merges } = this.#options;
        const isPurged = (round + partition) % PURGE_ROUNDS === 0;
        // A clear may have failed before the last reference was removed.
        if (marking.isActive || isPurged) await merges.clears.resume(partition);
        if (isPurged) await this.#purgePartition(partition);
        if (isPurged || marking.publishers.length > 0) await merges.trim(partition);
      }
    };
    const works = Array.from({ length: PARTITIONS_AT_ONCE }, work);
    void Promise.all(works).finally(() => {
      this.#isRunning = false;
    });
  }

  /**
   * Removes the expired entries of a partition. Entries that could not be removed are left to the
   * next round.
   */
  async #sweepPartition(partition: number): Promise<void> {
    for (const map of await listedMaps(this.#options, partition, false, 0)) {
      await new Promise<void>((resolve) => {
        sweep(this.#options, partition, map, resolve, () => resolve());
      });
    }
  }

  async #purgePartition(partition: number): Promise<void> {
    for (let from = 0; ; from += MAPS_PER_CHECK) {
      const maps = await listedMaps(this.#options, partition, true, from);
      for (const map of maps) {
        for (let cursor: number | undefined = 0; cursor !== undefined; ) {
          cursor = await purge(this.#options, partition, map, cursor);
        }
      }
      if (maps.length < MAPS_PER_CHECK) return;
    }
  }
}

/**
 * Executes one step of a purge. Resolves with the next cursor, or undefined at the end or if it
 * failed.
 */
function purge(
  { dispatcher, layout }: SweepOptions,
  partition: number,
  map: Buffer,
  cursor: number,
): Promise<number | undefined> {
  return new Promise((resolve) => {
    runStep(dispatcher, {
      partition,
      traits: UPKEEP,
      reading: NUMBER,
      write(commands) {
        commands.begin(PURGE.header);
        commands.bytes(layout.key(MAP, partition, map));
        commands.bytes(layout.key(EXPIRIES, partition, map));
        commands.span(layout.prefix(EXPIRING, partition));
        commands.number(cursor);
        commands.number(PURGED_MAX);
        commands.bytes(map);
      },
      onDone: (next) => resolve(next === 0 ? undefined : next),
      onFailed: () => resolve(undefined),
    });
  });
}

/** The reply of SWEEP or SWEEP_MARKED: the entries to be checked, and tombstones dropped early. */
const SWEEP_REPLY: Reading<{ readonly left: number; readonly dropped: number }> = {
  replyKinds: kindSet(INTEGER, ARRAY),
  read(reply) {
    if (reply.kind === INTEGER) return { left: reply.integer, dropped: 0 };
    return { left: reply.next().integer, dropped: reply.next().integer };
  },
};

/** Removes the expired entries of a map in the partition until none remains. */
export function sweep(
  options: SweepOptions,
  partition: number,
  map: Buffer,
  onDone: () => void,
  onFailed: (failure: Failure) => void,
): void {
  const { dispatcher, layout, marking, tombstones } = options;
  const isMarked = marking.of(Span.of(map)) !== undefined;
  runStep(dispatcher, {
    partition,
    // The entries have already expired for every reader.
    traits: UPKEEP,
    reading: SWEEP_REPLY,
    write(commands) {
      commands.begin(isMarked ? SWEEP_MARKED.header : SWEEP.header);
      commands.bytes(layout.key(MAP, partition, map));
      commands.bytes(layout.key(EXPIRIES, partition, map));
      commands.span(layout.prefix(EXPIRING, partition));
      if (isMarked) commands.span(layout.prefix(TOMBSTONES, partition));
      if (isMarked) commands.span(layout.prefix(TOMBSTONE_ORDER, partition));
      commands.number(SWEPT_MAX);
      commands.bytes(map);
      if (isMarked) commands.number(tombstones.ofChanges.retentionSeconds);
      if (isMarked) commands.number(tombstones.ofChanges.count);
    },
    onDone({ left, dropped }) {
      tombstones.drop(dropped);
      if (left === 0) onDone();
      else sweep(options, partition, map, onDone, onFailed);
    },
    onFailed,
  });
}

/**
 * Resolves with the maps of the partition that may have expired entries, or with `all` that have
 * lifetimes, from index `from` on; with none if the server is unavailable.
 */
function listedMaps(
  options: SweepOptions,
  partition: number,
  all: boolean,
  from: number,
): Promise<readonly Buffer[]> {
  const { dispatcher, layout } = options;
  return new Promise((resolve) => {
    runStep(dispatcher, {
      partition,
      traits: READ,
      reading: STRINGS,
      write(commands) {
        commands.begin(ENDED);
        commands.span(layout.prefix(EXPIRING, partition));
        commands.bytes(FROM_FIRST);
        if (all) commands.bytes(TO_LAST);
        else commands.number(Math.floor(options.now()));
        commands.bytes(LIMIT);
        commands.number(from);
        commands.number(MAPS_PER_CHECK);
      },
      onDone: resolve,
      onFailed: () => resolve([]),
    });
  });
}
