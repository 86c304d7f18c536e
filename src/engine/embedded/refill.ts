/**
 * Fills an engine from messages (see Replay in ../stored-engine.ts). Whether a message applies
 * depends on its own fields and on the stored data: the version of an entry, the number of an item,
 * the life of a map. If two changes of an entry have the same version, compareChanges
 * (../mutation.ts) selects one: see entry-comparison.ts and recent-removals.ts. When a map has
 * become empty, its life must remain recorded, because another partition's messages may be of an
 * earlier one. So every named map is retained: to the end, or, once messages arrive in the order
 * recorded, until memory runs short.
 *
 * When memory is used up, all cells are packed, and ended lives are discarded. That takes long, so
 * it is repeated only after a further sixteenth of the memory has been allocated, which may exceed
 * the limit until then. Data that a member once stored fits into the same memory again, but may be
 * arranged less densely meanwhile: with `mayExceed` there is memory for each message.
 */
import { HAS_EXPENSIVE_ASSERTIONS } from '../../base/expensive-assertions.ts';
import { APPLIED, MEMORY_FULL, type Outcome } from '../engine.ts';
import { CLEAR, type Mutation, OFFER, SET } from '../mutation.ts';
import type { Replay, ReplayFacts } from '../stored-engine.ts';
import { Version } from '../version.ts';
import type { EngineComponents } from './engine-components.ts';
import { assertInvariants } from './engine-invariants.ts';
import { RecentRemovals } from './recent-removals.ts';
import { isFromVisit, isMergedMap } from './tombstones.ts';

/** Result of `#open` for a map whose life, as in the message, is over. */
const OVER = -1;
/** Share of all memory that may be allocated between two packings, and beyond the limit. */
const PACE_SHARE = 1 / 16;
/** Bytes beyond the limit above which a message fails: there are no addresses for it. */
const EXCESS_BYTES_MAX = 2 ** 31;

export class Refill implements Replay {
  readonly #components: EngineComponents;
  /**
   * Life of the map with the id `#last`: nearly every message is of the same map as the previous
   * one. This makes a refill 7 % faster.
   */
  readonly #life = new Version();
  #last = 0;
  readonly #removals = new RecentRemovals();
  readonly #mayExceed: boolean;
  /** Whether clears were to end entries without ending the life of the map. */
  #hasEndedEntries = false;
  /** Whether maps without entries may be discarded. */
  #isInOrder = false;

  constructor(components: EngineComponents, { mayExceed = false, lastReadMs }: ReplayFacts) {
    this.#components = components;
    this.#mayExceed = mayExceed;
    components.store.lastReadMs = lastReadMs;
    components.store.pool.isFilling = true;
  }

  apply(mutation: Mutation): Outcome {
    const { store } = this.#components;
    let outcome = this.#make(mutation);
    if (outcome === MEMORY_FULL) outcome = this.#makeWhenFull(mutation);
    if (outcome !== APPLIED) return outcome;
    store.versions.restore(mutation.version);
    if (mutation.operation === CLEAR) store.raiseAll(mutation.sequence);
    else store.raise(mutation.partition, mutation.sequence);
    return APPLIED;
  }

  restoreSequence(partition: number, sequence: number): void {
    this.#components.store.raise(partition, sequence);
  }

  beginLog(): void {
    this.#isInOrder = true;
  }

  end(): boolean {
    const { store, sweeper } = this.#components;
    const { meter } = store;
    this.#discardEmptyMaps();
    if (this.#hasEndedEntries) sweeper.removeEnded();
    if (meter.exceedsWriteLimit) this.#condense();
    store.pool.isFilling = false;
    store.lastReadMs = undefined;
    if (HAS_EXPENSIVE_ASSERTIONS) assertInvariants(this.#components);
    return this.#fits();
  }

  /** Whether the data fits into memory. */
  #fits(): boolean {
    const { bytes, bytesMax } = this.#components.store.meter;
    return this.#mayExceed || bytes <= bytesMax * (1 + PACE_SHARE);
  }

  /** Applies a message for which there was no memory. */
  #makeWhenFull(mutation: Mutation): Outcome {
    const { meter } = this.#components.store;
    if (this.#isInOrder) this.#discardEmptyMaps();
    this.#condense();
    if (!this.#fits()) return MEMORY_FULL;
    const pace = Math.min(meter.bytesMax * PACE_SHARE, EXCESS_BYTES_MAX);
    const most = this.#mayExceed ? EXCESS_BYTES_MAX : pace;
    for (let more = pace; more <= most; more *= 2) {
      meter.fill(more);
      const outcome = this.#make(mutation);
      if (outcome !== MEMORY_FULL) return outcome;
    }
    return MEMORY_FULL;
  }

  /** Discards the maps without entries; a map with entries retains its life by itself. */
  #discardEmptyMaps(): void {
    const { retainedMaps, mapNames, cleaner } = this.#components;
    for (const id of retainedMaps) mapNames.release(id);
    cleaner.payForNames();
    retainedMaps.clear();
    this.#last = 0;
  }

  /** Packs all cells. */
  #condense(): void {
    const { store, sweeper, cleaner } = this.#components;
    sweeper.finishClears();
    for (let number = 0; number < store.partitionCount; number++) {
      const partition = store.partition(number);
      if (partition === undefined) continue;
      partition.fit();
      cleaner.condense(partition);
    }
  }

