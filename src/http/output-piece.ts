/** The pieces that an responses sends, and the dependences of those that must not leave yet. */
import { EVERY_PARTITION, type ItemHold, type Pinned, type ResponseHold } from './response-hold.ts';

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
  return { bytes, start, end, pinned, ...run, dependence: undefined, item: undefined };
}

/** The sequences that an answer waits for: one partition's, or those of all from 0. */
export interface Dependence {
  readonly partition: number;
  readonly sequences: Float64Array;
}

/** The sequences that the answer has to wait for; undefined for none. */
export function dependence(
  hold: ResponseHold,
  partition: number,
  sequence: number,
): Dependence | undefined {
  if (partition !== EVERY_PARTITION && !hold.holds(partition, sequence)) return undefined;
  const sequences = partition === EVERY_PARTITION ? hold.sequences() : Float64Array.of(sequence);
  const waits = { partition, sequences };
  return isHeld(hold, waits) ? waits : undefined;
}

export function isHeld(hold: ResponseHold, { partition, sequences }: Dependence): boolean {
  if (partition !== EVERY_PARTITION) return hold.holds(partition, sequences[0] as number);
  return sequences.some((sequence, each) => hold.holds(each, sequence));
}
