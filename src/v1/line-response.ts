/**
 * A response of lines that are made while the client reads them. Each step of the source makes some
 * lines, at once or later. The next step begins when there is room, and no turn of the event loop
 * has more than 1 ms of steps. A source says whether the response ends early, with its last line but
 * not before its first step.
 */
import assert from 'node:assert';
import type { Clock } from '../base/clock.ts';
import { NO_PARTITION } from '../base/partition-number.ts';
import type { OperationResult } from '../engine/engine.ts';
import { HEAD } from '../http/methods.ts';
import type { ResponseStream } from '../http/response-stream.ts';
import type { Call, Wait } from '../surface/action.ts';
import { NDJSON } from './json-lines.ts';
import { fail, NO_STORE } from './v1-calls.ts';

/** Time of steps in a turn, in ms. */
const TURN_MS = 1;

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

export class LineResponse implements Wait {
  readonly #call: Call;
  readonly #number: number;
  readonly #clock: Clock;
  readonly #source: LineSource;
  #stream: ResponseStream | undefined;
  /** Lines that are not written yet, and the last change that they depend on. */
  #lines = '';
  #partition = NO_PARTITION;
  #sequence = 0;
  #hasRoom = true;
  #isInStep = false;
  #isRunning = false;
  #isEnding = false;
  #isOver = false;
  readonly #resume = () => this.onStep(false);

  constructor(call: Call, clock: Clock, source: LineSource) {
    this.#call = call;
    this.#number = call.request.number;
    this.#clock = clock;
    this.#source = source;
  }

  /** Begins the response, now or with the result of the first step. */
  begin(): void {
    const { request } = this.#call;
    this.#call.wait = this;
    this.#isEnding = request.head.method === HEAD;
    this.#run();
  }

  /** Adds a line, which depends on the change of the partition with this sequence. */
  add(line: string, partition: number, sequence: number): void {
    if (partition !== this.#partition) this.#write();
    this.#lines += `${line}\n`;
    this.#partition = partition;
    this.#sequence = sequence;
  }

  /** Ends a step. `isLast`: whether no more lines follow. */
  onStep(isLast: boolean): void {
    this.#isInStep = false;
    this.#isEnding ||= isLast || this.#mustEnd();
    this.#write();
    if (!this.#isRunning) this.#run();
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
    if (!this.#isRunning) this.#run();
  }

  #mustEnd(): boolean {
    const { request } = this.#call;
    return this.#source.endsEarly ? !request.mayWait : request.isAbandoned;
  }

  #run(): void {
    if (this.#isOver) return;
    this.#isRunning = true;
    const endMs = this.#clock.now() + TURN_MS;
    try {
      while (!this.#isOver && !this.#isInStep && (this.#hasRoom || this.#isEnding)) {
        if (this.#isEnding) this.#finish();
        else if (this.#clock.now() >= endMs) {
          this.#isInStep = true;
          this.#clock.endOfTurn(this.#resume);
        } else {
          this.#isInStep = true;
          this.#source.step();
        }
      }
    } catch (error) {
      this.#onFault(error);
    }
    this.#isRunning = false;
  }

  #finish(): void {
    const line = this.#source.lastLine();
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
      if (!this.#isRunning) this.#run();
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