  #make(mutation: Mutation): Outcome {
    const { maps, queues, mapNames, tombstones, mapFlags } = this.#components;
    const { operation } = mutation;
    if (operation >= OFFER) return queues.restore(mutation);
    if (!mutation.tombstone.isNone) {
      if (isFromVisit(mutation)) {
        if (!isMergedMap(mutation)) tombstones.restore(mutation);
        else if (mutation.name.length > 0) mapFlags.merge(mutation.name);
        else mapFlags.mergeAll();
        return APPLIED;
      }
      if (operation !== SET) tombstones.addAgain(mutation);
    }
    if (mutation.path.length > 0 || !mutation.tombstone.isNone) mapFlags.merge(mutation.name);
    if (operation === CLEAR) return this.#clear(mutation);
    const isOfNoMap = operation !== SET && mutation.life.isNone && !mutation.tombstone.isNone;
    if (isOfNoMap && mapNames.find(mutation.name) === 0) {
      return maps.restore(mutation, 0, maps.key(mutation.key));
    }
    const id = this.#open(mutation);
    if (id === 0) return MEMORY_FULL;
    if (id === OVER) return APPLIED;
    const key = maps.key(mutation.key);
    // In the order recorded, a set that follows a removal has won against it.
    if (this.#isInOrder) return maps.restore(mutation, id, key);
    const hash = key.hash(id);
    if (operation === SET && this.#removals.has(mutation, hash)) return APPLIED;
    const outcome = maps.restore(mutation, id, key);
    if (operation !== SET && outcome === APPLIED) this.#removals.add(mutation, hash);
    return outcome;
  }

  /** Ends every earlier life of the map, and retains the new one. */
  #clear(mutation: Mutation): Outcome {
    const { retainedMaps, mapNames, clears, mapFlags, lives } = this.#components;
    const existing = mapNames.find(mutation.name);
    this.#last = 0;
    if (existing !== 0) {
      lives.get(existing, this.#life);
      if (!mutation.life.isAfter(this.#life)) {
        // It ends only what is not later than its tombstone.
        mapFlags.end(existing, mutation.tombstone);
        this.#hasEndedEntries ||= !mutation.tombstone.isNone;
        return APPLIED;
      }
    }
    const outcome = clears.restore(mutation, existing);
    if (outcome !== APPLIED) return outcome;
    retainedMaps.delete(existing);
    return this.#retain(mutation) === 0 ? MEMORY_FULL : APPLIED;
  }

  /** Returns the id of the map in the life of the message; OVER; or 0 if there is no memory. */
  #open(mutation: Mutation): number {
    const { retainedMaps, mapNames, lives, sweeper } = this.#components;
    const { life } = mutation;
    const existing = mapNames.find(mutation.name);
    const isSame = life.low === this.#life.low && life.high === this.#life.high;
    if (isSame && existing !== 0 && existing === this.#last) return existing;
    this.#last = 0;
    if (existing === 0) return this.#retain(mutation);
    lives.get(existing, this.#life);
    if (this.#life.isAfter(life)) return OVER;
    if (life.isAfter(this.#life)) {
      sweeper.retire(existing);
      retainedMaps.delete(existing);
      return this.#retain(mutation);
    }
    if (!retainedMaps.has(existing)) {
      mapNames.use(existing);
      retainedMaps.add(existing);
    }
    this.#last = existing;
    return existing;
  }

  /** Opens the map, which must not exist, with the message's life. */
  #retain({ name, life }: Mutation): number {
    const { retainedMaps, mapNames, lives, cleaner, store } = this.#components;
    const id = mapNames.open(name);
    if (id === 0) return 0;
    lives.set(id, life.low, life.high);
    store.versions.restore(life);
    mapNames.use(id);
    retainedMaps.add(id);
    cleaner.payForNames();
    return id;
  }
}
