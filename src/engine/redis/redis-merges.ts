/**
 * Merges sections of WAN batches (../section-merger.ts). The events of a partition are merged by
 * calls of one script, each of up to EVENTS_MAX events or EVENT_BYTES_MAX bytes, one after another.
 * If a call fails, the later events of its partition are not sent, as their numbers would hide those
 * of the call. A clear is merged into every partition, after the events before it and before those
 * after it. Tested by redis-merges.spec.ts.
 */
import { createHash } from 'node:crypto';
import { SharedSlices } from '../../base/slices.ts';
import { NO_BYTES, NO_SPAN, Span } from '../../base/span.ts';
import { hasDataSet } from '../change-codec.ts';
import { APPLIED, KNOWN, OUTDATED, type Outcome, UNREACHABLE } from '../engine.ts';
import type { MarkedPublisher } from '../marked-changes.ts';
import {
  CLEAR,
  compareChanges,
  DATA_SET_ID_BYTES,
  DELETE,
  Mutation,
  PATH_LENGTH_MAX,
  SET,
} from '../mutation.ts';
import type {
  SectionMerger,
  SectionResult,
  SourceEvent,
  SourceSection,
} from '../section-merger.ts';
import { Version } from '../version.ts';
import type { CommandBuffer } from './command-buffer.ts';
import { type Failure, FOREIGN, FULL, outcomeOf } from './failure.ts';
import {
  CLEARS,
  CLOCK,
  EXPIRIES,
  EXPIRING,
  MAP,
  MARKED,
  SOURCE,
  TOMBSTONE_ORDER,
  TOMBSTONES,
} from './layout.ts';
import { END_MS_MAX, versionBytes } from './map-arguments.ts';
import { MapClears, type MapClearsOptions } from './map-clears.ts';
import {
  EQUAL_VERSIONS,
  FOREIGN_ENTRY,
  LATER_EPOCH,
  MERGE,
  MERGE_DELETES,
  NUMBERS_BYTES,
  NUMBERS_PASSED,
  TRIM_TOMBSTONES,
} from './merge-scripts.ts';
import { numberOf, setVersion } from './partition-clock.ts';
import { ARRAY, INTEGER, kindSet, type Reply } from './reply.ts';
import { runStep, UPKEEP } from './run-step.ts';
import type { ServerTime } from './server-time.ts';
import { HeaderWriter, lifeOf, originOf, StoredValue } from './stored-value.ts';
import type { TombstoneLimits } from './tombstone-limits.ts';

/** Limits of one call. An event that is longer is in a call of its own. */
const EVENTS_MAX = 64;
const EVENT_BYTES_MAX = 1_048_576;
/** Partitions of a section that are merged at the same time. */
const PARTITIONS_AT_ONCE = 64;
/** Number of maps whose latest clear is remembered. */
const CLEARS_KEPT = 1024;
const MAP_INDEX_AT = 14;
const PATH_BYTES_MAX = PATH_LENGTH_MAX * DATA_SET_ID_BYTES;
/** Steps of removing tombstones in one call. */
const TRIM_STEPS = 500;

const MERGE_REPLY = {
  replyKinds: kindSet(ARRAY),
  read: (reply: Reply): MergeReply => {
    const code = reply.next().integer;
    const count = reply.next().integer;
    if (code === LATER_EPOCH || code === NUMBERS_PASSED) return { ...NO_REPLY, code, count };
    const dropped = reply.next().integer;
    const clock = Number(reply.next().text);
    const outcomes = reply.next().bytes.toBuffer();
    const entry = reply.next().bytes.toBuffer();
    const isMarked = reply.next().integer === 1;
    const withoutRoom: number[] = [];
    while (reply.next().kind === INTEGER) withoutRoom.push(reply.integer);
    return { code, count, dropped, clock, outcomes, entry, isMarked, withoutRoom };
  },
};

const TRIM_REPLY = {
  replyKinds: kindSet(ARRAY),
  read: (reply: Reply) => ({ dropped: reply.next().integer, removed: reply.next().integer }),
};

/** The reply to MERGE. */
interface MergeReply {
  readonly code: number;
  /** Entries that were not taken, or the number that follows a refusal. */
  readonly count: number;
  readonly dropped: number;
  readonly clock: number;
  readonly outcomes: Buffer;
  readonly entry: Buffer;
  /** Whether any key was marked. */
  readonly isMarked: boolean;
  /** By publisher of the call, the number of changes that got no mark. */
  readonly withoutRoom: readonly number[];
}

