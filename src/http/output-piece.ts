/** The pieces that an responses sends, and the dependences of those that must not leave yet. */
import assert from 'node:assert/strict';
import { type AnswerDelay, EVERY_PARTITION, type ItemHold, type Pinned } from './answer-delay.ts';

/** Bytes to send: pinned, of a run in the arena, or a copy out of the arena. */
export interface OutputPiece {
  bytes: Buffer;
  start: number;
  end: number;
  readonly pinned: Pinned | undefined;
  /** Its beginning in the arena; -1 elsewhere. */
  runStart: number;
  /** Runs of the arena that it consists of. */
  runCount: number;
  /** Responses that begin in it. */
  responses: number;
  /** Whether some of it has been handed over. */
  isUnderWay: boolean;
  dependence: Dependence | undefined;
  /** The item that it delivers, acknowledged when it leaves. */
  item: ItemHold | undefined;
}

/** A run of responses in the arena. */
export function runPiece(
  bytes: Buffer,
  start: number,
  end: number,
  responses: number,
): OutputPiece {
  const none = { pinned: undefined, dependence: undefined, item: undefined };
  return { bytes, start, end, runStart: start, runCount: 1, responses, isUnderWay: false, ...none };
}

/** A long value, which is sent without a copy. */
export function pinnedPiece(
  bytes: Buffer,
  start: number,
  end: number,
  pinned: Pinned,
): OutputPiece {
  const run = { runStart: -1, runCount: 0, responses: 0, isUnderWay: false };
  const rest = { pinned, ...run, dependence: undefined, item: undefined };
  if (pinned.isCounted) return { bytes, start, end, ...rest };
  return { bytes: bytes.subarray(start, end), start: 0, end: end - start, ...rest };
}

/** The bytes of memory that are there for the piece alone, all the time that it is there. */
export function countedBytes({ bytes, pinned, runStart }: OutputPiece): number {
  return runStart >= 0 || pinned?.isCounted === true ? 0 : bytes.length;
}

/** Whether `next` lies right after the piece, in the same buffer. */
export function isAdjacent(piece: OutputPiece, next: OutputPiece): boolean {
  return piece.runStart >= 0 && next.runStart === piece.end && next.bytes === piece.bytes;
}

/** Makes `next`, which is adjacent, a part of the piece. */
export function join(piece: OutputPiece, next: OutputPiece): void {
  piece.end = next.end;
  piece.runCount += next.runCount;
  piece.responses += next.responses;
}

/** Gives the piece these bytes, which are not in the arena. */
export function setOwnBytes(piece: OutputPiece, bytes: Buffer): void {
  piece.bytes = bytes;
  piece.start = 0;
  piece.end = bytes.length;
  piece.runStart = -1;
}

/** Sums over the pieces of a connection: bytes to be sent, bytes of copies, delayed ones, items. */
interface PieceCounts {
  readonly bytes: number;
  readonly copiedBytes: number;
  readonly delayed: number;
  readonly items: number;
}

/** Asserts that the counts are those of the pieces. O(pieces). */
export function assertPieces(pieces: readonly OutputPiece[], counts: PieceCounts): void {
  const sum = (each: readonly OutputPiece[], of: (piece: OutputPiece) => number): number =>
    each.reduce((total, piece) => total + of(piece), 0);
  assert.deepEqual(counts, {
    bytes: sum(pieces, ({ start, end }) => end - start),
    copiedBytes: sum(pieces, countedBytes),
    delayed: pieces.filter((piece) => piece.dependence !== undefined).length,
    items: pieces.filter((piece) => piece.item !== undefined).length,
  });
  for (const [index, { start, end, bytes, isUnderWay }] of pieces.entries()) {
    assert(start <= end && end <= bytes.length, 'bytes of a piece');
    assert(index === 0 || !isUnderWay, 'the first piece alone is under way');
  }
}

/** The sequences that an answer waits for: one partition's, or those of all from 0. */
export interface Dependence {
  readonly partition: number;
  readonly sequences: Float64Array;
}

/** The sequences that the answer has to wait for; undefined for none. */
export function dependence(
  delay: AnswerDelay,
  partition: number,
  sequence: number,
): Dependence | undefined {
  if (partition !== EVERY_PARTITION && !delay.delays(partition, sequence)) return undefined;
  const sequences = partition === EVERY_PARTITION ? delay.sequences() : Float64Array.of(sequence);
  const waits = { partition, sequences };
  return isDelayed(delay, waits) ? waits : undefined;
}

export function isDelayed(delay: AnswerDelay, { partition, sequences }: Dependence): boolean {
  if (partition !== EVERY_PARTITION) return delay.delays(partition, sequences[0] as number);
  return sequences.some((sequence, each) => delay.delays(each, sequence));
}
