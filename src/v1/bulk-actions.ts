/**
 * The action of `v1` that makes many changes of a map's entries. All lines are checked for number and
 * length. Then each is read and called in order, up to OPEN_MAX of them at a time, 1 ms in a turn. A
 * request that has begun is done to its end, also if its client disconnects or the server drains.
 * Its response is sent once all results are known, as its status depends on them.
 */
import { EVERY_PARTITION, NO_PARTITION } from '../base/partition-number.ts';
import type { Pin } from '../base/pin.ts';
import { Span } from '../base/span.ts';
import type { MapLifetimes } from '../data/map-lifetimes.ts';
import {
  type Engine,
  type OperationResult,
  type Receiver,
  VALUE_COPY_BYTES_MAX,
} from '../engine/engine.ts';
import type { Scheduled } from '../http/fair-scheduler.ts';
import { MAP, PUT, READ, REMOVE } from '../security/permissions.ts';
import type { Call } from '../surface/action.ts';
import { type BulkOp, type BulkOperation, operationIn } from './bulk-line.ts';
import { type BulkResult, invalidResult, refusedResult, resultOf } from './bulk-result.ts';
import { NDJSON } from './json-lines.ts';
import { LineCheck, type LineWorkParts, TURN_MS } from './line-check.ts';
import { LINE, NO_LINE, RequestLines } from './request-lines.ts';
import { NO_STORE, refuse, withoutQuery } from './v1-calls.ts';

/** Maximum number of lines that have been called and whose results are awaited. */
const OPEN_MAX = 256;
/** Bytes of such lines beyond which no further one is called. */
const OPEN_BYTES_MAX = 1_048_576;
/** Minimum length of a piece of the response, in characters. */
const PIECE_LENGTH_MIN = 16_384;
/** Length of the field of a content type in a request apart from the type, in bytes. */
const TYPE_LINE_BYTES = 'Content-Type:\r\n'.length;
/** The permissions that operations need, as bits. */
const NEEDS: Readonly<Record<BulkOp, number>> = { set: PUT, delete: REMOVE, add: READ | PUT };

interface BulkParts extends LineWorkParts {
  readonly engine: Engine;
  readonly lifetimes: MapLifetimes;
}

export function bulkActions(parts: BulkParts) {
  const run = withoutQuery((call) => {
    const bytesMax = call.request.usedUpBytes;
    if (bytesMax > 0) refuse(call, 'NO_ROOM_FOR_CONTENT', { bytesMax });
    else new Bulk(parts, call).begin();
  });
  return { changeEntries: { run, waits: () => true } };
}

/** A line that has been called. */
class OpenLine implements Receiver {
  readonly op: BulkOp;
  readonly bytes: number;
  /** The line of the response; empty until the result is known. */
  result = '';
  readonly #bulk: Bulk;

  constructor(bulk: Bulk, op: BulkOp, bytes: number) {
    this.#bulk = bulk;
    this.op = op;
    this.bytes = bytes;
  }

  onResult(answer: OperationResult): void {
    this.#bulk.onResult(this, answer);
  }
}

class Bulk implements Scheduled {
  readonly #parts: BulkParts;
  readonly #call: Call;
  readonly #number: number;
  readonly #map: Span;
  readonly #lines: RequestLines;
  /** Lines whose results are not known, and the lines between them, in order. */
  readonly #open: OpenLine[] = [];
  #openBytes = 0;
  #isAllCalled = false;
  #isRunning = false;
  #isScheduled = false;
  #isOver = false;
  #hasDenied = false;
  /** The response: pieces, and the lines after them. */
  readonly #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #results = '';
  #status = 200;
  #partition = NO_PARTITION;

  constructor(parts: BulkParts, call: Call) {
    const { request, name } = call;
    this.#parts = parts;
    this.#call = call;
    this.#number = request.number;
    this.#map = Span.of(name.toBuffer());
    this.#lines = new RequestLines(request.content);
  }

  begin(): void {
    new LineCheck(
      this.#parts,
      this.#call,
      () => '',
      () => this.resume(),
    );
  }

  resume(): void {
    this.#isScheduled = false;
    this.#isRunning = true;
    try {
      this.#run();
    } catch (error) {
      this.#onFault(error);
    }
    this.#isRunning = false;
  }

