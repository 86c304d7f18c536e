/**
 * What a connection has to send, in order. Responses are written into the arena, as one run a turn;
 * a run is cut into pieces only where something stands between: a long value, which is sent from
 * where it lies, 64 KiB at a time, or an answer that must not leave yet. flush hands over whatever
 * may go; it never waits.
 */
import type { Socket } from 'node:net';
import { EVERY_PARTITION, INDEPENDENT, type Pinned, type ResponseHold } from './application.ts';
import type { OutputArena } from './arena.ts';

/** The most of a long value that is handed to the socket at once, in bytes. */
const PINNED_WRITE_BYTES_MAX = 65536;

/** Where the outboxes of a server find who holds answers back, if anybody does. */
export interface HoldSlot {
  readonly hold: ResponseHold | undefined;
}

export class Outbox {
  readonly #socket: Socket;
  readonly #arena: OutputArena;
  readonly #slot: HoldSlot;
  /** Called in a later turn when a long value has been sent. */
  readonly #onSent: () => void;
  #pieces: Piece[] = [];
  /** Bytes in pieces. */
  #pieceBytes = 0;
  /** The run being written, behind all pieces; NOTHING when there is none. */
  #runBuffer: Buffer = NOTHING;
  #runStart = 0;
  #runEnd = 0;
  /** What the response being written waits for. */
  #dependence: Dependence | undefined;
  /** The long value that is under way. */
  #sending: Piece | undefined;
  /** Responses that wait for what they depend on. */
  heldCount = 0;

  constructor(socket: Socket, arena: OutputArena, slot: HoldSlot, onSent: () => void) {
    this.#socket = socket;
    this.#arena = arena;
    this.#slot = slot;
    this.#onSent = onSent;
  }

  /** Before a response is written: makes room for `bytes` of it, its head at least. */
  begin(bytes: number, partition: number, sequence: number): void {
    const arena = this.#arena;
    const { hold } = this.#slot;
    if (hold !== undefined && partition !== INDEPENDENT) {
      this.#dependence = dependence(hold, partition, sequence);
      if (this.#dependence !== undefined) this.#cut(undefined);
    }
    arena.reserve(bytes);
    if (this.#runBuffer === arena.buffer && this.#runEnd === arena.used) return;
    this.#cut(undefined);
    arena.openRun();
    this.#runBuffer = arena.buffer;
    this.#runStart = arena.used;
  }

  /** The response has been written into the arena. */
  end(): void {
    this.#runEnd = this.#arena.used;
    if (this.#dependence !== undefined) {
      this.#cut(this.#dependence);
      this.#dependence = undefined;
      this.heldCount++;
    }
  }

  /** A long value follows what has been written; it is sent from where it lies. */
  addPinned(bytes: Buffer, start: number, end: number, pinned: Pinned): void {
    this.#cut(undefined);
    this.#push({ bytes, start, end, pinned, dependence: undefined });
  }

  /** Bytes that have not been handed to the socket. */
  get unsentBytes(): number {
    return this.#pieceBytes + this.#runEnd - this.#runStart;
  }

  /** Whether everything has been handed to the socket. */
  get isEmpty(): boolean {
    return this.#pieces.length === 0 && this.#runBuffer === NOTHING && this.#sending === undefined;
  }

  /** Hands over what may leave. */
  flush(): void {
    if (this.#sending !== undefined) return;
    if (this.#pieces.length > 0) this.#flushPieces();
    if (this.#pieces.length > 0 || this.#sending !== undefined) return;
    if (this.#runBuffer === NOTHING) return;
    const buffer = this.#runBuffer;
    this.#runBuffer = NOTHING;
    this.#write(buffer, this.#runStart, this.#runEnd);
    this.#runStart = 0;
    this.#runEnd = 0;
  }

  /** The connection is gone: nothing is sent any more. */
  drop(): void {
    this.#cut(undefined);
    for (const piece of this.#pieces) {
      if (piece.pinned === undefined) this.#arena.closeRun(piece.bytes, true);
      else piece.pinned.release();
    }
    this.#pieces = [];
    this.#pieceBytes = 0;
    this.heldCount = 0;
  }

  #flushPieces(): void {
    const { hold } = this.#slot;
    let sent = 0;
    for (const piece of this.#pieces) {
      if (piece.dependence !== undefined) {
        if (hold !== undefined && isHeld(hold, piece.dependence)) break;
        this.heldCount--;
      }
      sent++;
      if (piece.pinned !== undefined) {
        this.#sending = piece;
        break;
      }
      this.#pieceBytes -= piece.end - piece.start;
      this.#write(piece.bytes, piece.start, piece.end);
    }
    this.#pieces.splice(0, sent);
    if (this.#sending !== undefined) this.#sendPinned(this.#sending);
  }

  #sendPinned(piece: Piece): void {
    const end = Math.min(piece.end, piece.start + PINNED_WRITE_BYTES_MAX);
    const bytes = piece.bytes.subarray(piece.start, end);
    this.#pieceBytes -= bytes.length;
    piece.start = end;
    this.#socket.write(bytes, (error) => {
      if (error == null && piece.start < piece.end) return this.#sendPinned(piece);
      this.#pieceBytes -= piece.end - piece.start;
      this.#sending = undefined;
      piece.pinned?.release();
      this.#onSent();
    });
  }

  #write(buffer: Buffer, start: number, end: number): void {
    this.#socket.write(buffer.subarray(start, end));
    this.#arena.closeRun(buffer, this.#socket.writableLength === 0);
  }

  /** Ends the run: what is in it becomes a piece. */
  #cut(dependence: Dependence | undefined): void {
    const bytes = this.#runBuffer;
    if (bytes === NOTHING) return;
    const [start, end] = [this.#runStart, this.#runEnd];
    this.#runBuffer = NOTHING;
    this.#runStart = 0;
    this.#runEnd = 0;
    this.#push({ bytes, start, end, pinned: undefined, dependence });
  }

  #push(piece: Piece): void {
    this.#pieces.push(piece);
    this.#pieceBytes += piece.end - piece.start;
  }
}

interface Piece {
  readonly bytes: Buffer;
  start: number;
  readonly end: number;
  readonly pinned: Pinned | undefined;
  readonly dependence: Dependence | undefined;
}

/** The sequences that an answer waits for: one partition's, or those of all from 0. */
interface Dependence {
  readonly partition: number;
  readonly sequences: Float64Array;
}

function dependence(
  hold: ResponseHold,
  partition: number,
  sequence: number,
): Dependence | undefined {
  if (partition !== EVERY_PARTITION && !hold.holds(partition, sequence)) return undefined;
  const sequences = partition === EVERY_PARTITION ? hold.sequences() : Float64Array.of(sequence);
  const waits = { partition, sequences };
  return isHeld(hold, waits) ? waits : undefined;
}

function isHeld(hold: ResponseHold, { partition, sequences }: Dependence): boolean {
  if (partition !== EVERY_PARTITION) return hold.holds(partition, sequences[0] as number);
  return sequences.some((sequence, each) => hold.holds(each, sequence));
}

const NOTHING = Buffer.alloc(0);