const NO_REPLY = {
  dropped: 0,
  clock: 0,
  outcomes: NO_BYTES,
  entry: NO_BYTES,
  isMarked: false,
  withoutRoom: [],
};

/** A clear of a map; `ended` as that of MapClears.merge. */
interface MergedClear {
  readonly version: Version;
  readonly ended: ReturnType<MapClears['merge']>;
}

/** The result of compareChanges for an event, and the SHA-1 of the entry it was compared with. */
interface Comparison {
  readonly order: number;
  readonly sha: string;
}

const NOT_COMPARED: Comparison = { order: 0, sha: '' };

/** One call of MERGE: some events of a partition. */
interface MergeCall {
  readonly events: readonly SourceEvent[];
  /** By event, its map as an index of `maps`. */
  readonly mapIndexes: readonly number[];
  readonly maps: readonly Buffer[];
  readonly areDeletes: boolean;
  readonly replicaCount: number;
  /** The publishers that may forward events. */
  readonly publishers: readonly MarkedPublisher[];
}

/** The result of a section while its partitions are merged. */
class SectionState {
  readonly section: SourceSection;
  readonly onMerged: (event: SourceEvent, outcome: Outcome | 0) => void;
  readonly change = new Mutation();
  failure: Failure | undefined;
  laterEpoch: number | undefined;
  passedNumber: number | undefined;
  /** Counts of the last reply of each partition. */
  readonly notTaken = new Map<number, number>();

  constructor(section: SourceSection, onMerged: SectionState['onMerged']) {
    this.section = section;
    this.onMerged = onMerged;
  }

  get isOver(): boolean {
    return (this.failure ?? this.laterEpoch ?? this.passedNumber) !== undefined;
  }

  load(event: SourceEvent): Mutation {
    const { change } = this;
    this.section.load(event, change);
    change.expiryMs = Math.min(change.expiryMs, END_MS_MAX);
    return change;
  }

  get result(): SectionResult {
    const notTakenCount = [...this.notTaken.values()].reduce((sum, count) => sum + count, 0);
    const { failure, laterEpoch, passedNumber } = this;
    if (laterEpoch !== undefined) return { outcome: UNREACHABLE, notTakenCount, laterEpoch };
    if (passedNumber !== undefined) return { outcome: UNREACHABLE, notTakenCount, passedNumber };
    const outcome = failure === undefined ? APPLIED : outcomeOf(failure);
    return { outcome: outcome as SectionResult['outcome'], notTakenCount };
  }
}

interface MergesOptions extends Omit<MapClearsOptions, 'onClock'> {
  readonly time: ServerTime;
  readonly tombstones: TombstoneLimits;
}

export class RedisMerges implements SectionMerger {
  readonly #options: MergesOptions;
  /** Clears of maps, also those that are made here. */
  readonly clears: MapClears;
  readonly #slices = new SharedSlices();
  readonly #header = new HeaderWriter();
  readonly #stored = new StoredValue();
  readonly #other = new Mutation();
  /** The latest number of a clock. */
  #clock = 0;
  /**
   * By the map's name (latin1), the latest clear that is or was merged here, oldest first: a clear arrives
   * in each lane of its source, maybe after a later one.
   */
  readonly #clears = new Map<string, MergedClear>();

  constructor(options: MergesOptions) {
    this.#options = options;
    this.clears = new MapClears({
      ...options,
      onClock: (clock) => {
        this.#clock = Math.max(this.#clock, clock);
      },
    });
  }

  observe(version: Version): void {
    this.#clock = Math.max(this.#clock, numberOf(version));
  }

