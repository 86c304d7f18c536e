/**
 * Fills an empty engine from a data directory: manifest, snapshot, log. Recovery reads the log
 * segment by segment, each named by the SEAL of its predecessor, up to the first invalid record.
 * torn-end.ts determines whether this is the end of the log or damage.
 *
 * Recovery does not skip damage: it rejects with DamagedData without having changed anything on the
 * disk.
 */

import { GridError } from '../base/errors.ts';
import { EVERY_PARTITION } from '../base/partition-number.ts';
import { APPLIED } from '../engine/engine.ts';
import { FROM_REPLAY, Mutation } from '../engine/mutation.ts';
import type { Replay, StoredEngine } from '../engine/stored-engine.ts';
import { DamagedData, unreadableRecord } from './damage.ts';
import { MANIFEST, type Manifest, readManifest } from './manifest.ts';
import type { QueueRestore } from './queue-restore.ts';
import {
  checkRecord,
  MARK,
  PARTITION,
  partitionAt,
  readMutation,
  recordBytesAt,
  SEAL,
  SKIPPED_TYPE_MIN,
  sequenceAt,
  typeAt,
} from './record-codec.ts';
import { sealAt } from './seals.ts';
import {
  HEADER_BYTES,
  LOG,
  type LogPosition,
  parseSegmentName,
  type SegmentId,
  SNAPSHOT,
  segmentIn,
  segmentName,
} from './segment.ts';
import { type ReadSegment, SegmentReader } from './segment-reader.ts';
import type { Storage } from './storage.ts';
import { checkLength, damageIn, hasRecord, tornBytesAt } from './torn-end.ts';

/** Time after which recovery yields to the event loop, in ms. */
const SLICE_MS = 5;
/** Records between two readings of the clock. */
const RECORDS_PER_CLOCK_READ = 64;

interface RecoveryOptions {
  readonly storage: Storage;
  readonly engine: StoredEngine;
  readonly partitionCount: number;
  /**
   * Maximum length of a segment that is read while another one is applied, in bytes. Unlimited by
   * default.
   */
  readonly aheadBytesMax?: number;
  /** Fills the persistent queues, if there are any. */
  readonly queues?: QueueRestore;
  /** Returns the time of a monotonic clock, in ms. */
  now(): number;
  /** Yields to the event loop. */
  yieldToEventLoop(): Promise<void>;
  onProgress(progress: RecoveryProgress): void;
}

export interface RecoveryProgress {
  readonly records: number;
  readonly bytes: number;
  /** Number of segments after the current one. */
  readonly segmentsLeft: number;
}

export interface Recovered {
  /** The manifest; undefined in a new directory. */
  readonly manifest: Manifest | undefined;
  /** The end of the log; undefined in a new directory. */
  readonly end: LogPosition | undefined;
  /** Whether a SEAL directly before that position marks the end. */
  readonly isSealed: boolean;
  /** Number of torn bytes after that position. */
  readonly tornBytes: number;
  readonly records: number;
  readonly bytes: number;
  /** Obsolete segments, which neither a SEAL nor the manifest names. */
  readonly leftOver: readonly string[];
  /** Files that have the name of a segment but are not segments. */
  readonly misnamed: readonly string[];
  /** A number that is greater than the number of every segment. */
  readonly nextNumber: number;
}

