/**
 * The WAN queue file `wan-<n>` contains the changes that were waiting in persistent queues
 * (../engine/durable-queues.ts) when snapshot n was written, because the snapshot replaces the log
 * that contained them. The manifest records whether the file exists. It is a sequence of blocks,
 * each a multiple of 8 bytes. Numbers are little-endian.
 *
 *     0  "gridwait"
 *     8  CRC-32C of all that follows, up to 32
 *    12  format (data-format.ts)
 *    16  number of the snapshot, at 20 number of partitions, at 24 eight zero bytes
 *    32  blocks
 *
 * A block:
 *
 *     0  CRC-32C of all that follows, seeded by the numbers of the snapshot and of the block
 *     4  length in bytes, without the padding
 *     8  type: 1 QUEUE, 2 LANE, 3 CUT, 4 END; at 12 number of the lane
 *    16  QUEUE: name of the queue, in UTF-8. LANE: bytes of a lane, as the queue serializes them.
 *        CUT: for each partition the sequence up to which the queue's blocks contain its waiting
 *        changes, a double. END: no content
 *
 * The blocks of a queue are consecutive, its CUT last. An empty queue has no blocks.
 * Tested by queue-files.spec.ts.
 */
import type { Clock } from '../base/clock.ts';
import type { DurableQueue, DurableQueues } from '../engine/durable-queues.ts';
import { AtomicFile } from './atomic-file.ts';
import { checksum, SummedMemory } from './checksum.ts';
import { DamagedData } from './damage.ts';
import { checkFormat, DATA_FORMAT } from './data-format.ts';
import { Page } from './page.ts';
import { NUMBER_MAX, readBeginning } from './segment.ts';
import type { Storage, StoredFile } from './storage.ts';

const MAGIC = 'gridwait';
const HEADER_BYTES = 32;
const BLOCK_HEAD_BYTES = 16;
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
  const page = new Page(HEADER_BYTES);
  await readBeginning(storage, name, page);
  const hasHeader = page.bytes.toString('latin1', 0, MAGIC.length) === MAGIC;
  return hasHeader && page.words[4] === number ? number : undefined;
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
  readonly #usualPage = new Page(BLOCK_BYTES, new SummedMemory(BLOCK_BYTES));
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
    const page = new Page(HEADER_BYTES);
    const { bytes, words } = page;
    bytes.fill(0);
    bytes.write(MAGIC, 'latin1');
    words.set([DATA_FORMAT, this.#snapshot, this.#parts.sequences().length], 3);
    words[2] = checksum(page, 3, HEADER_BYTES >> 2, 0);
    await this.#file.write(bytes, 0, HEADER_BYTES, 0);
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
    page.doubles.set(upTo, BLOCK_HEAD_BYTES >> 3);
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
    let page = this.#usualPage;
    let at = BLOCK_HEAD_BYTES;
    while (!content.isDone) {
      at = content.copy(page.bytes, at, page.bytes.length);
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
  async #writeBlock(page: Page, end: number, type: number, lane = 0): Promise<void> {
    const { bytes, words } = page;
    const paddedEnd = padded(end);
    bytes.fill(0, end, paddedEnd);
    words[1] = end;
    words[2] = type;
    words[3] = lane;
    words[0] = checksum(page, 1, paddedEnd >> 2, seedOf(this.#snapshot, this.#block++));
    await this.#file.write(bytes, 0, paddedEnd, this.position);
    this.position += paddedEnd;
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
  const page = new Page(HEADER_BYTES);
  page.bytes.fill(0);
  await file.read(page.bytes, 0);
  const { bytes, words } = page;
  const hasHeader = file.length >= HEADER_BYTES && bytes.toString('latin1', 0, 8) === MAGIC;
  if (!hasHeader || words[2] !== checksum(page, 3, HEADER_BYTES >> 2, 0)) {
    throw new DamagedData(storage, file.name, 0, 'has no valid header');
  }
  checkFormat(storage, file.name, words[3]!);
  if (words[4] === snapshot && words[5] === partitionCount) return;
  throw new DamagedData(storage, file.name, 0, 'has the header of another snapshot');
}

async function readBlocks(
  storage: Storage,
  file: StoredFile,
  snapshot: number,
  partitionCount: number,
  reader: QueueFileReader,
): Promise<void> {
  const usualPage = new Page(BLOCK_BYTES, new SummedMemory(BLOCK_BYTES));
  let at = HEADER_BYTES;
  let isInQueue = false;
  for (let block = 0; ; block++) {
    const head = await readHead(storage, file, at);
    const page = pageFor(usualPage, head.end - BLOCK_HEAD_BYTES);
    const paddedEnd = padded(head.end);
    await file.read(page.bytes.subarray(0, paddedEnd), at);
    if (page.words[0] !== checksum(page, 1, paddedEnd >> 2, seedOf(snapshot, block))) {
      throw new DamagedData(storage, file.name, at, 'has a block with a wrong checksum');
    }
    const isNext = head.type === QUEUE || head.type === END ? !isInQueue : isInQueue;
    if (!(isNext && passBlock(page, head, partitionCount, reader))) {
      throw new DamagedData(storage, file.name, at, 'has a block with wrong fields');
    }
    at += paddedEnd;
    if (head.type === END) break;
    if (head.type !== LANE) isInQueue = head.type === QUEUE;
  }
  if (at < file.length) throw new DamagedData(storage, file.name, at, 'continues after its end');
}

interface BlockHead {
  /** Length in bytes, without the padding. */
  readonly end: number;
  readonly type: number;
  readonly lane: number;
}

async function readHead(storage: Storage, file: StoredFile, at: number): Promise<BlockHead> {
  const { bytes, words } = new Page(BLOCK_HEAD_BYTES);
  if (at + BLOCK_HEAD_BYTES <= file.length) {
    await file.read(bytes, at);
    const [, end = 0, type = 0, lane = 0] = words;
    const isWhole = end >= BLOCK_HEAD_BYTES && end <= BLOCK_BYTES_MAX;
    if (isWhole && at + padded(end) <= file.length) return { end, type, lane };
  }
  throw new DamagedData(storage, file.name, at, 'ends within a block');
}

/** Passes the block's content to the reader. Returns false if it is invalid. */
function passBlock(
  { bytes, doubles }: Page,
  { end, type, lane }: BlockHead,
  partitionCount: number,
  reader: QueueFileReader,
): boolean {
  if (type === END) return end === BLOCK_HEAD_BYTES;
  if (type === QUEUE) {
    reader.onQueue(bytes.toString('utf8', BLOCK_HEAD_BYTES, end));
    return true;
  }
  if (type === LANE) return lane >= 0 && reader.onLane(lane, bytes, BLOCK_HEAD_BYTES, end);
  if (type !== CUT || end !== BLOCK_HEAD_BYTES + partitionCount * 8) return false;
  reader.onCut(doubles.slice(BLOCK_HEAD_BYTES >> 3, end >> 3));
  return true;
}

/** Returns the page, or a longer one if it has no room for a block with this content. */
function pageFor(page: Page, contentBytes: number): Page {
  const needed = BLOCK_HEAD_BYTES + contentBytes;
  return needed <= page.bytes.length ? page : new Page(padded(needed));
}

function seedOf(snapshot: number, block: number): number {
  return (Math.imul(snapshot, 0x9e3779b1) ^ Math.imul(block + 1, 0x85ebca6b)) | 0;
}

function padded(length: number): number {
  return (length + 7) & ~7;
}