  now(version: Version): void {
    setVersion(version, Math.max(this.#clock + 1, this.#options.time.wall() * 1000));
  }

  async mergeSection(
    section: SourceSection,
    onMerged: SectionState['onMerged'] = () => {},
  ): Promise<SectionResult> {
    const state = new SectionState(section, onMerged);
    const partitions = new Map<number, SourceEvent[]>();
    for (const event of section.events) {
      const change = state.load(event);
      if (change.operation === CLEAR) {
        await this.#mergePartitions(state, partitions);
        partitions.clear();
        if (!state.isOver) await this.#clear(state, event);
        if (state.isOver) break;
        continue;
      }
      const partition = this.#options.layout.partitionOf(change.key);
      const events = partitions.get(partition);
      if (events === undefined) partitions.set(partition, [event]);
      else events.push(event);
      const pause = this.#slices.pause();
      if (pause !== undefined) await pause;
    }
    await this.#mergePartitions(state, partitions);
    return state.result;
  }

  /** Removes tombstones of a partition that are too old or too many. Resolves also if that fails. */
  trim(partition: number): Promise<void> {
    const { dispatcher, layout, tombstones, marking } = this.#options;
    const { retentionSeconds, count } = tombstones.ofTrims;
    const { publishers } = marking;
    return new Promise((resolve) => {
      runStep(dispatcher, {
        partition,
        traits: UPKEEP,
        reading: TRIM_REPLY,
        write: (commands) => {
          commands.begin(TRIM_TOMBSTONES.headerWith(0, publishers.length));
          for (const kind of [TOMBSTONES, TOMBSTONE_ORDER, CLEARS] as const) {
            commands.span(layout.prefix(kind, partition));
          }
          for (const { name } of publishers) commands.bytes(layout.key(MARKED, partition, name));
          commands.number(TRIM_STEPS);
          commands.number(retentionSeconds);
          commands.number(count);
        },
        onDone: ({ dropped, removed }) => {
          tombstones.drop(dropped);
          resolve(removed > TRIM_STEPS / 2 ? this.trim(partition) : undefined);
        },
        onFailed: () => resolve(),
      });
    });
  }

  async #mergePartitions(
    state: SectionState,
    partitions: ReadonlyMap<number, readonly SourceEvent[]>,
  ): Promise<void> {
    const left = [...partitions];
    await atOnce(PARTITIONS_AT_ONCE, async () => {
      const next = state.isOver ? undefined : left.shift();
      if (next !== undefined) await this.#mergePartition(state, next[0], next[1]);
      return next !== undefined;
    });
  }

  async #mergePartition(
    state: SectionState,
    partition: number,
    events: readonly SourceEvent[],
  ): Promise<void> {
    let comparison = NOT_COMPARED;
    let isFull = false;
    for (let at = 0; at < events.length && !state.isOver; ) {
      const call = this.#callOf(state, events, at, isFull);
      const reply = await this.#merge(state, partition, call, comparison);
      comparison = NOT_COMPARED;
      if (typeof reply === 'number') {
        // The deletes at the front may win the memory that the sets need.
        if (reply === FULL && !isFull && this.#isDelete(state, events[at]!)) isFull = true;
        else state.failure ??= reply;
        continue;
      }
      isFull = false;
      if (reply.code === LATER_EPOCH) state.laterEpoch = reply.count;
      else if (reply.code === NUMBERS_PASSED) state.passedNumber = reply.count;
      else {
        this.#clock = Math.max(this.#clock, reply.clock);
        this.#options.tombstones.drop(reply.dropped);
        this.#noteMarks(partition, call, reply);
        state.notTaken.set(partition, reply.count);
        for (const [index, outcome] of reply.outcomes.entries()) {
          state.onMerged(call.events[index]!, outcome as Outcome | 0);
        }
        at += reply.outcomes.length;
      }
      if (reply.code === EQUAL_VERSIONS)
        comparison = this.#compare(state, events[at]!, reply.entry);
      if (reply.code === FOREIGN_ENTRY) state.failure ??= FOREIGN;
    }
  }

  #noteMarks(partition: number, { publishers }: MergeCall, { isMarked, withoutRoom }: MergeReply) {
    const { marking } = this.#options;
    if (isMarked) marking.onMarked(partition);
    for (const [index, count] of withoutRoom.entries()) {
      for (let left = count; left > 0; left--) marking.onNotMarked(publishers[index]!);
    }
  }

