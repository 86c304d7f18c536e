/**
 * The queue of a connection's unsent responses, in order. They are written into the arena, as one run per
 * turn. A run is cut into pieces only before a long value, which is sent without a copy, or a response
 * that may not be sent yet. `flush` hands the responses that may be sent to the carrier, never waiting. A
 * slow client is sent 64 KiB at a time, each after the previous ones have been accepted. The rest is
 * copied from the arena, so that only these bytes stay in memory. Tested by connection.spec.ts.
 */
import assert from 'node:assert/strict';
import { HAS_EXPENSIVE_ASSERTIONS } from '../base/expensive-assertions.ts';
import { NO_PARTITION } from '../base/partition-number.ts';
import type { Pin } from '../base/pin.ts';
import { NO_BYTES } from '../base/span.ts';
import type { OutputArena } from './arena.ts';
import { type Carrier, FAILED, WAITS } from './carrier.ts';
import type { Connection } from './connection.ts';
import type { BudgetUser } from './in-flight.ts';
import {
  assertPieces,
  countedBytes,
  type Dependency,
  dependency,
  isAdjacent,
  isDelayed,
  join,
  type OutputPiece,
  pinnedPiece,
  runPiece,
  setOwnBytes,
} from './output-piece.ts';
import { RecentBytes } from './recent-bytes.ts';
import type { ItemHold } from './response-delay.ts';
import type { HttpServer } from './server.ts';
import { statusLine } from './status.ts';
import { isLate } from './traffic-meter.ts';
import { NO_RESPONSES, type UnsentResponses } from './unsent-responses.ts';

/** Maximum number of bytes handed to the carrier in one write. */
const WRITE_BYTES_MAX = 65536;
/**
 * Maximum size of the responses of a connection that wait, in bytes; the lower one applies to a full
 * budget.
 */
const WAITING_BYTES_MAX = 1_048_576;
const WAITING_BYTES_MAX_FULL = 65_536;

/** The request of a response; if it was complete in an earlier turn, it has that turn's time. */
interface Completed {
  /** In ms. */
  readonly beganMs: number;
}

export class ResponseQueue implements BudgetUser {
  readonly #connection: Connection;
  readonly #carrier: Carrier;
  readonly #arena: OutputArena;
  readonly #server: HttpServer;
  readonly #unsent: UnsentResponses;
  #pieces: OutputPiece[] = [];
  /** Bytes of all pieces. */
  #pieceBytes = 0;
  /** Bytes of copies, which the budget counts. */
  #copiedBytes = 0;
  /** Time since which there have been copies, in ms. */
  sinceMs = 0;
  /** The bytes that the client accepted in the last RECENT_MS; created for the first copies. */
  #recent: RecentBytes | undefined;
  /** The run being written, which follows all pieces; NO_BYTES if there is none. */
  #runBuffer: Buffer = NO_BYTES;
  #runStart = 0;
  #runEnd = 0;
  /** The sequences that the response being written waits for. */
  #dependency: Dependency | undefined;
  /** The item that the response being written delivers. */
  #item: ItemHold | undefined;
  /** Whether the bytes handed over last wait to be accepted. */
  #isWaiting = false;
  /** Total of the bytes handed to the carrier. */
  #handedBytes = 0;
  /** Exchange of the first responses in the run (traffic-meter.ts), their number, and their turn's time. */
  #runExchange = 0;
  #runCount = 0;
  #runBeganMs = 0;
  /** Number of other responses that begin in the run, and the list of those that end in it. */
  #runOthers = 0;
  #runUnsent = NO_RESPONSES;
  /** List of the responses that are being handed over. */
  #leaving = NO_RESPONSES;
  /** Number of responses that wait for the sequences they depend on. */
  #delayedCount = 0;
  /** Number of unsent responses that deliver an item. */
  #itemCount = 0;

  constructor(carrier: Carrier, server: HttpServer, connection: Connection) {
    this.#connection = connection;
    this.#carrier = carrier;
    this.#arena = server.arena;
    this.#server = server;
    this.#unsent = server.unsent;
  }

