/**
 * The pieces of a connection's responses, and the stored data that each waits for.
 * Tested by connection.spec.ts.
 */
import assert from 'node:assert/strict';
import { EVERY_PARTITION } from '../base/partition-number.ts';
import type { Pin } from '../base/pin.ts';
import type { ItemHold, ResponseDelay } from './response-delay.ts';
import { NO_RESPONSES } from './unsent-responses.ts';

/** Bytes to send: pinned, part of a run in the arena, or a copy from the arena. */
export interface OutputPiece {
  bytes: Buffer;
  start: number;
  end: number;
  readonly pinned: Pin | undefined;
  /** Start of its run in the arena; -1 if it is not in the arena. */
  runStart: number;
  /** Number of runs of the arena that it consists of. */
  runCount: number;
  /** Number of responses that begin in it. */
  responses: number;
  /** Whether a part of it has been handed to the socket. */
  isUnderWay: boolean;
  dependency: Dependency | undefined;
  /** The item that it delivers, acknowledged when it is sent. */
  item: ItemHold | undefined;
  /** List of the responses that end in it (unsent-responses.ts). */
  unsent: number;
}

/** Returns a piece for a run of responses in the arena. */
export function runPiece(
  bytes: Buffer,
  start: number,
  end: number,
  responses: number,
): OutputPiece {
  return {
    bytes,
    start,
    end,
    pinned: undefined,
    runStart: start,
    runCount: 1,
    responses,
    isUnderWay: false,
    dependency: undefined,
    item: undefined,
    unsent: NO_RESPONSES,
  };
}

/** Returns a piece for a long value, which is sent without a copy. */
export function pinnedPiece(bytes: Buffer, start: number, end: number, pinned: Pin): OutputPiece {
  const { isCounted } = pinned;
  return {
    // An uncounted piece has a view of its own, because its whole buffer is counted (countedBytes).
    bytes: isCounted ? bytes : bytes.subarray(start, end),
    start: isCounted ? start : 0,
    end: isCounted ? end : end - start,
    pinned,
    runStart: -1,
    runCount: 0,
    responses: 0,
    isUnderWay: false,
    dependency: undefined,
    item: undefined,
    unsent: NO_RESPONSES,
  };
}

/** Returns the memory that only this piece retains, in bytes; constant while the piece exists. */
export function countedBytes({ bytes, pinned, runStart }: OutputPiece): number {
  return runStart >= 0 || pinned?.isCounted === true ? 0 : bytes.length;
}

/** Whether `next` directly follows the piece in the same buffer. */
export function isAdjacent(piece: OutputPiece, next: OutputPiece): boolean {
  return piece.runStart >= 0 && next.runStart === piece.end && next.bytes === piece.bytes;
}

/** Merges the adjacent piece `next` into the piece. */
export function join(piece: OutputPiece, next: OutputPiece): void {
  piece.end = next.end;
  piece.runCount += next.runCount;
  piece.responses += next.responses;
}

/** Replaces the bytes of the piece by bytes outside of the arena. */
export function setOwnBytes(piece: OutputPiece, bytes: Buffer): void {
  piece.bytes = bytes;
  piece.start = 0;
  piece.end = bytes.length;
  piece.runStart = -1;
}

/** Totals over the pieces of a connection: bytes to send, bytes of copies, delayed pieces, items. */
interface PieceCounts {
  readonly bytes: number;
  readonly copiedBytes: number;
  readonly delayed: number;
  readonly items: number;
}

/** Asserts that the counts match the pieces. O(pieces). */
export function assertPieces(pieces: readonly OutputPiece[], counts: PieceCounts): void {
  const sum = (each: readonly OutputPiece[], of: (piece: OutputPiece) => number): number =>
    each.reduce((total, piece) => total + of(piece), 0);
  assert.deepEqual(counts, {
    bytes: sum(pieces, ({ start, end }) => end - start),
    copiedBytes: sum(pieces, countedBytes),
    delayed: pieces.filter((piece) => piece.dependency !== undefined).length,
    items: pieces.filter((piece) => piece.item !== undefined).length,
  });
  for (const [index, { start, end, bytes, isUnderWay }] of pieces.entries()) {
    assert(start <= end && end <= bytes.length, 'bytes of a piece');
    assert(index === 0 || !isUnderWay, 'only the first piece is under way');
  }
}

/**
 * The sequences that a response waits for: the sequence of one partition, or of every partition
 * from 0.
 */
export interface Dependency {
  readonly partition: number;
  readonly sequences: Float64Array;
}

/** Returns the sequences that a response has to wait for; undefined for none. */
export function dependency(
  delay: ResponseDelay,
  partition: number,
  sequence: number,
): Dependency | undefined {
  if (partition !== EVERY_PARTITION && !delay.delays(partition, sequence)) return undefined;
  const sequences = partition === EVERY_PARTITION ? delay.sequences() : Float64Array.of(sequence);
  const waits = { partition, sequences };
  return isDelayed(delay, waits) ? waits : undefined;
}

export function isDelayed(delay: ResponseDelay, { partition, sequences }: Dependency): boolean {
  if (partition !== EVERY_PARTITION) return delay.delays(partition, sequences[0] as number);
  return sequences.some((sequence, each) => delay.delays(each, sequence));
}
