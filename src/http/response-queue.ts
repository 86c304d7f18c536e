/**
 * The responses that a connection has to send, in order. They are written into the arena, as one run a
 * turn. A run is cut into pieces only before a long value, which is sent without a copy, or an answer
 * that must not leave yet. flush hands over the responses that may leave; it never waits. A slow client
 * is sent 64 KiB at a time, each when the one before has been taken. The rest is copied out of the arena,
 * so that it alone stays in memory.
 */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { HAS_DEAR_CHECKS } from '../base/dear-checks.ts';
import { INDEPENDENT, type ItemHold, type Pinned } from './answer-delay.ts';
import type { OutputArena } from './arena.ts';
import type { BudgetUser } from './in-flight.ts';
import {
  assertPieces,
  countedBytes,
  type Dependence,
  dependence,
  isAdjacent,
  isDelayed,
  join,
  type OutputPiece,
  pinnedPiece,
  runPiece,
  setOwnBytes,
} from './output-piece.ts';
import { RecentBytes } from './recent-bytes.ts';
import type { ResponseQueueHost } from './response-queue-host.ts';
import { SocketWriter } from './socket-writer.ts';
import { statusLine } from './status.ts';

/** Bytes handed to the socket at once, at most. */
const WRITE_BYTES_MAX = 65536;

/** The connection of the responses. */
interface ResponseQueueOwner {
  /** In a later turn: the client has taken the bytes sent slowly, and more may be sent. */
  release(): void;
  /** The connection has failed, or has to make room. */
  destroy(): void;
}

export class ResponseQueue implements BudgetUser {
  readonly #owner: ResponseQueueOwner;
  readonly #writer: SocketWriter;
  readonly #arena: OutputArena;
  readonly #host: ResponseQueueHost;
  #pieces: OutputPiece[] = [];
  /** Bytes in pieces. */
  #pieceBytes = 0;
  /** Bytes of copies, taken out of the budget. */
  #copiedBytes = 0;
  /** Since when there are copies, in milliseconds. */
  sinceMs = 0;
  /** The bytes taken of late; made for the first copies. */
  #recent: RecentBytes | undefined;
  /** The run being written, after all pieces; NOTHING when there is none. */
  #runBuffer: Buffer = NOTHING;
  #runStart = 0;
  #runEnd = 0;
  /** The sequences that the response being written waits for. */
  #dependence: Dependence | undefined;
  /** The item that it delivers. */
  #item: ItemHold | undefined;
  /** Whether the socket calls back when the bytes it was handed last have been taken. */
  #isAwaitingSocket = false;
  /** Bytes handed to the socket. */
  #handedBytes = 0;
  /** Responses in the run. */
  #runResponses = 0;
  /** Responses that wait for the sequences they depend on. */
  delayedCount = 0;
  /** Responses that deliver an item and have not left. */
  #itemCount = 0;
  /** Whether the client has ended its side: it may never read a response that has not left by then. */
  #hasClientLeft = false;

  constructor(socket: Socket, host: ResponseQueueHost, owner: ResponseQueueOwner) {
    this.#owner = owner;
    const onFailed = (): void => owner.destroy();
    this.#writer = new SocketWriter(socket, (error) => this.#onTaken(error), onFailed);
    this.#arena = host.arena;
    this.#host = host;
    socket.on('end', () => {
      this.#hasClientLeft = true;
    });
  }

