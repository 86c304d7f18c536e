/**
 * Clears of maps that have a reference to a replication, and clears that other clusters have sent. A
 * clear has one version, and its tombstone in every partition.
 *
 * A clear that is made here, or forwarded, is noted in the partition of the map's name, then made in
 * every partition, and at last marked for the publishers, as one event. If it fails in some
 * partitions, the member that joined first makes it there later, as long as it is noted.
 *
 * The version of a clear that is made here is AHEAD_MICROS ahead, and later than the clock of each
 * partition. So a partition is emptied at once unless its clock has passed that version meanwhile.
 * Tested by map-clears.spec.ts.
 */
import { Span } from '../../base/span.ts';
import { hasDataSet } from '../change-codec.ts';
import { APPLIED, KNOWN, type Outcome, REFUSED, type Receiver } from '../engine.ts';
import type { MapReference, MarkedPublisher } from '../marked-changes.ts';
import { DATA_SET_ID_BYTES, PATH_LENGTH_MAX } from '../mutation.ts';
import { REPLICATION_FULL } from '../mutation-sink.ts';
import { Version } from '../version.ts';
import { header } from './command-buffer.ts';
import type { Dispatcher } from './dispatcher.ts';
import { type Failure, FOREIGN, isUnknown, UNANSWERED } from './failure.ts';
import {
  CLEARS,
  CLOCK,
  type KeyKind,
  type Layout,
  MAP,
  MARKED,
  TOMBSTONE_ORDER,
  TOMBSTONES,
} from './layout.ts';
import { versionBytes } from './map-arguments.ts';
import { END_CLEAR, NOTE_CLEAR, REPLICATION_REFUSED } from './marked-scripts.ts';
import type { Marking } from './marking.ts';
import { CLEAR_MAP } from './merge-scripts.ts';
import { numberOf, setVersion } from './partition-clock.ts';
import type { Results } from './redis-result.ts';
import { ARRAY, BULK, INTEGER, kindSet, NIL } from './reply.ts';
import { NUMBER, READ, type Reading, runStep, STRINGS, type Traits } from './run-step.ts';
import { readOrigin } from './stored-value.ts';

/** Lead of the version of a clear over the servers' time, in microseconds. */
const AHEAD_MICROS = 50_000;
/** Partitions that are cleared at the same time. */
const PARTITIONS_AT_ONCE = 64;
const VERSION_BYTES = 8;
const PATH_BYTES_MAX = PATH_LENGTH_MAX * DATA_SET_ID_BYTES;
/** Room for a clear that was admitted when it was noted. */
const ADMITTED_ROOM = 2 ** 31;
const GET = header(2, 'GET');
const EXISTS = header(2, 'EXISTS');
const HKEYS = header(2, 'HKEYS');
const HGET = header(3, 'HGET');

export interface MapClearsOptions {
  readonly dispatcher: Dispatcher;
  readonly layout: Layout;
  readonly results: Results;
  readonly marking: Marking;
  /** Replicas that must have a change of the map. */
  replicaCount(map: Span): number;
  /** Notifies the receiver that the operation has no result. */
  fail(receiver: Receiver, failure: Failure): void;
  /** Called with the clock of a partition. */
  onClock(clock: number): void;
}

/** A clear of a map. */
interface MapClear {
  readonly map: Buffer;
  readonly version: Version;
  /** See originOf in stored-value.ts; empty for a clear that is made here. */
  readonly origin: Buffer;
}

interface StepReply {
  readonly cursor: string;
  readonly run: string;
  readonly outcome: Outcome;
  readonly clock: number;
}

const STEP_REPLY: Reading<StepReply> = {
  replyKinds: kindSet(ARRAY),
  read: (reply) => {
    const cursor = reply.next().text;
    const run = reply.next().text;
    const outcome = reply.next().integer as Outcome;
    return { cursor, run, outcome, clock: Number(reply.next().text) };
  },
};

const CLOCK_REPLY: Reading<number> = {
  replyKinds: kindSet(BULK, NIL),
  read: (reply) => (reply.kind === NIL ? 0 : Number(reply.text)),
};

const BYTES_REPLY: Reading<Buffer | undefined> = {
  replyKinds: kindSet(BULK, NIL),
  read: (reply) => (reply.kind === NIL ? undefined : reply.bytes.toBuffer()),
};

