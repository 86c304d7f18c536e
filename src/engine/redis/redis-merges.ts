/**
 * Merges sections of WAN batches (../section-merger.ts). The events of a partition are merged by
 * calls of one script, each of up to EVENTS_MAX events or EVENT_BYTES_MAX bytes, one after another.
 * If a call fails, the later events of its partition are not sent, as their numbers would hide those
 * of the call. A clear is merged into every partition, after the events before it and before those
 * after it. Tested by redis-merges.spec.ts.
 */
import { createHash } from 'node:crypto';
import { SharedSlices } from '../../base/slices.ts';
import { Span } from '../../base/span.ts';
import { APPLIED, KNOWN, OUTDATED, type Outcome, UNREACHABLE } from '../engine.ts';
import { CLEAR, compareChanges, DELETE, Mutation, SET } from '../mutation.ts';
import type {
  SectionMerger,
  SectionResult,
  SourceEvent,
  SourceSection,
} from '../section-merger.ts';
import type { MergeOptions } from '../stored-engine.ts';
import type { Version } from '../version.ts';
import type { CommandBuffer } from './command-buffer.ts';
import type { Dispatcher } from './dispatcher.ts';
import { type Failure, FOREIGN, FULL, outcomeOf } from './failure.ts';
import {
  CLOCK,
  EXPIRIES,
  EXPIRING,
  type Layout,
  MAP,
  SOURCE,
  TOMBSTONE_ORDER,
  TOMBSTONES,
} from './layout.ts';
import {
  EQUAL_VERSIONS,
  FOREIGN_ENTRY,
  LATER_EPOCH,
  MERGE,
  MERGE_CLEAR,
  MERGE_DELETES,
  NUMBERS_PASSED,
  TRIM_TOMBSTONES,
} from './merge-scripts.ts';
import { numberOf, setVersion } from './partition-clock.ts';
import { ARRAY, kindSet, type Reply } from './reply.ts';
import { NUMBER, runStep, UPKEEP } from './run-step.ts';
import type { ServerTime } from './server-time.ts';
import { HeaderWriter, lifeOf, StoredValue } from './stored-value.ts';

/** Limits of one call. An event that is longer is in a call of its own. */
const EVENTS_MAX = 64;
const EVENT_BYTES_MAX = 1_048_576;
/** Partitions of a section that are merged at the same time. */
const PARTITIONS_AT_ONCE = 64;
/** Number of merged clears that are remembered: a clear arrives in each lane of its source. */
const CLEARS_KEPT = 64;
/** Maximum expiry time that fits in the header, in ms. */
const EXPIRY_MS_MAX = 2 ** 48 - 1;
/** Length of an event's numbers, in bytes. */
const NUMBERS_BYTES = 40;
const MAP_INDEX_AT = 14;
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
    return { code, count, dropped, clock, outcomes, entry: reply.next().bytes.toBuffer() };
  },
};

const CLEAR_REPLY = {
  replyKinds: kindSet(ARRAY),
  read: (reply: Reply): ClearReply => {
    const cursor = reply.next().text;
    const run = reply.next().text;
    const outcome = reply.next().integer as Outcome;
    const dropped = reply.next().integer;
    return { cursor, run, outcome, dropped, clock: Number(reply.next().text) };
  },
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
}

const NO_REPLY = { dropped: 0, clock: 0, outcomes: Buffer.alloc(0), entry: Buffer.alloc(0) };

interface ClearReply extends Pick<MergeReply, 'dropped' | 'clock'> {
  readonly cursor: string;
  readonly run: string;
  readonly outcome: Outcome;
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
    change.expiryMs = Math.min(change.expiryMs, EXPIRY_MS_MAX);
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

interface MergesOptions
  extends Pick<MergeOptions, 'tombstoneRetentionMs' | 'tombstonesMax' | 'onTombstonesDropped'> {
  readonly dispatcher: Dispatcher;
  readonly layout: Layout;
  readonly time: ServerTime;
  /** Replicas that must have a change of the map. */
  replicaCount(map: Span): number;
}

export class RedisMerges implements SectionMerger {
  readonly #options: MergesOptions;
  readonly #retentionSeconds: number;
  /** Limit for the tombstones of a partition. */
  readonly #limit: number;
  readonly #slices = new SharedSlices();
  readonly #header = new HeaderWriter();
  readonly #stored = new StoredValue();
  readonly #other = new Mutation();
  /** The latest number of a clock. */
  #clock = 0;
  #droppedCount = 0;
  /** The clears that were merged last, oldest first: name and version. */
  readonly #clears = new Set<string>();

