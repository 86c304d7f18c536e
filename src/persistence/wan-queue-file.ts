/**
 * The WAN queue file `wan-<n>` contains the changes that were waiting in persistent queues
 * (../engine/durable-queues.ts) when snapshot n was written, because the snapshot replaces the log
 * that contained them. The manifest records whether the file exists. It is a sequence of blocks,
 * after a header. Numbers are little-endian.
 *
 *     0  frame (../base/frame.ts) of the header: "gridWAIT"
 *    20  number of the snapshot, at 24 number of partitions
 *    28  blocks
 *
 * A block:
 *
 *     0  CRC-32 of all that follows, seeded by the numbers of the snapshot and of the block
 *     4  length in bytes, from 0 on
 *     8  type, one byte: 1 QUEUE, 2 LANE, 3 CUT, 4 END; at 9 number of the lane, one byte
 *    10  QUEUE: name of the queue, in UTF-8. LANE: bytes of a lane, as the queue serializes them.
 *        CUT: for each partition the sequence up to which the queue's blocks contain its waiting
 *        changes, a double. END: no content
 *
 * The blocks of a queue are consecutive, its CUT last. An empty queue has no blocks.
 * Tested by queue-files.spec.ts.
 */
import { checksum } from '../base/checksum.ts';
import type { Clock } from '../base/clock.ts';
import { type Viewed, ViewedBytes } from '../base/copy-bytes.ts';
import { FieldReader, FieldWriter } from '../base/fields.ts';
import { FRAME_BYTES, writeFrame } from '../base/frame.ts';
import type { DurableQueue, DurableQueues } from '../engine/durable-queues.ts';
import { AtomicFile } from './atomic-file.ts';
import { DamagedData } from './damage.ts';
import { DATA_FORMAT, fileFault } from './data-format.ts';
import { NUMBER_MAX, readBeginning } from './segment.ts';
import type { Storage, StoredFile } from './storage.ts';

const MAGIC = 'gridWAIT';
const HEADER_BYTES = 28;
const BLOCK_HEAD_BYTES = 10;
/** Maximum length of a block, in bytes, unless it contains a single longer event. */
const BLOCK_BYTES = 262_144;
const BLOCK_BYTES_MAX = 2 ** 31 - 8;

const QUEUE = 1;
const LANE = 2;
const CUT = 3;
const END = 4;

export function queueFileName(snapshot: number): string {
  return `wan-${String(snapshot).padStart(10, '0')}`;
}

/**
 * Returns the snapshot to which the file with this name belongs; undefined if it is another name or
 * has an invalid number.
 */
export function parseQueueFileName(name: string): number | undefined {
  const number = Number(/^wan-(\d{10})$/.exec(name)?.[1]);
  return number >= 1 && number <= NUMBER_MAX ? number : undefined;
}

/**
 * Returns the snapshot to which the file belongs; undefined unless both its name and its header
 * have the number.
 */
export async function queueFileIn(storage: Storage, name: string): Promise<number | undefined> {
  const number = parseQueueFileName(name);
  if (number === undefined) return undefined;
  const header = new ViewedBytes(HEADER_BYTES);
  const length = await readBeginning(storage, name, header);
  if (fileFault(storage, name, header, length, MAGIC, HEADER_BYTES) !== undefined) return undefined;
  return header.view.getUint32(FRAME_BYTES, true) === number ? number : undefined;
}

interface WriterParts {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly queues: DurableQueues;
  /** Returns the current last sequence of each partition. */
  sequences(): Float64Array;
  /** Whether the file may have this length; if not, writing stops and the file is removed. */
  mayWrite(bytes: number): Promise<boolean>;
}

/**
 * Writes the file of that snapshot, if any queue has waiting changes. Resolves with its length once
 * it is durable; 0 if no file is needed; undefined, without leaving a file, if the needed length is
 * not permitted.
 */
export async function writeQueueFile(
  parts: WriterParts,
  snapshot: number,
): Promise<number | undefined> {
  const waiting = parts.queues.queues().filter(({ bytes }) => bytes > 0);
  if (waiting.length === 0) return 0;
  const whole = await AtomicFile.begin(parts.storage, queueFileName(snapshot));
  const writer = new QueueFileWriter(parts, snapshot, whole.file);
  try {
    if (!(await writer.write(waiting))) {
      await whole.discard();
      return undefined;
    }
  } catch (error) {
    await whole.discard();
    throw error;
  }
  await whole.complete();
  return writer.position;
}