  /**
   * Before a response is written: makes room for `bytes` of it, its head at least. One that delivers an
   * item, or waits, is a piece of its own.
   */
  begin(bytes: number, partition: number, sequence: number, item?: ItemHold): void {
    const arena = this.#arena;
    const { delay } = this.#host;
    if (delay !== undefined && partition !== INDEPENDENT) {
      this.#dependence = dependence(delay, partition, sequence);
      if (this.#dependence !== undefined) this.#cut();
    }
    if (item !== undefined) this.#cut();
    this.#item = item;
    arena.makeRoom(bytes);
    if (this.#runBuffer === arena.buffer && this.#runEnd === arena.used) return;
    this.#cut();
    arena.openRun();
    this.#runBuffer = arena.buffer;
    this.#runStart = arena.used;
  }

  /** The response, or with `isFinal` false an interim one, has been written into the arena. */
  end(isFinal = true): void {
    const { used, buffer } = this.#arena;
    if (this.#runBuffer !== buffer || used > buffer.length) assert.fail('room for a response');
    this.#runEnd = used;
    if (isFinal) this.#runResponses++;
    const [dependence, item] = [this.#dependence, this.#item];
    if (dependence === undefined && item === undefined) return;
    this.#cut(dependence, item);
    this.#dependence = undefined;
    if (dependence !== undefined) this.delayedCount++;
    if (item !== undefined) this.#itemCount++;
  }

  /** A long value follows the bytes written; it is sent without a copy. */
  addPinned(bytes: Buffer, start: number, end: number, pinned: Pinned): void {
    this.#cut();
    this.#push(pinnedPiece(bytes, start, end, pinned));
  }

  /** Bytes that have not been handed to the socket. */
  get unsentBytes(): number {
    return this.#pieceBytes + this.#runEnd - this.#runStart;
  }

  /** Responses that the system has not taken in full. */
  get unsentCount(): number {
    const [first] = this.#pieces;
    const count = this.#pieces.reduce((sum, { responses }) => sum + responses, this.#runResponses);
    // The head of a long value has been sent, or nothing but the last bytes is left.
    const isWithin = first === undefined ? count === 0 && this.isSending : first.responses === 0;
    return isWithin ? count + 1 : count;
  }

  /** Bytes that the system has not taken. */
  get untakenBytes(): number {
    return this.unsentBytes + this.#writer.waitingBytes;
  }

  /** Whether copies of answers wait for the client. */
  get holdsCopies(): boolean {
    return this.#copiedBytes > 0;
  }

  /** Whether everything has been handed to the socket. */
  get isEmpty(): boolean {
    return this.#pieces.length === 0 && this.#runBuffer === NOTHING;
  }

  /** Whether there are responses that may not leave yet. */
  get isDelayed(): boolean {
    return this.delayedCount > 0 || (this.#host.delay?.delaysAll === true && !this.isEmpty);
  }

  /** Whether the client has not taken all that may leave. */
  get isSending(): boolean {
    return this.#isAwaitingSocket || this.#writer.waitingBytes > 0;
  }

  /** Bytes that the client has taken. */
  get takenBytes(): number {
    return this.#handedBytes - this.#writer.waitingBytes;
  }

  recentBytes(nowMs: number): number {
    // The kernel does not report when it takes part of a piece.
    this.#recent?.reachEvenly(this.takenBytes, nowMs);
    return this.#recent?.sum(nowMs) ?? 0;
  }

  makeRoom(): void {
    this.#owner.destroy();
  }

  /** Hands over the responses that may leave. */
  flush(): void {
    if (this.#host.substitute !== undefined) this.#replaceUnsent(this.#host.substitute);
    if (this.#host.delay?.delaysAll === true) return;
    if (this.#pieces.length === 0 && !this.#isAwaitingSocket) {
      const length = this.#runEnd - this.#runStart;
      if (length === 0) return;
      if (length <= WRITE_BYTES_MAX && this.#writer.waitingBytes === 0) return this.#sendRun();
    }
    this.#cut();
    if (this.#pieces.length === 0) return;
    if (this.#itemCount > 0) this.#acknowledgeItems();
    if (!this.#isAwaitingSocket) this.#sendPieces();
    if (this.#isAwaitingSocket) this.#copyRest();
  }

  /** The connection is gone: nothing more is sent. The socket itself frees the bytes that it has. */
  drop(): void {
    this.#cut();
    if (HAS_DEAR_CHECKS) this.#assertPieces();
    const kept = this.#isAwaitingSocket && this.#pieces[0]?.isUnderWay ? 1 : 0;
    for (const piece of this.#pieces.splice(kept)) {
      this.#acknowledge(piece, false);
      this.#finish(piece);
    }
    for (const piece of this.#pieces) piece.start = piece.end;
    this.#pieceBytes = 0;
    this.delayedCount = 0;
  }

  /** The usual case: one short run, and a client that takes its answers at once. */
  #sendRun(): void {
    const buffer = this.#runBuffer;
    this.#runBuffer = NOTHING;
    this.#runResponses = 0;
    this.#hand(this.#arena.view(buffer, this.#runStart, this.#runEnd), true);
    this.#arena.closeRun(buffer, this.#isRunTaken());
    this.#runStart = this.#runEnd = 0;
  }

  /** Puts this text in the place of every response of which nothing has been handed over. */
  #replaceUnsent(text: string): void {
    this.#cut();
    let count = 0;
    for (const piece of this.#pieces.splice(this.#pieces[0]?.isUnderWay ? 1 : 0)) {
      count += piece.responses;
      this.#pieceBytes -= piece.end - piece.start;
      this.#acknowledge(piece, false);
      this.#finish(piece);
    }
    this.delayedCount = 0;
    for (; count > 0; count--) {
      this.begin(text.length, INDEPENDENT, 0);
      this.#arena.writeText(text);
      this.end();
    }
  }

  #sendPieces(): void {
    const pieces = this.#pieces;
    let sent = 0;
    while (sent < pieces.length && this.#mayLeave(pieces[sent]!)) {
      const piece = pieces[sent]!;
      sent++;
      while (sent < pieces.length && this.#joins(piece, pieces[sent]!)) sent++;
      if (!this.#send(piece)) {
        pieces[--sent] = piece;
        break;
      }
      this.#finish(piece);
    }
    pieces.splice(0, sent);
  }

  /** The items of responses that may leave are delivered by them, or return. */
  #acknowledgeItems(): void {
    for (let index = 0; index < this.#pieces.length; index++) {
      const piece = this.#pieces[index]!;
      if (!this.#mayLeave(piece)) return;
      if (piece.item === undefined) continue;
      if (this.#hasClientLeft) this.#withdraw(piece, this.#pieces[index + 1]);
      this.#acknowledge(piece, !this.#hasClientLeft);
    }
  }

  #acknowledge(piece: OutputPiece, isDelivered: boolean): void {
    const { item } = piece;
    if (item === undefined) return;
    piece.item = undefined;
    this.#itemCount--;
    item.acknowledge(isDelivered);
  }

  /** Puts a 204 in the place of the piece's response, and of the long value after it. */
  #withdraw(piece: OutputPiece, next: OutputPiece | undefined): void {
    const text = Buffer.from(`${statusLine(204)}${this.#arena.dateLine}\r\n`);
    this.#finish(piece);
    this.#pieceBytes += text.length - (piece.end - piece.start);
    setOwnBytes(piece, text);
    this.#accountCopy(text.length);
    if (next?.pinned === undefined) return;
    this.#pieceBytes -= next.end - next.start;
    next.start = next.end;
  }

  #mayLeave(piece: OutputPiece): boolean {
    const { delay } = this.#host;
    if (piece.dependence === undefined) return true;
    if (delay !== undefined && isDelayed(delay, piece.dependence)) return false;
    piece.dependence = undefined;
    this.delayedCount--;
    return true;
  }

  /** Whether `next` lies right after the piece and may leave with it; then it is part of it now. */
  #joins(piece: OutputPiece, next: OutputPiece): boolean {
    if (!isAdjacent(piece, next) || !this.#mayLeave(next)) return false;
    join(piece, next);
    return true;
  }

  /**
   * Hands over the piece as far as the client takes it. False: the socket calls back when the last part
   * handed over has been taken; until then a pinned one must stay, and a slow client waits.
   */
  #send(piece: OutputPiece): boolean {
    while (piece.start < piece.end) {
      const start = piece.start;
      piece.isUnderWay = true;
      piece.start = Math.min(piece.end, start + WRITE_BYTES_MAX);
      this.#pieceBytes -= piece.start - start;
      const part = piece.bytes.subarray(start, piece.start);
      if (!this.#hand(part, piece.runStart >= 0)) return false;
    }
    return true;
  }

  /** False: the socket calls back when the bytes are taken. Those of a run are left to the socket. */
  #hand(bytes: Buffer, isRun: boolean): boolean {
    this.#handedBytes += bytes.length;
    this.#isAwaitingSocket = !this.#writer.write(bytes, isRun);
    return !this.#isAwaitingSocket;
  }

  /** Whether the place of the last run handed over is no longer needed. */
  #isRunTaken(): boolean {
    return this.#writer.isCopying || this.#writer.waitingBytes === 0;
  }

  #onTaken(error: Error | null | undefined): void {
    this.#isAwaitingSocket = false;
    if (this.#copiedBytes > 0) this.#recent?.reachEvenly(this.takenBytes, this.#host.nowMs);
    const [first] = this.#pieces;
    if (first?.isUnderWay && (error != null || first.start === first.end)) {
      this.#pieces.shift();
      this.#pieceBytes -= first.end - first.start;
      this.#finish(first);
    }
    if (HAS_DEAR_CHECKS) this.#assertPieces();
    this.#owner.release();
  }

  #assertPieces(): void {
    const counts = { bytes: this.#pieceBytes, copiedBytes: this.#copiedBytes };
    const left = { delayed: this.delayedCount, items: this.#itemCount };
    assertPieces(this.#pieces, { ...counts, ...left });
  }

  /** The piece is no longer needed. */
  #finish(piece: OutputPiece): void {
    piece.pinned?.release();
    for (let run = 0; run < piece.runCount && piece.runStart >= 0; run++) {
      this.#arena.closeRun(piece.bytes, this.#isRunTaken());
    }
    const counted = countedBytes(piece);
    if (counted === 0) return;
    this.#copiedBytes -= counted;
    this.#host.inFlight.give(counted);
    if (this.#copiedBytes === 0) this.#host.inFlight.leave(this);
  }

  /** The client is slow: the bytes in the arena are copied, but for those that the socket has already. */
  #copyRest(): void {
    for (const piece of this.#pieces) {
      if (piece.runStart < 0) continue;
      const copy = Buffer.from(piece.bytes.subarray(piece.start, piece.end));
      const isTaken = this.#writer.isCopying || piece.start === piece.runStart;
      for (let run = 0; run < piece.runCount; run++) this.#arena.closeRun(piece.bytes, isTaken);
      setOwnBytes(piece, copy);
      this.#accountCopy(copy.length);
    }
  }

  #accountCopy(bytes: number): void {
    if (bytes === 0) return;
    const { inFlight, nowMs } = this.#host;
    if (this.#copiedBytes === 0) {
      this.sinceMs = nowMs;
      this.#recent ??= new RecentBytes();
      this.#recent.begin(this.takenBytes, nowMs);
      inFlight.enterAnswers(this);
    }
    this.#copiedBytes += bytes;
    inFlight.overdraw(bytes);
  }

  /** Ends the run: its bytes become a piece. */
  #cut(dependence?: Dependence, item?: ItemHold): void {
    if (this.#runBuffer !== NOTHING) this.#endRun(dependence, item);
  }

  #endRun(dependence: Dependence | undefined, item: ItemHold | undefined): void {
    const piece = runPiece(this.#runBuffer, this.#runStart, this.#runEnd, this.#runResponses);
    piece.dependence = dependence;
    piece.item = item;
    this.#runBuffer = NOTHING;
    this.#runStart = 0;
    this.#runEnd = 0;
    this.#runResponses = 0;
    this.#push(piece);
  }

  #push(piece: OutputPiece): void {
    this.#accountCopy(countedBytes(piece));
    this.#pieces.push(piece);
    this.#pieceBytes += piece.end - piece.start;
  }
}

const NOTHING = Buffer.alloc(0);