  /**
   * Begins a response and ensures room for `bytes` of it, at least its head. A response that delivers an
   * item or has to wait is a separate piece.
   */
  begin(bytes: number, partition: number, sequence: number, item?: ItemHold): void {
    const arena = this.#arena;
    const { delay } = this.#server;
    if (delay !== undefined && partition !== NO_PARTITION) {
      this.#dependency = dependency(delay, partition, sequence);
      if (this.#dependency !== undefined) this.#cut();
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

  /**
   * Ends a response that has been written into the arena. `exchange`: that of its request, with the
   * status; 0 for an interim response and for parts of a stream.
   */
  end(exchange = 0, request?: Completed): void {
    const { used, buffer } = this.#arena;
    if (this.#runBuffer !== buffer || used > buffer.length) assert.fail('room for a response');
    this.#runEnd = used;
    if (exchange !== 0) {
      if (exchange === this.#runExchange) this.#runCount++;
      else this.#endOther(exchange, request);
    }
    const dependency = this.#dependency;
    const item = this.#item;
    if (dependency === undefined && item === undefined) return;
    this.#cut(dependency, item);
    this.#dependency = undefined;
    if (dependency !== undefined) this.#delayedCount++;
    if (item !== undefined) this.#itemCount++;
  }

  /** Ends a response that is counted otherwise, or its head, which a long value follows. */
  endHead(): void {
    this.#runOthers++;
    this.end();
  }

  /**
   * Adds a long value after the bytes written so far. It is sent without a copy. `partition` and
   * `sequence`: what it depends on besides the response that it belongs to.
   */
  addPinned(
    bytes: Buffer,
    start: number,
    end: number,
    pinned: Pin,
    partition = NO_PARTITION,
    sequence = 0,
  ): void {
    this.#cut();
    const { delay } = this.#server;
    const piece = pinnedPiece(bytes, start, end, pinned);
    if (delay !== undefined && partition !== NO_PARTITION) {
      piece.dependency = dependency(delay, partition, sequence);
      if (piece.dependency !== undefined) this.#delayedCount++;
    }
    this.#push(piece);
  }

  /** Counts a response that ends with the bytes written last, once they have left. */
  complete(exchange: number, request: Completed): void {
    const beganMs = isLate(exchange) ? request.beganMs : this.#server.nowMs;
    const unsent = this.#unsent;
    if (this.#runBuffer !== NO_BYTES) {
      this.#runUnsent = unsent.add(this.#runUnsent, exchange, beganMs);
      return;
    }
    const last = this.#pieces.at(-1);
    if (last !== undefined) last.unsent = unsent.add(last.unsent, exchange, beganMs);
    else unsent.count(unsent.add(NO_RESPONSES, exchange, beganMs), this.#server.clock.now());
  }

  /** Ends a response that was written in pieces, so that later ones can be replaced without it. */
  endPieces(): void {
    this.#cut();
  }

  /** Bytes that have not been handed to the carrier. */
  get unsentBytes(): number {
    return this.#pieceBytes + this.#runEnd - this.#runStart;
  }

  /** Number of responses that the kernel has not accepted completely. */
  get unsentCount(): number {
    const [first] = this.#pieces;
    const inRun = this.#runCount + this.#runOthers;
    const count = this.#pieces.reduce((sum, { responses }) => sum + responses, inRun);
    // One more if a response has been sent in part: the head of a long value, or all but the last bytes.
    const isWithin = first === undefined ? count === 0 && this.isSending : first.responses === 0;
    return isWithin ? count + 1 : count;
  }

  /** Bytes that the kernel has not accepted. */
  get untakenBytes(): number {
    return this.unsentBytes + this.#carrier.untakenBytes;
  }

  /** Whether everything has been handed to the carrier. */
  get isEmpty(): boolean {
    return this.#pieces.length === 0 && this.#runBuffer === NO_BYTES;
  }

  /**
   * Whether the responses that wait are too many to run further requests of the connection.
   * `bufferedBytes`: those of responses that wait for earlier ones.
   */
  isFull(bufferedBytes: number): boolean {
    if (this.isEmpty && bufferedBytes === 0) return false;
    const { inFlight, limits } = this.#server;
    const isBudgetFull = inFlight.isFull;
    const bytesMax = isBudgetFull ? WAITING_BYTES_MAX_FULL : WAITING_BYTES_MAX;
    return (
      this.unsentBytes + bufferedBytes > bytesMax ||
      this.#delayedCount >= limits.pipelineMax ||
      (isBudgetFull && (this.#copiedBytes > 0 || bufferedBytes > 0))
    );
  }

  /** Whether there are responses that may not be sent yet. */
  get isDelayed(): boolean {
    return this.#delayedCount > 0 || (this.#server.delay?.delaysAll === true && !this.isEmpty);
  }

  /** Whether responses that may be sent have not been accepted completely. */
  get isSending(): boolean {
    return this.#isWaiting;
  }

  /** Total of the bytes that the client has accepted. */
  get takenBytes(): number {
    return this.#handedBytes - this.#carrier.untakenBytes;
  }

  recentBytes(nowMs: number): number {
    // The kernel does not report when it accepts a part of a piece.
    this.#recent?.reachEvenly(this.takenBytes, nowMs);
    return this.#recent?.sum(nowMs) ?? 0;
  }

  makeRoom(): void {
    this.#connection.destroy();
  }

  /** Hands the responses that may be sent to the carrier. */
  flush(): void {
    if (this.#server.substitute !== undefined) this.#replaceUnsent(this.#server.substitute);
    // The responses of a run have the time of one turn.
    if (this.#server.delay?.delaysAll === true) return this.#cut();
    if (this.#pieces.length === 0 && !this.#isWaiting) {
      const length = this.#runEnd - this.#runStart;
      if (length === 0) return;
      if (length <= WRITE_BYTES_MAX) return this.#sendRun();
    }
    this.#cut();
    if (this.#pieces.length === 0) return;
    if (this.#itemCount > 0) this.#acknowledgeItems();
    if (!this.#isWaiting) this.#sendPieces();
    this.#countLeft();
    if (this.#isWaiting) this.#copyRest();
  }

  /** Drops all responses of a closed connection. */
  drop(): void {
    this.#isWaiting = false;
    this.#cut();
    if (HAS_EXPENSIVE_ASSERTIONS) this.#assertPieces();
    for (const piece of this.#pieces.splice(0)) {
      this.#acknowledge(piece, false);
      this.#finish(piece);
      this.#unsent.drop(piece.unsent);
    }
    this.#pieceBytes = 0;
    this.#delayedCount = 0;
  }

  /** Sends a single short run, the usual case if the client reads its responses promptly. */
  #sendRun(): void {
    const buffer = this.#runBuffer;
    this.#runBuffer = NO_BYTES;
    this.#runOthers = 0;
    this.#leaving = this.#runUnsent;
    this.#runUnsent = NO_RESPONSES;
    const exchange = this.#runExchange;
    const count = this.#runCount;
    this.#runExchange = this.#runCount = 0;
    const result = this.#handOver(buffer.subarray(this.#runStart, this.#runEnd));
    if (result !== FAILED && count > 0) this.#countRun(exchange, count);
    else this.#countLeft();
    this.#arena.closeRun(buffer, this.#isRunTaken());
    this.#runStart = this.#runEnd = 0;
  }

  /** Counts the responses of a run that has been handed over. */
  #countRun(exchange: number, count: number): void {
    const { clock, meter } = this.#server;
    meter.countResponses(exchange, count, clock.now() - this.#runBeganMs);
    this.#countLeft();
  }

  /** Counts the listed responses that have been handed over. */
  #countLeft(): void {
    if (this.#leaving === NO_RESPONSES) return;
    this.#unsent.count(this.#leaving, this.#server.clock.now());
    this.#leaving = NO_RESPONSES;
  }

  /** Counts a response that is the run's first one, or differs from it. */
  #endOther(exchange: number, request: Completed | undefined): void {
    if (request === undefined) assert.fail('the request of a response');
    if (this.#runCount === 0 && !isLate(exchange)) {
      this.#runExchange = exchange;
      this.#runBeganMs = this.#server.nowMs;
      this.#runCount = 1;
      return;
    }
    this.#runOthers++;
    this.complete(exchange, request);
  }

  /** Ends the run's responses. Returns the list of them. */
  #listRun(): number {
    const list = this.#runUnsent;
    const count = this.#runCount;
    this.#runUnsent = NO_RESPONSES;
    if (count === 0) return list;
    const exchange = this.#runExchange;
    this.#runExchange = this.#runCount = 0;
    return this.#unsent.add(list, exchange, this.#runBeganMs, count);
  }

  /**
   * Replaces every response that has not been handed over, even in part, by the text. The rest of one that
   * has been is sent, unless it is a part of a stream that may not be sent: then the connection ends.
   */
  #replaceUnsent(text: string): void {
    this.#cut();
    const begun = this.#pieces.findIndex(
      ({ isUnderWay, responses }) => !isUnderWay && responses > 0,
    );
    const kept = begun < 0 ? this.#pieces.length : begun;
    for (let index = 0; index < kept; index++) {
      if (!this.#mayLeave(this.#pieces[index]!)) return this.#connection.destroy();
    }
    let count = 0;
    let replaced = NO_RESPONSES;
    for (const piece of this.#pieces.splice(kept)) {
      count += piece.responses;
      replaced = this.#unsent.join(replaced, piece.unsent);
      this.#pieceBytes -= piece.end - piece.start;
      this.#acknowledge(piece, false);
      this.#finish(piece);
    }
    this.#delayedCount = 0;
    for (; count > 0; count--) {
      this.begin(text.length, NO_PARTITION, 0);
      this.#arena.writeText(text);
      this.endHead();
    }
    this.#unsent.setStatus(replaced, 503);
    this.#runUnsent = this.#unsent.join(this.#runUnsent, replaced);
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

  /** Acknowledges the items of responses that may be sent; returns them if the client has ended its side. */
  #acknowledgeItems(): void {
    const hasClientLeft = this.#connection.session.hasInputEnded;
    for (let index = 0; index < this.#pieces.length; index++) {
      const piece = this.#pieces[index]!;
      if (!this.#mayLeave(piece)) return;
      if (piece.item === undefined) continue;
      if (hasClientLeft) this.#withdraw(piece, this.#pieces[index + 1]);
      this.#acknowledge(piece, !hasClientLeft);
    }
  }

  #acknowledge(piece: OutputPiece, isDelivered: boolean): void {
    const { item } = piece;
    if (item === undefined) return;
    piece.item = undefined;
    this.#itemCount--;
    item.acknowledge(isDelivered);
  }

  /** Replaces the piece's response, and the long value after it, by a 204. */
  #withdraw(piece: OutputPiece, next: OutputPiece | undefined): void {
    const text = Buffer.from(`${statusLine(204)}${this.#arena.dateLine}\r\n`);
    this.#finish(piece);
    this.#pieceBytes += text.length - (piece.end - piece.start);
    setOwnBytes(piece, text);
    this.#accountCopy(text.length);
    this.#unsent.setStatus(piece.unsent, 204);
    if (next?.pinned === undefined) return;
    this.#unsent.setStatus(next.unsent, 204);
    this.#pieceBytes -= next.end - next.start;
    next.start = next.end;
  }

  #mayLeave(piece: OutputPiece): boolean {
    const { delay } = this.#server;
    if (piece.dependency === undefined) return true;
    if (delay !== undefined && isDelayed(delay, piece.dependency)) return false;
    piece.dependency = undefined;
    this.#delayedCount--;
    return true;
  }

  /** Merges `next` into the piece, if it is adjacent and may be sent. Returns whether it did. */
  #joins(piece: OutputPiece, next: OutputPiece): boolean {
    if (!isAdjacent(piece, next) || !this.#mayLeave(next)) return false;
    join(piece, next);
    piece.unsent = this.#unsent.join(piece.unsent, next.unsent);
    return true;
  }

  /**
   * Hands over as much of the piece as the carrier accepts. False: the last part waits; until it has been
   * accepted, a pinned piece must be retained, and no more is handed over.
   */
  #send(piece: OutputPiece): boolean {
    while (piece.start < piece.end) {
      const start = piece.start;
      piece.isUnderWay = true;
      piece.start = Math.min(piece.end, start + WRITE_BYTES_MAX);
      this.#pieceBytes -= piece.start - start;
      const part = piece.bytes.subarray(start, piece.start);
      if (piece.start === piece.end) this.#leave(piece);
      if (this.#handOver(part) === WAITS) return false;
    }
    this.#leave(piece);
    return true;
  }

  /** The responses that end in the piece leave with its last part. */
  #leave(piece: OutputPiece): void {
    this.#leaving = this.#unsent.join(this.#leaving, piece.unsent);
    piece.unsent = NO_RESPONSES;
  }

  /** Hands over bytes and returns the result. WAITS: `onTaken` will be called. */
  #handOver(bytes: Buffer): ReturnType<Carrier['write']> {
    this.#handedBytes += bytes.length;
    const result = this.#carrier.write(bytes);
    this.#isWaiting = result === WAITS;
    if (result === FAILED) this.#onFailed();
    else this.#server.meter.countSent(bytes.length);
    return result;
  }

  #onFailed(): void {
    this.#unsent.drop(this.#leaving);
    this.#leaving = NO_RESPONSES;
    this.#connection.destroy();
  }

  /** Whether the space of the last run handed over is no longer needed. */
  #isRunTaken(): boolean {
    return !this.#isWaiting || this.#carrier.isCopying;
  }

  /** Called when the bytes that waited have been accepted. */
  onTaken(): void {
    this.#isWaiting = false;
    if (this.#copiedBytes > 0) this.#recent?.reachEvenly(this.takenBytes, this.#server.nowMs);
    const [first] = this.#pieces;
    if (first?.isUnderWay && first.start === first.end) {
      this.#pieces.shift();
      this.#finish(first);
    }
    if (HAS_EXPENSIVE_ASSERTIONS) this.#assertPieces();
  }

  #assertPieces(): void {
    assertPieces(this.#pieces, {
      bytes: this.#pieceBytes,
      copiedBytes: this.#copiedBytes,
      delayed: this.#delayedCount,
      items: this.#itemCount,
    });
  }

  /** Releases a piece that is no longer needed. */
  #finish(piece: OutputPiece): void {
    piece.pinned?.release();
    for (let run = 0; run < piece.runCount && piece.runStart >= 0; run++) {
      this.#arena.closeRun(piece.bytes, this.#isRunTaken());
    }
    const counted = countedBytes(piece);
    if (counted === 0) return;
    this.#copiedBytes -= counted;
    this.#server.inFlight.release(counted);
    if (this.#copiedBytes === 0) this.#server.inFlight.leave(this);
  }

  /** Copies the bytes of a slow client from the arena, except those that the carrier already has. */
  #copyRest(): void {
    for (const piece of this.#pieces) {
      if (piece.runStart < 0) continue;
      const copy = Buffer.from(piece.bytes.subarray(piece.start, piece.end));
      const isTaken = this.#carrier.isCopying || piece.start === piece.runStart;
      for (let run = 0; run < piece.runCount; run++) this.#arena.closeRun(piece.bytes, isTaken);
      setOwnBytes(piece, copy);
      this.#accountCopy(copy.length);
    }
  }

  #accountCopy(bytes: number): void {
    if (bytes === 0) return;
    const { inFlight, nowMs } = this.#server;
    if (this.#copiedBytes === 0) {
      this.sinceMs = nowMs;
      this.#recent ??= new RecentBytes();
      this.#recent.begin(this.takenBytes, nowMs);
      inFlight.enterResponses(this);
    }
    this.#copiedBytes += bytes;
    inFlight.overdraw(bytes);
  }

  /** Ends the run, if there is one, and makes it a piece. */
  #cut(dependency?: Dependency, item?: ItemHold): void {
    if (this.#runBuffer !== NO_BYTES) this.#endRun(dependency, item);
  }

  #endRun(dependency: Dependency | undefined, item: ItemHold | undefined): void {
    const responses = this.#runCount + this.#runOthers;
    const piece = runPiece(this.#runBuffer, this.#runStart, this.#runEnd, responses);
    piece.dependency = dependency;
    piece.item = item;
    piece.unsent = this.#listRun();
    this.#runBuffer = NO_BYTES;
    this.#runStart = 0;
    this.#runEnd = 0;
    this.#runOthers = 0;
    this.#push(piece);
  }

  #push(piece: OutputPiece): void {
    this.#accountCopy(countedBytes(piece));
    this.#pieces.push(piece);
    this.#pieceBytes += piece.end - piece.start;
  }
}