  constructor(options: MergesOptions) {
    this.#options = options;
    const { tombstoneRetentionMs = 86_400_000, tombstonesMax = 1_000_000, layout } = options;
    this.#retentionSeconds = Math.ceil(tombstoneRetentionMs / 1000);
    this.#limit = Math.ceil(tombstonesMax / layout.partitionCount);
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
    const { dispatcher, layout } = this.#options;
    return new Promise((resolve) => {
      runStep(dispatcher, {
        partition,
        traits: UPKEEP,
        reading: NUMBER,
        write: (commands) => {
          commands.begin(TRIM_TOMBSTONES.header);
          commands.span(layout.prefix(TOMBSTONES, partition));
          commands.span(layout.prefix(TOMBSTONE_ORDER, partition));
          commands.number(TRIM_STEPS);
          commands.number(this.#retentionSeconds);
          commands.number(this.#limit);
        },
        onDone: (dropped) => {
          this.#onDropped(dropped);
          resolve();
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
        this.#onDropped(reply.dropped);
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
      }
      mapIndexes.push(index);
    }
    return { events: events.slice(from, end), mapIndexes, maps, areDeletes, replicaCount };
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
    { events, mapIndexes, maps, areDeletes }: MergeCall,
    { order, sha }: Comparison,
  ): void {
    const { layout } = this.#options;
    const { epoch, firstNumber, syncBegan } = state.section;
    const { headerWith } = areDeletes ? MERGE_DELETES : MERGE;
    commands.begin(headerWith(maps.length + 4 * events.length, 2 * maps.length));
    for (const kind of [TOMBSTONES, TOMBSTONE_ORDER, CLOCK] as const) {
      commands.span(layout.prefix(kind, partition));
    }
    commands.bytes(layout.key(SOURCE, partition, laneName(state.section)));
    commands.span(layout.prefix(EXPIRING, partition));
    for (const map of maps) {
      commands.bytes(layout.key(MAP, partition, map));
      commands.bytes(layout.key(EXPIRIES, partition, map));
    }
    commands.number(epoch);
    commands.number(firstNumber);
    commands.bytes(versionBytes(syncBegan));
    commands.number(this.#retentionSeconds);
    commands.number(this.#limit);
    commands.number(order);
    commands.text(sha);
    for (const map of maps) commands.bytes(map);
    const numbers = Buffer.alloc(NUMBERS_BYTES);
    for (const [index, event] of events.entries()) {
      this.#writeEvent(commands, state.load(event), event, numbers, mapIndexes[index]! + 1);
    }
  }

  #writeEvent(
    commands: CommandBuffer,
    change: Mutation,
    { number, policy }: SourceEvent,
    numbers: Buffer,
    map: number,
  ): void {
    const { key, value, version, maker, operation, expiryMs, maxIdleSeconds } = change;
    const life = lifeOf(this.#options.time.wall(), expiryMs, maxIdleSeconds);
    commands.span(key);
    if (operation === SET) {
      const head = this.#header.write(version, life, change.contentType, maker);
      commands.bytes(head.bytes.subarray(0, head.length));
      commands.span(value);
    } else {
      commands.text('');
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
    commands.bytes(numbers);
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
    const { name, version } = state.load(event);
    const map = name.toBuffer();
    const bytes = versionBytes(version);
    const text = `${bytes.toString('latin1')}${map.toString('latin1')}`;
    let outcome: Outcome = KNOWN;
    if (!this.#clears.has(text)) {
      const { partitionCount } = this.#options.layout;
      let partition = 0;
      await atOnce(PARTITIONS_AT_ONCE, async () => {
        if (state.isOver || partition === partitionCount) return false;
        const found = await this.#clearPartition(state, partition++, map, bytes);
        if (found === APPLIED || outcome === KNOWN) outcome = found;
        return true;
      });
      if (state.isOver) return;
      this.#clears.add(text);
      for (const oldest of this.#clears) {
        if (this.#clears.size <= CLEARS_KEPT) break;
        this.#clears.delete(oldest);
      }
    }
    state.onMerged(event, outcome);
  }

  /** Resolves with the outcome in the partition. */
  async #clearPartition(
    state: SectionState,
    partition: number,
    map: Buffer,
    version: Buffer,
  ): Promise<Outcome> {
    const { dispatcher, layout, replicaCount } = this.#options;
    const count = replicaCount(Span.of(map));
    let place: Pick<ClearReply, 'cursor' | 'run'> = { cursor: '0', run: '' };
    for (;;) {
      const { cursor, run } = place;
      const reply = await new Promise<ClearReply | Failure>((resolve) => {
        runStep<ClearReply>(dispatcher, {
          partition,
          traits: { replicaCount: count, isReplicated: count > 0, isRepeatable: true },
          reading: CLEAR_REPLY,
          write: (commands) => {
            commands.begin(MERGE_CLEAR.header);
            for (const kind of [TOMBSTONES, TOMBSTONE_ORDER, CLOCK] as const) {
              commands.span(layout.prefix(kind, partition));
            }
            commands.bytes(layout.key(MAP, partition, map));
            commands.bytes(map);
            commands.bytes(version);
            commands.number(this.#retentionSeconds);
            commands.number(this.#limit);
            commands.text(cursor);
            commands.text(run);
          },
          onDone: resolve,
          onFailed: resolve,
        });
      });
      if (typeof reply === 'number') {
        state.failure ??= reply;
        return OUTDATED;
      }
      this.#clock = Math.max(this.#clock, reply.clock);
      this.#onDropped(reply.dropped);
      if (reply.cursor === '0') return reply.outcome;
      place = reply;
    }
  }

  #onDropped(count: number): void {
    if (count === 0) return;
    this.#droppedCount += count;
    this.#options.onTombstonesDropped?.(this.#droppedCount);
  }
}

/** Runs that many calls of `step` at the same time, again and again, until one resolves with false. */
async function atOnce(count: number, step: () => Promise<boolean>): Promise<void> {
  const run = async (): Promise<void> => {
    while (await step());
  };
  await Promise.all(Array.from({ length: count }, run));
}

function versionBytes({ high, low }: Version): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeInt32BE(high, 0);
  bytes.writeInt32BE(low, 4);
  return bytes;
}

/** Returns the name of a lane in its key. */
function laneName({ source, publisher, lane, syncBegan }: SourceSection): Buffer {
  const place = Buffer.from([lane >> 8, lane & 0xff, syncBegan.isNone ? 0 : 1]);
  return Buffer.concat([source, publisher, place]);
}

function sha1(bytes: Buffer): string {
  return createHash('sha1').update(bytes).digest('hex');
}