  onResult(line: OpenLine, answer: OperationResult): void {
    if (this.#isOver) return;
    try {
      if (answer.partition !== NO_PARTITION) this.#partition = EVERY_PARTITION;
      this.#end(line, resultOf(line.op, answer, this.#map));
    } catch (error) {
      this.#onFault(error);
    }
    if (!this.#isRunning) this.#schedule();
  }

  /** Calls lines until its time in this turn is over, enough are open, or all are called. */
  #run(): void {
    const { clock } = this.#parts;
    const endMs = clock.now() + TURN_MS;
    while (!this.#isAllCalled && this.#mayCall()) {
      const step = this.#lines.step();
      if (step === NO_LINE) this.#isAllCalled = true;
      else if (step === LINE) this.#callLine(this.#lines.line);
      if (clock.now() >= endMs) return this.#schedule();
    }
    if (this.#isAllCalled && this.#open.length === 0) this.#respond();
  }

  #mayCall(): boolean {
    return this.#open.length < OPEN_MAX && this.#openBytes < OPEN_BYTES_MAX;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isOver) return;
    this.#isScheduled = true;
    this.#parts.scheduler.add(this);
  }

  #callLine(line: Span): void {
    const { lifetimes } = this.#parts;
    const { headerBytesMax } = this.#call.request;
    const contentTypeBytesMax = headerBytesMax - TYPE_LINE_BYTES;
    const lifetime = lifetimes.of(this.#map);
    const operation = operationIn(line, { lifetime, contentTypeBytesMax });
    if (typeof operation === 'string')
      return this.#end(this.#begin('set', 0), invalidResult(operation));
    const { op } = operation;
    const refusal = this.#refusalOf(op);
    const open = this.#begin(op, line.length);
    if (refusal !== undefined) this.#end(open, refusedResult(op, refusal));
    else this.#change(operation, open);
  }

  /** Returns why the user or the cluster does not permit an operation. */
  #refusalOf(op: BulkOp): 'NOT_PERMITTED' | Call['changeRefusal'] {
    const { grants } = this.#call;
    if (grants === undefined || grants.allow(MAP, this.#map, NEEDS[op]))
      return this.#call.changeRefusal;
    if (!this.#hasDenied) this.#call.auditRefusal();
    this.#hasDenied = true;
    return 'NOT_PERMITTED';
  }

  #begin(op: BulkOp, bytes: number): OpenLine {
    const line = new OpenLine(this, op, bytes);
    this.#open.push(line);
    this.#openBytes += bytes;
    return line;
  }

  #change(operation: BulkOperation, receiver: Receiver): void {
    const { engine } = this.#parts;
    const map = this.#map;
    const { op, key } = operation;
    if (op === 'delete') return engine.delete(map, key, operation.condition, receiver);
    const { lifetime } = operation;
    if (op === 'add') return engine.add(map, key, operation.by, lifetime, receiver);
    const { value, contentType, condition } = operation;
    engine.set(map, key, value, contentType, lifetime, condition, receiver);
  }

  /** Ends a line, and adds the results that are known by now to the response, in order. */
  #end(line: OpenLine, result: BulkResult): void {
    if (result.status >= 400) this.#status = 207;
    line.result = `${JSON.stringify(result)}\n`;
    for (
      let [first] = this.#open;
      first !== undefined && first.result !== '';
      [first] = this.#open
    ) {
      this.#open.shift();
      this.#openBytes -= first.bytes;
      this.#results += first.result;
    }
    if (this.#results.length >= PIECE_LENGTH_MIN) this.#cutPiece();
  }

  /** Cuts a piece, whose bytes the budget counts. */
  #cutPiece(): void {
    const piece = Buffer.from(this.#results);
    this.#results = '';
    this.#pieces.push(piece);
    this.#pieceBytes += piece.length;
    this.#call.request.overdraw(piece.length);
  }

  #respond(): void {
    const { request } = this.#call;
    this.#cutPiece();
    const content = Buffer.concat(this.#pieces);
    this.#finish();
    request.addResponseLines(NO_STORE);
    const response = request.draft(this.#status, this.#partition);
    response.contentType = NDJSON;
    response.content = Span.of(content);
    if (content.length > VALUE_COPY_BYTES_MAX) response.pinned = OWN_BYTES;
    request.send(response);
  }

  #onFault(error: unknown): void {
    if (!this.#isOver) this.#finish();
    this.#call.request.fail(error, this.#number);
  }

  #finish(): void {
    this.#isOver = true;
    this.#call.request.releaseOverdraft(this.#pieceBytes);
  }
}

/** The bytes of a response, which belong to it only. */
const OWN_BYTES: Pin = { isCounted: false, release() {} };