/** The code of NOTE_CLEAR, or the version of a later clear. */
const NOTE_REPLY: Reading<number | Buffer> = {
  replyKinds: kindSet(INTEGER, BULK),
  read: (reply) => (reply.kind === INTEGER ? reply.integer : reply.bytes.toBuffer()),
};

/** The publishers without room, a byte for each; undefined if nothing was marked. */
const END_REPLY: Reading<Buffer | undefined> = {
  replyKinds: kindSet(INTEGER, ARRAY),
  read: (reply) => {
    if (reply.kind === INTEGER) return reply.integer === 0 ? undefined : Buffer.alloc(0);
    for (let node = 0; node < 2; node++) reply.next();
    return reply.next().bytes.toBuffer();
  },
};

/** The failure of a step. */
class StepFailed extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(`a step has failed: ${failure}`);
    this.failure = failure;
  }
}

export class MapClears {
  readonly #options: MapClearsOptions;

  constructor(options: MapClearsOptions) {
    this.#options = options;
  }

  /** Clears the map, which has the reference. */
  clear(map: Span, reference: MapReference, receiver: Receiver): void {
    const { results, fail } = this.#options;
    void this.#clear(map.toBuffer(), reference).then((ended) => {
      if (ended !== APPLIED && ended !== REFUSED) return fail(receiver, ended.failure);
      const result = results.begin(ended);
      if (ended === REFUSED) result.veto = REPLICATION_FULL;
      results.deliver(receiver, result);
    });
  }

  /** Merges a clear of another cluster. Resolves with its outcome, or the failure. */
  async merge(
    clear: MapClear,
    reference: MapReference | undefined,
  ): Promise<Outcome | { readonly failure: Failure }> {
    try {
      const isForwarded =
        reference?.republishing === true && this.#publishersOf(reference, clear).length > 0;
      const traits = this.#traitsOf(clear.map);
      const isNoted = isForwarded && (await this.#note(clear, [], traits)) === 1;
      const outcome = await this.#clearPartitions(clear, 0, traits);
      if (isNoted) await this.#end(clear, reference, traits);
      return outcome;
    } catch (error) {
      return failed(error);
    }
  }

  /** Continues the clears that are noted in the partition. Resolves also if that fails. */
  async resume(partition: number): Promise<void> {
    const { layout, marking } = this.#options;
    const notes = layout.prefix(CLEARS, partition).toBuffer();
    try {
      const maps = await this.#step(partition, READ, STRINGS, HKEYS, [notes]);
      for (const map of maps) {
        const note = await this.#step(partition, READ, BYTES_REPLY, HGET, [notes, map]);
        if (note === undefined) continue;
        if (note.length < VERSION_BYTES) throw new StepFailed(FOREIGN);
        const version = versionIn(note);
        const clear = { map, version, origin: note.subarray(VERSION_BYTES) };
        const traits = this.#traitsOf(map);
        const number = clear.origin.length === 0 ? numberOf(version) : 0;
        await this.#clearPartitions(clear, number, traits);
        await this.#end(clear, marking.of(Span.of(map))?.reference, traits);
      }
    } catch (error) {
      failed(error);
    }
  }

  async #clear(
    map: Buffer,
    reference: MapReference,
  ): Promise<typeof APPLIED | typeof REFUSED | { readonly failure: Failure }> {
    let isNoted = false;
    try {
      const traits = this.#traitsOf(map);
      const clocks = await this.#clocks(map, traits);
      if (clocks === undefined) return APPLIED;
      const number = Math.max(this.#options.marking.nextNumber() + AHEAD_MICROS, clocks + 1);
      let clear = { map, version: setVersion(new Version(), number), origin: Buffer.alloc(0) };
      const publishers = this.#publishersOf(reference, clear);
      const noted = await this.#note(clear, publishers, traits).catch((error: unknown) => {
        // It may be noted.
        isNoted = error instanceof StepFailed && isUnknown(error.failure);
        throw error;
      });
      if (noted === REPLICATION_REFUSED) return REFUSED;
      // A later clear is done in the partition of the map's name, maybe only there: that of another
      // cluster is not marked for all publishers. The clocks are read again, as one has passed it.
      if (typeof noted === 'object' && noted.length === 0) return await this.#clear(map, reference);
      isNoted = true;
      const isLatest = noted === 1 || versionBytes([clear.version]).equals(noted as Buffer);
      if (!isLatest) clear = { ...clear, version: versionIn(noted as Buffer) };
      await this.#clearPartitions(clear, isLatest ? number : 0, traits);
      await this.#end(clear, reference, traits);
      return APPLIED;
    } catch (error) {
      const { failure } = failed(error);
      return { failure: isNoted && !isUnknown(failure) ? UNANSWERED : failure };
    }
  }

  /**
   * Resolves with the latest clock of all partitions; undefined if the map has no entry in any. The
   * reads are in the order of changes.
   */
  async #clocks(map: Buffer, traits: Traits): Promise<number | undefined> {
    const { layout } = this.#options;
    const read: Traits = { ...traits, replicaCount: 0, changesData: false };
    let latest = 0;
    let hasEntries = false;
    await this.#inPartitions(async (partition) => {
      const key = layout.key(MAP, partition, map);
      const clockKey = layout.prefix(CLOCK, partition).toBuffer();
      const [clock, count] = await Promise.all([
        this.#step(partition, read, CLOCK_REPLY, GET, [clockKey]),
        this.#step(partition, read, NUMBER, EXISTS, [key]),
      ]);
      latest = Math.max(latest, clock);
      hasEntries ||= count > 0;
    });
    follow(traits, read.era ?? 0);
    return hasEntries ? latest : undefined;
  }

  /** See NOTE_CLEAR. `publishers`: those that may refuse the clear. */
  #note(
    { map, version, origin }: MapClear,
    publishers: readonly MarkedPublisher[],
    traits: Traits,
  ): Promise<number | Buffer> {
    const { layout } = this.#options;
    const partition = layout.partitionOf(Span.of(map));
    const { length } = publishers;
    return this.#step(partition, traits, NOTE_REPLY, NOTE_CLEAR.headerWith(length, length), [
      ...this.#keys(partition, [CLEARS, TOMBSTONES, TOMBSTONE_ORDER]),
      ...publishers.map(({ name }) => layout.key(MARKED, partition, name)),
      map,
      versionBytes([version]),
      origin,
      ...publishers.map(roomWhenNoted),
    ]);
  }

  /** Ends a clear that is done in all partitions, and marks it. */
  async #end(clear: MapClear, reference: MapReference | undefined, traits: Traits): Promise<void> {
    const { layout, marking } = this.#options;
    const partition = layout.partitionOf(Span.of(clear.map));
    const publishers = this.#publishersOf(reference, clear);
    const { length } = publishers;
    const isOwn = clear.origin.length === 0;
    const withoutRoom = await this.#step(
      partition,
      traits,
      END_REPLY,
      END_CLEAR.headerWith(length, length),
      [
        ...this.#keys(partition, [CLEARS, CLOCK]),
        ...publishers.map(({ name }) => layout.key(MARKED, partition, name)),
        clear.map,
        versionBytes([clear.version]),
        Buffer.from(`${marking.nextNumber()}`),
        ...publishers.map((publisher) => roomAtEnd(publisher, isOwn)),
      ],
    );
    if (withoutRoom === undefined) return;
    for (const index of withoutRoom) marking.onNotMarked(publishers[index - 1]!);
    if (withoutRoom.length < length) marking.onMarked(partition);
  }

  /** Returns the publishers that the clear is marked for. */
  #publishersOf(reference: MapReference | undefined, { origin }: MapClear): MarkedPublisher[] {
    if (reference === undefined) return [];
    const marked = reference.publishers.filter(({ isMarking }) => isMarking);
    if (origin.length === 0) return marked;
    const path = new Span();
    readOrigin(origin, 0, origin.length, { maker: 0, path });
    if (!reference.republishing || path.length >= PATH_BYTES_MAX) return [];
    return marked.filter(({ targetDataSet }) => {
      return targetDataSet === undefined || !hasDataSet(path, targetDataSet);
    });
  }

  /** Makes the clear in all partitions. `number`: see CLEAR_MAP. */
  async #clearPartitions(clear: MapClear, number: number, traits: Traits): Promise<Outcome> {
    let outcome: Outcome = KNOWN;
    await this.#inPartitions(async (partition) => {
      const found = await this.#clearPartition(partition, clear, number, traits);
      if (found === APPLIED || outcome === KNOWN) outcome = found;
    });
    return outcome;
  }

  async #clearPartition(
    partition: number,
    { map, version, origin }: MapClear,
    number: number,
    traits: Traits,
  ): Promise<Outcome> {
    const { layout, onClock } = this.#options;
    let place: Pick<StepReply, 'cursor' | 'run'> = { cursor: '0', run: '' };
    for (;;) {
      const reply: StepReply = await this.#step(partition, traits, STEP_REPLY, CLEAR_MAP.header, [
        ...this.#keys(partition, [TOMBSTONES, TOMBSTONE_ORDER, CLOCK]),
        layout.key(MAP, partition, map),
        map,
        versionBytes([version]),
        origin,
        Buffer.from(`${number}`),
        Buffer.from(place.cursor),
        Buffer.from(place.run),
      ]);
      onClock(reply.clock);
      if (reply.cursor === '0') return reply.outcome;
      place = reply;
    }
  }

  /** Returns the keys of these kinds that have no name. */
  #keys(partition: number, kinds: readonly KeyKind[]): Buffer[] {
    return kinds.map((kind) => this.#options.layout.prefix(kind, partition).toBuffer());
  }

  /** Runs a step for each partition, some at the same time. Rejects after the first failure. */
  async #inPartitions(run: (partition: number) => Promise<void>): Promise<void> {
    const { partitionCount } = this.#options.layout;
    let next = 0;
    let hasFailed = false;
    const work = async (): Promise<void> => {
      while (next < partitionCount && !hasFailed) {
        await run(next++).catch((error: unknown) => {
          hasFailed = true;
          throw error;
        });
      }
    };
    const ends = await Promise.allSettled(Array.from({ length: PARTITIONS_AT_ONCE }, work));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  /** Returns the traits of the steps of a clear. Repeating a step changes nothing more. */
  #traitsOf(map: Buffer): Traits {
    const replicaCount = this.#options.replicaCount(Span.of(map));
    return { replicaCount, isReplicated: replicaCount > 0, isRepeatable: true };
  }

  #step<Value>(
    partition: number,
    traits: Traits,
    reading: Reading<Value>,
    command: ReturnType<typeof header>,
    words: readonly Buffer[],
  ): Promise<Value> {
    return new Promise((resolve, reject) => {
      runStep<Value>(this.#options.dispatcher, {
        partition,
        traits,
        reading: {
          replyKinds: reading.replyKinds,
          read(reply, operation) {
            if (operation.isChange && !traits.isSequel) follow(traits, operation.era);
            return reading.read(reply, operation);
          },
        },
        write: (commands) => {
          commands.begin(command);
          for (const word of words) commands.bytes(word);
        },
        onDone: resolve,
        onFailed: (failure) => reject(new StepFailed(failure)),
      });
    });
  }
}

/** Lets later steps continue the change that an operation of the era has begun; see PendingChanges. */
function follow(traits: Traits, era: number): void {
  traits.era = era;
  traits.isSequel = true;
}

/** Returns the failure of a step; throws any other error. */
function failed(error: unknown): { readonly failure: Failure } {
  if (error instanceof StepFailed) return error;
  throw error;
}

function versionIn(bytes: Buffer): Version {
  return new Version().set(bytes.readInt32BE(4), bytes.readInt32BE(0));
}

/** Returns the argument for the room of a publisher that may refuse a clear. */
function roomWhenNoted({ partitionCapacity, refusesWhenFull }: MarkedPublisher): Buffer {
  return Buffer.from(`${refusesWhenFull ? -partitionCapacity : partitionCapacity}`);
}

/** Returns the argument for the room of a publisher once the clear is done; `isOwn`: made here. */
function roomAtEnd(
  { partitionCapacity, refusesWhenFull }: MarkedPublisher,
  isOwn: boolean,
): Buffer {
  return Buffer.from(`${isOwn && refusesWhenFull ? ADMITTED_ROOM : partitionCapacity}`);
}