export class Recovery {
  readonly #options: RecoveryOptions;
  readonly #storage: Storage;
  readonly #reader: SegmentReader;
  readonly #mutation = new Mutation();
  /** The sequence of each partition at its visit by the snapshot. */
  readonly #snapshotSequences: Float64Array;
  #replay!: Replay;
  #manifest!: Manifest;
  #records = 0;
  #bytes = 0;
  #segmentsLeft = 0;
  #sliceEndMs = 0;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    this.#storage = options.storage;
    this.#reader = new SegmentReader(options.storage, true, options.aheadBytesMax);
    this.#snapshotSequences = new Float64Array(options.partitionCount);
  }

  /**
   * Fills the engine. Rejects with DamagedData, as checkFormat throws, with GridError
   * DATA_RECORD_NEWER, PARTITION_COUNT_CHANGED or DATA_NEEDS_MEMORY, or with the system's error.
   */
  async run(): Promise<Recovered> {
    try {
      return await this.#run();
    } finally {
      await this.#reader.close();
    }
  }

  async #run(): Promise<Recovered> {
    const names = await this.#storage.list();
    const found: SegmentId[] = [];
    const misnamed: string[] = [];
    for (const name of names.filter((each) => parseSegmentName(each) !== undefined)) {
      const id = await segmentIn(this.#storage, name);
      if (id === undefined) misnamed.push(name);
      else found.push(id);
    }
    const nextNumber = found.reduce((next, { number }) => Math.max(next, number + 1), 1);
    if (!names.includes(MANIFEST)) {
      await this.#checkNew(found);
      await this.#options.queues?.begin(undefined);
      const leftOver = found.map(segmentName);
      const none = { manifest: undefined, end: undefined, isSealed: false };
      return { ...none, tornBytes: 0, records: 0, bytes: 0, leftOver, misnamed, nextNumber };
    }
    const manifest = await readManifest(this.#storage);
    this.#checkPartitionCount(manifest.partitionCount);
    const { engine } = this.#options;
    const { memoryBytesMax = Number.POSITIVE_INFINITY, isStopped, stoppedMs } = manifest;
    const mayExceed = memoryBytesMax <= engine.memoryBytesMax;
    this.#manifest = manifest;
    this.#replay = engine.replay({ mayExceed, lastReadMs: isStopped ? stoppedMs : undefined });
    const used = new Set<string>();
    await this.#readSnapshot(manifest, used);
    await this.#options.queues?.begin(manifest);
    this.#replay.beginLog();
    const log = await this.#readLog(manifest, found, used);
    if (!this.#replay.end()) throw await this.#needsMemory();
    const leftOver = found.map(segmentName).filter((name) => !used.has(name));
    return {
      manifest,
      ...log,
      records: this.#records,
      bytes: this.#bytes,
      leftOver,
      misnamed,
      nextNumber,
    };
  }

  /**
   * Checks a directory without a manifest: if its first start failed, it has only blank segments.
   */
  async #checkNew(found: readonly SegmentId[]): Promise<void> {
    for (const id of found) {
      const segment = await this.#reader.read(id, undefined);
      if (!hasRecord(segment, HEADER_BYTES, false)) continue;
      throw new DamagedData(
        this.#storage,
        MANIFEST,
        0,
        'is missing, although there is data: reading stopped',
      );
    }
  }

  #checkPartitionCount(stored: number): void {
    const { partitionCount: configured } = this.#options;
    if (stored === configured) return;
    const directory = this.#storage.path;
    throw new GridError('PARTITION_COUNT_CHANGED', { configured, stored, directory });
  }

  async #readSnapshot({ snapshot }: Manifest, used: Set<string>): Promise<void> {
    if (snapshot === undefined) return;
    const { number, parts } = snapshot;
    for (let part = 0; part < parts; part++) {
      const id = { kind: SNAPSHOT, number, part } as const;
      const next = part + 1 < parts ? { ...id, part: part + 1 } : undefined;
      const segment = await this.#read(id, next);
      if (segment.fault !== undefined) throw damageIn(this.#storage, segment, 0, segment.fault);
      used.add(segmentName(id));
      this.#segmentsLeft = parts - part - 1;
      const at = await this.#apply(segment);
      const { next: named } = sealAt(segment.page, at, segment.length, segment.seed);
      if (named === undefined) throw damageIn(this.#storage, segment, at);
    }
    for (let partition = 0; partition < this.#snapshotSequences.length; partition++) {
      this.#replay.restoreSequence(partition, this.#snapshotSequences[partition]!);
    }
  }

  async #readLog(
    manifest: Manifest,
    found: readonly SegmentId[],
    used: Set<string>,
  ): Promise<Pick<Recovered, 'end' | 'isSealed' | 'tornBytes'>> {
    const logs = found.filter(({ kind }) => kind === LOG).sort((a, b) => a.number - b.number);
    let isLengthDurable = true;
    for (let number = manifest.firstSegment; ; ) {
      const later = logs.filter((each) => each.number > number);
      const id = { kind: LOG, number, part: 0 } as const;
      const segment = await this.#read(id, later[0]);
      if (segment.fault !== undefined) throw damageIn(this.#storage, segment, 0, segment.fault);
      used.add(segmentName(id));
      this.#segmentsLeft = later.length;
      const at = await this.#apply(segment);
      const sealed = sealAt(segment.page, at, segment.length, segment.seed);
      const hasBegun = (next: number) =>
        manifest.synced.segment >= next || later.some((each) => each.number === next);
      if (sealed.next === undefined || (sealed.isNextOfStart && !hasBegun(sealed.next))) {
        // The SEAL of a failed start is ignored: it is cleared, so that it is not taken for a
        // record after the end.
        segment.page.bytes.fill(0, sealed.from, sealed.end);
        const end = { segment: number, offset: sealed.from };
        if (sealed.from === at)
          await checkLength(this.#storage, segment, at, manifest, isLengthDurable);
        const tornBytes = await tornBytesAt(this.#storage, segment, sealed.from, manifest, later);
        return { end, isSealed: sealed.from > at, tornBytes };
      }
      number = sealed.next;
      isLengthDurable = sealed.isNextDurable;
    }
  }

  async #read(id: SegmentId, next: SegmentId | undefined): Promise<ReadSegment> {
    try {
      return await this.#reader.read(id, next);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      throw new DamagedData(this.#storage, segmentName(id), 0, 'is missing: the log ends early');
    }
  }

  /**
   * Applies the segment's records. Resolves with the offset of its SEAL or of the first invalid
   * record.
   */
  async #apply(segment: ReadSegment): Promise<number> {
    const { page, length, seed, validEnd } = segment;
    let at = HEADER_BYTES;
    this.#sliceEndMs = this.#options.now() + SLICE_MS;
    for (let count = 1; ; count++) {
      const paddedLength =
        at < validEnd ? recordBytesAt(page, at) : checkRecord(page, at, length, seed);
      if (paddedLength === 0) break;
      const type = typeAt(page, at);
      if (type === SEAL) break;
      if (type === PARTITION) this.#snapshotSequences[partitionAt(page, at)] = sequenceAt(page, at);
      else if (type !== MARK && type < SKIPPED_TYPE_MIN && !this.#applyMutation(segment, at)) {
        throw await this.#needsMemory();
      }
      at += paddedLength;
      this.#bytes += paddedLength;
      if (count % RECORDS_PER_CLOCK_READ === 0 && this.#options.now() >= this.#sliceEndMs) {
        await this.#yieldToEventLoop();
      }
    }
    return at;
  }

  /** Applies a mutation. Returns false if the memory is not sufficient. */
  #applyMutation(segment: ReadSegment, at: number): boolean {
    const { page } = segment;
    const mutation = this.#mutation;
    if (!readMutation(page, at, mutation)) {
      throw unreadableRecord(this.#storage, segmentName(segment.id), page, at);
    }
    mutation.origin = FROM_REPLAY;
    const { partition } = mutation;
    const isKnown =
      segment.id.kind === LOG &&
      partition !== EVERY_PARTITION &&
      mutation.sequence <= this.#snapshotSequences[partition]!;
    this.#records++;
    if (segment.id.kind === LOG) this.#options.queues?.replay(mutation);
    return isKnown || this.#replay.apply(mutation) === APPLIED;
  }

  async #needsMemory(): Promise<GridError> {
    return await insufficientMemory(this.#storage, this.#options.engine, this.#manifest);
  }

  async #yieldToEventLoop(): Promise<void> {
    const { now, yieldToEventLoop, onProgress } = this.#options;
    onProgress({ records: this.#records, bytes: this.#bytes, segmentsLeft: this.#segmentsLeft });
    await yieldToEventLoop();
    this.#sliceEndMs = now() + SLICE_MS;
  }
}

/**
 * Memory that a partition uses besides its content, in bytes: one partly filled extent, and an
 * index.
 */
const PARTITION_BYTES = 131_072;
/**
 * Factor from bytes of files to bytes of memory. An entry needs less memory than its record in a
 * file, but extents in memory are not always full.
 */
const BYTES_PER_FILE_BYTE = 2;

/**
 * Returns an error that names a sufficient amount of memory: that of the last member or, if
 * unknown, an estimate based on the files.
 */
async function insufficientMemory(
  storage: Storage,
  engine: StoredEngine,
  manifest: Manifest,
): Promise<GridError> {
  const sufficient = manifest.memoryBytesMax ?? (await estimate(storage, engine.partitionCount));
  const bytes = engine.memoryBytesMax;
  return new GridError('DATA_NEEDS_MEMORY', { directory: storage.path, bytes, sufficient });
}

async function estimate(storage: Storage, partitionCount: number): Promise<number> {
  let bytes = partitionCount * PARTITION_BYTES;
  for (const name of await storage.list()) {
    if (parseSegmentName(name) === undefined) continue;
    const file = await storage.open(name);
    bytes += file.length * BYTES_PER_FILE_BYTE;
    await file.close();
  }
  return bytes;
}