/** Writes queues lane by lane. Each lane has a separate cut. */
class QueueFileWriter {
  /** Number of bytes written. */
  position = HEADER_BYTES;
  readonly #parts: WriterParts;
  readonly #snapshot: number;
  readonly #file: StoredFile;
  readonly #usualPage = new ViewedBytes(BLOCK_BYTES);
  #block = 0;

  constructor(parts: WriterParts, snapshot: number, file: StoredFile) {
    this.#parts = parts;
    this.#snapshot = snapshot;
    this.#file = file;
  }

  /** Resolves with false if the file would exceed the permitted length. */
  async write(queues: readonly DurableQueue[]): Promise<boolean> {
    await this.#writeHeader();
    for (const queue of queues) if (!(await this.#writeQueue(queue))) return false;
    await this.#writeBlock(this.#usualPage, BLOCK_HEAD_BYTES, END);
    return true;
  }

  async #writeHeader(): Promise<void> {
    const header = new ViewedBytes(HEADER_BYTES);
    const partitions = this.#parts.sequences().length;
    new FieldWriter(header.bytes, FRAME_BYTES).word(this.#snapshot).word(partitions);
    writeFrame(header, HEADER_BYTES, MAGIC, DATA_FORMAT);
    await this.#file.write(header.bytes, 0, HEADER_BYTES, 0);
  }

  /** Resolves with false if the file would exceed the permitted length. */
  async #writeQueue(queue: DurableQueue): Promise<boolean> {
    const name = Buffer.from(queue.name);
    const named = pageFor(this.#usualPage, name.length);
    name.copy(named.bytes, BLOCK_HEAD_BYTES);
    await this.#writeBlock(named, BLOCK_HEAD_BYTES + name.length, QUEUE);
    const upTo = this.#parts.sequences();
    for (let lane = 0; lane < queue.laneCount; lane++) {
      if (!(await this.#writeLane(queue, lane, upTo))) return false;
    }
    const page = pageFor(this.#usualPage, upTo.byteLength);
    new FieldWriter(page.bytes, BLOCK_HEAD_BYTES).counts(upTo);
    await this.#writeBlock(page, BLOCK_HEAD_BYTES + upTo.byteLength, CUT);
    return true;
  }

  /**
   * Writes the waiting changes of the lane, and sets the sequences of its partitions in `upTo`.
   * Resolves with false if the file would exceed the permitted length.
   */
  async #writeLane(queue: DurableQueue, lane: number, upTo: Float64Array): Promise<boolean> {
    const { sequences, mayWrite, clock } = this.#parts;
    const content = queue.cut(lane);
    const now = sequences();
    for (const partition of content.partitions) upTo[partition] = now[partition]!;
    let page: Viewed = this.#usualPage;
    let at = BLOCK_HEAD_BYTES;
    while (!content.isDone) {
      at = content.copy(page, at, page.bytes.length);
      const { bytesNeeded, isDone } = content;
      if (at > BLOCK_HEAD_BYTES && (bytesNeeded > 0 || isDone)) {
        if (!(await mayWrite(this.position + at))) return false;
        await this.#writeBlock(page, at, LANE, lane);
        at = BLOCK_HEAD_BYTES;
        page = this.#usualPage;
      } else if (bytesNeeded > 0) page = pageFor(this.#usualPage, bytesNeeded);
      else await new Promise<void>((resolve) => clock.endOfTurn(resolve));
    }
    return true;
  }

  /** Writes the block, which ends at offset `end` of the page. */
  async #writeBlock(page: Viewed, end: number, type: number, lane = 0): Promise<void> {
    const { bytes, view } = page;
    view.setUint32(4, end, true);
    bytes[8] = type;
    bytes[9] = lane;
    view.setInt32(0, checksum(page, 4, end, seedOf(this.#snapshot, this.#block++)), true);
    await this.#file.write(bytes, 0, end, this.position);
    this.position += end;
  }
}

/** Receives the content of a file, in its order. */
interface QueueFileReader {
  onQueue(name: string): void;
  /**
   * Receives bytes of a lane of the last queue, which are valid during the call. Returns false if
   * they are invalid.
   */
  onLane(lane: number, bytes: Buffer, start: number, end: number): boolean;
  /** Called when the last queue is complete. */
  onCut(queuedUpTo: Float64Array): void;
}

/**
 * Reads the file of the snapshot. Rejects with DamagedData, including if the file is missing; as
 * checkFormat throws; or with the system's error.
 */
export async function readQueueFile(
  storage: Storage,
  snapshot: number,
  partitionCount: number,
  reader: QueueFileReader,
): Promise<void> {
  const name = queueFileName(snapshot);
  const file = await storage.open(name).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw new DamagedData(
      storage,
      name,
      0,
      'is missing, although the manifest refers to it: reading stopped',
    );
  });
  try {
    await readHeader(storage, file, snapshot, partitionCount);
    await readBlocks(storage, file, snapshot, partitionCount, reader);
  } finally {
    await file.close();
  }
}

async function readHeader(
  storage: Storage,
  file: StoredFile,
  snapshot: number,
  partitionCount: number,
): Promise<void> {
  const header = new ViewedBytes(HEADER_BYTES);
  const length = await file.read(header.bytes, 0);
  const fault = fileFault(storage, file.name, header, length, MAGIC, HEADER_BYTES);
  if (fault !== undefined) throw new DamagedData(storage, file.name, fault.offset, fault.what);
  const { view } = header;
  if (view.getUint32(20, true) === snapshot && view.getUint32(24, true) === partitionCount) return;
  throw new DamagedData(storage, file.name, 0, 'has the header of another snapshot');
}

async function readBlocks(
  storage: Storage,
  file: StoredFile,
  snapshot: number,
  partitionCount: number,
  reader: QueueFileReader,
): Promise<void> {
  const usualPage = new ViewedBytes(BLOCK_BYTES);
  let at = HEADER_BYTES;
  let isInQueue = false;
  const fault = (what: string) => new DamagedData(storage, file.name, at, what);
  for (let block = 0; ; block++) {
    const head = await readHead(file, at);
    if (head === undefined) throw fault('ends within a block');
    const { end, type, lane } = head;
    const page = pageFor(usualPage, end - BLOCK_HEAD_BYTES);
    const { bytes, view } = page;
    await file.read(bytes.subarray(0, end), at);
    if (view.getInt32(0, true) !== checksum(page, 4, end, seedOf(snapshot, block))) {
      throw fault('has a block with a wrong checksum');
    }
    const fields = new FieldReader(bytes.subarray(0, end), BLOCK_HEAD_BYTES, fault);
    let isValid = (type === QUEUE || type === END) !== isInQueue;
    if (isValid && type === QUEUE) reader.onQueue(bytes.toString('utf8', BLOCK_HEAD_BYTES, end));
    else if (isValid && type === LANE) isValid = reader.onLane(lane, bytes, BLOCK_HEAD_BYTES, end);
    else if (isValid && type === CUT) reader.onCut(fields.counts(partitionCount));
    else isValid &&= type === END;
    if (!isValid) throw fault('has a block with wrong fields');
    if (type === CUT || type === END) fields.end();
    at += end;
    if (type === END) break;
    if (type !== LANE) isInQueue = type === QUEUE;
  }
  if (at < file.length) throw fault('continues after its end');
}

interface BlockHead {
  /** Length of the block in bytes. */
  readonly end: number;
  readonly type: number;
  readonly lane: number;
}

/** Reads the head of the block at `at`. Resolves with undefined if the file does not contain the block. */
async function readHead(file: StoredFile, at: number): Promise<BlockHead | undefined> {
  const { bytes, view } = new ViewedBytes(BLOCK_HEAD_BYTES);
  if ((await file.read(bytes, at)) < BLOCK_HEAD_BYTES) return undefined;
  const end = view.getUint32(4, true);
  const isWhole = end >= BLOCK_HEAD_BYTES && end <= BLOCK_BYTES_MAX && at + end <= file.length;
  return isWhole ? { end, type: bytes[8]!, lane: bytes[9]! } : undefined;
}

/** Returns the page, or a longer one if it has no room for a block with this content. */
function pageFor(page: Viewed, contentBytes: number): Viewed {
  const needed = BLOCK_HEAD_BYTES + contentBytes;
  return needed <= page.bytes.length ? page : new ViewedBytes(needed);
}

function seedOf(snapshot: number, block: number): number {
  return (Math.imul(snapshot, 0x9e3779b1) ^ Math.imul(block + 1, 0x85ebca6b)) | 0;
}
