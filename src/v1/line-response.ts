/**
 * A response of lines that are made while the client reads them. Each step of the source makes some
 * lines, at once or later. The next step begins when there is room. A response takes 1 ms of a turn of
 * the event loop, and all of them together a few. A source says whether the response ends early, with
 * its last line but not before its first step.
 */
import assert from 'node:assert';
import { EVERY_PARTITION, NO_PARTITION } from '../base/partition-number.ts';
import type { OperationResult } from '../engine/engine.ts';
import type { Scheduled } from '../http/fair-scheduler.ts';
import { HEAD } from '../http/methods.ts';
import type { ResponseStream } from '../http/response-stream.ts';
import type { Call, Wait } from '../surface/action.ts';
import { NDJSON } from './json-lines.ts';
import { type LineWorkParts, TURN_MS } from './line-check.ts';
import { fail, NO_STORE } from './v1-calls.ts';

/** Makes the lines of a response. */
export interface LineSource {
  /**
   * Whether the response ends with the last line when the client has ended its side or the server
   * drains, and not only when the client has disconnected.
   */
  readonly endsEarly: boolean;
  /** Makes some lines, then calls `onStep` once, or `fail`, during the call or later. */
  step(): void;
  /** Returns the line that ends the response, or '' for none. */
  lastLine(): string;
}

export class LineResponse implements Wait, Scheduled {
  readonly #call: Call;
  readonly #number: number;
  readonly #parts: LineWorkParts;
  readonly #source: LineSource;
  #stream: ResponseStream | undefined;
  /** Lines that are not written yet, and the last change that they depend on. */
  #lines = '';
  #partition = NO_PARTITION;
  #sequence = 0;
  #hasRoom = true;
  #isInStep = false;
  #isScheduled = false;
  #isEnding = false;
  #isOver = false;

  constructor(call: Call, parts: LineWorkParts, source: LineSource) {
    this.#call = call;
    this.#number = call.request.number;
    this.#parts = parts;
    this.#source = source;
  }

  /** Begins the response, in a later turn. */
  begin(): void {
    const { request } = this.#call;
    this.#call.wait = this;
    this.#isEnding = request.head.method === HEAD;
    this.#schedule();
  }

  /** Adds a line, which depends on the change of the partition with this sequence. */
  add(line: string, partition: number, sequence: number): void {
    const isOther = this.#lines !== '' && partition !== this.#partition;
    this.#lines += `${line}\n`;
    this.#partition = isOther ? EVERY_PARTITION : partition;
    this.#sequence = isOther ? 0 : sequence;
  }

  /** Ends a step. `isLast`: whether no more lines follow. */
  onStep(isLast: boolean): void {
    this.#isInStep = false;
    this.#isEnding ||= isLast || this.#mustEnd();
    this.#write();
    this.#schedule();
  }

  /** Ends a step whose lines the engine cannot provide: the client must notice that they are missing. */
  fail(answer: OperationResult): void {
    this.#isInStep = false;
    this.#lines = '';
    this.#end();
    if (this.#stream === undefined) fail(this.#call, answer);
    else this.#stream.cut();
  }

  onResult(): undefined {
    assert.fail('the source receives the results');
  }

  /** Ends the response with the last line: the client has ended its input or disconnected. */
  finishNow(): void {
    if (!this.#mustEnd()) return;
    this.#isEnding = true;
    this.#schedule();
  }

  #mustEnd(): boolean {
    const { request } = this.#call;
    return this.#source.endsEarly ? !request.mayWait : request.isAbandoned;
  }

  resume(): void {
    try {
      this.#run();
    } catch (error) {
      this.#onFault(error);
    }
    this.#isScheduled = false;
    this.#schedule();
  }

  /** Continues in a later turn, if there is anything to do. */
  #schedule(): void {
    if (this.#isScheduled || !this.#hasWork()) return;
    this.#isScheduled = true;
    this.#parts.scheduler.add(this);
  }

  #hasWork(): boolean {
    return !this.#isOver && !this.#isInStep && (this.#hasRoom || this.#isEnding);
  }

  /** Makes lines until its time in this turn is over. */
  #run(): void {
    const { clock } = this.#parts;
    const endMs = clock.now() + TURN_MS;
    while (this.#hasWork()) {
      if (this.#isEnding) return this.#finish();
      this.#isInStep = true;
      this.#source.step();
      if (clock.now() >= endMs) return;
    }
  }

  #finish(): void {
    const line = this.#source.lastLine();
    this.#write();
    if (line !== '') this.add(line, NO_PARTITION, 0);
    this.#write();
    const stream = this.#opened();
    this.#end();
    stream.end();
  }

  #write(): void {
    if (this.#lines === '') return;
    const bytes = Buffer.from(this.#lines);
    this.#lines = '';
    this.#hasRoom = this.#opened().write(bytes, this.#partition, this.#sequence);
  }

  #opened(): ResponseStream {
    if (this.#stream !== undefined) return this.#stream;
    const { request } = this.#call;
    request.addResponseLines(NO_STORE);
    const head = request.draft(200);
    head.contentType = NDJSON;
    this.#stream = request.stream(head, () => {
      this.#hasRoom = true;
      this.#schedule();
    });
    return this.#stream;
  }

  #onFault(error: unknown): void {
    this.#end();
    const isBegun = this.#stream !== undefined;
    // A number of no request: only reported.
    this.#call.request.fail(error, isBegun ? -1 : this.#number);
    this.#stream?.cut();
  }

  #end(): void {
    this.#isOver = true;
    this.#call.wait = undefined;
  }
}