  #isDelete(state: SectionState, event: SourceEvent): boolean {
    return state.load(event).operation === DELETE;
  }

  /** Selects the events of the next call, from `from` on; only deletes if `isFull`. */
  #callOf(
    state: SectionState,
    events: readonly SourceEvent[],
    from: number,
    isFull: boolean,
  ): MergeCall {
    const maps: Buffer[] = [];
    const indexes = new Map<string, number>();
    const mapIndexes: number[] = [];
    let areDeletes = true;
    const { marking } = this.#options;
    const publishers = new Set<MarkedPublisher>();
    let replicaCount = 0;
    let bytes = 0;
    let end = from;
    for (; end < events.length && end < from + EVENTS_MAX; end++) {
      const { operation, name, key, value, contentType } = state.load(events[end]!);
      if (isFull && operation === SET) break;
      bytes += name.length + key.length + value.length + contentType.length;
      if (bytes > EVENT_BYTES_MAX && end > from) break;
      areDeletes &&= operation === DELETE;
      const text = name.bytes.toString('latin1', name.start, name.end);
      let index = indexes.get(text);
      if (index === undefined) {
        index = maps.push(name.toBuffer()) - 1;
        indexes.set(text, index);
        replicaCount = Math.max(replicaCount, this.#options.replicaCount(name));
        const reference = marking.of(name)?.reference;
        if (reference?.republishing) {
          for (const each of reference.publishers) if (each.isMarking) publishers.add(each);
        }
      }
      mapIndexes.push(index);
    }
    return {
      events: events.slice(from, end),
      mapIndexes,
      maps,
      areDeletes,
      replicaCount,
      publishers: [...publishers],
    };
  }

  /** Resolves with the reply, or the failure. */
  #merge(
    state: SectionState,
    partition: number,
    call: MergeCall,
    comparison: Comparison,
  ): Promise<MergeReply | Failure> {
    const { replicaCount } = call;
    return new Promise((resolve) => {
      runStep<MergeReply>(this.#options.dispatcher, {
        partition,
        // The numbers prevent that a repeated call merges anything again.
        traits: { replicaCount, isReplicated: replicaCount > 0, isRepeatable: true },
        reading: MERGE_REPLY,
        write: (commands) => this.#write(commands, state, partition, call, comparison),
        onDone: resolve,
        onFailed: resolve,
      });
    });
  }

  #write(
    commands: CommandBuffer,
    state: SectionState,
    partition: number,
    call: MergeCall,
    { order, sha }: Comparison,
  ): void {
    const { layout, tombstones, marking } = this.#options;
    const { events, mapIndexes, maps, areDeletes, publishers } = call;
    const { epoch, firstNumber, syncBegan } = state.section;
    const { headerWith } = areDeletes ? MERGE_DELETES : MERGE;
    const more = maps.length + publishers.length + 4 * events.length;
    commands.begin(headerWith(more, 2 * maps.length + publishers.length));
    for (const kind of [TOMBSTONES, TOMBSTONE_ORDER, CLOCK] as const) {
      commands.span(layout.prefix(kind, partition));
    }
    commands.bytes(layout.key(SOURCE, partition, laneName(state.section)));
    commands.span(layout.prefix(EXPIRING, partition));
    for (const map of maps) {
      commands.bytes(layout.key(MAP, partition, map));
      commands.bytes(layout.key(EXPIRIES, partition, map));
    }
    for (const { name } of publishers) commands.bytes(layout.key(MARKED, partition, name));
    commands.number(epoch);
    commands.number(firstNumber);
    commands.bytes(versionBytes([syncBegan]));
    commands.number(tombstones.ofChanges.retentionSeconds);
    commands.number(tombstones.ofChanges.count);
    commands.number(order);
    commands.text(sha);
    commands.number(marking.nextNumber());
    commands.number(publishers.length);
    for (const map of maps) commands.bytes(map);
    for (const { partitionCapacity } of publishers) commands.number(partitionCapacity);
    const numbers = Buffer.alloc(NUMBERS_BYTES + publishers.length);
    for (const [index, event] of events.entries()) {
      this.#writeEvent(commands, state.load(event), event, numbers, mapIndexes[index]! + 1, call);
    }
  }

  #writeEvent(
    commands: CommandBuffer,
    change: Mutation,
    { number, policy }: SourceEvent,
    numbers: Buffer,
    map: number,
    { publishers }: MergeCall,
  ): void {
    const { name, key, value, version, maker, operation, expiryMs, maxIdleSeconds, path } = change;
    const reference = this.#options.marking.of(name)?.reference;
    const keptPath = reference === undefined ? NO_SPAN : path;
    const life = lifeOf(this.#options.time.wall(), expiryMs, maxIdleSeconds);
    commands.span(key);
    if (operation === SET) {
      const head = this.#header.write(version, life, change.contentType, maker, keptPath);
      commands.bytes(head.bytes.subarray(0, head.length));
      commands.span(value);
    } else {
      commands.bytes(reference === undefined ? NO_BYTES : originOf(maker, path));
      commands.text('');
    }
    numbers.writeInt32BE(version.high, 0);
    numbers.writeInt32BE(version.low, 4);
    numbers.writeInt32LE(maker, 8);
    numbers[12] = operation;
    numbers[13] = policy;
    numbers.writeUInt16BE(map, MAP_INDEX_AT);
    numbers.writeDoubleBE(number, 16);
    numbers.writeDoubleBE(operation === SET ? life.endMs : 0, 24);
    numbers.writeDoubleBE(expiryMs, 32);
    let end = NUMBERS_BYTES;
    if (reference?.republishing && reference.accepts(key) && path.length < PATH_BYTES_MAX) {
      for (const [index, publisher] of publishers.entries()) {
        if (reference.publishers.includes(publisher) && mayForward(publisher, path)) {
          numbers[end++] = index + 1;
        }
      }
    }
    commands.bytes(numbers.subarray(0, end));
  }

  /** Compares the event with the entry, which has the same version. */
  #compare(state: SectionState, event: SourceEvent, entry: Buffer): Comparison {
    const change = state.load(event);
    const stored = this.#stored;
    const other = this.#other;
    if (!stored.read(Span.of(entry))) {
      state.failure ??= FOREIGN;
      return NOT_COMPARED;
    }
    other.operation = SET;
    other.version.copyFrom(change.version);
    other.expiryMs = stored.maxIdleSeconds === 0 ? stored.endMs : stored.lastMs;
    other.maxIdleSeconds = stored.maxIdleSeconds;
    other.value.copyFrom(stored.value);
    other.contentType.copyFrom(stored.contentType);
    return { order: Math.sign(compareChanges(change, other)), sha: sha1(entry) };
  }

  async #clear(state: SectionState, event: SourceEvent): Promise<void> {
    const { name, version, path } = state.load(event);
    const map = name.toBuffer();
    const text = map.toString('latin1');
    const known = this.#clears.get(text);
    if (known !== undefined && !version.isAfter(known.version)) {
      const outcome = version.is(known.version) ? KNOWN : OUTDATED;
      const ended = await known.ended;
      if (typeof ended === 'object') state.failure ??= ended.failure;
      else state.onMerged(event, outcome);
      return;
    }
    const reference = this.#options.marking.of(name)?.reference;
    const origin = reference === undefined ? NO_BYTES : originOf(0, path);
    const clear = { map, version: new Version().copyFrom(version), origin };
    const merged = { version: clear.version, ended: this.clears.merge(clear, reference) };
    this.#clears.delete(text);
    this.#clears.set(text, merged);
    const [oldest = ''] = this.#clears.keys();
    if (this.#clears.size > CLEARS_KEPT) this.#clears.delete(oldest);
    const ended = await merged.ended;
    if (typeof ended !== 'object') return state.onMerged(event, ended);
    state.failure ??= ended.failure;
    if (this.#clears.get(text) === merged) this.#clears.delete(text);
  }
}

/** Returns whether a change with the path is marked for the publisher. */
function mayForward({ targetDataSet }: MarkedPublisher, path: Span): boolean {
  return targetDataSet === undefined || !hasDataSet(path, targetDataSet);
}

/** Runs that many calls of `step` at the same time, again and again, until one resolves with false. */
async function atOnce(count: number, step: () => Promise<boolean>): Promise<void> {
  const run = async (): Promise<void> => {
    while (await step());
  };
  await Promise.all(Array.from({ length: count }, run));
}

/** Returns the name of a lane in its key. */
function laneName({ source, publisher, lane, syncBegan }: SourceSection): Buffer {
  const place = Buffer.from([lane >> 8, lane & 0xff, syncBegan.isNone ? 0 : 1]);
  return Buffer.concat([source, publisher, place]);
}

function sha1(bytes: Buffer): string {
  return createHash('sha1').update(bytes).digest('hex');
}
