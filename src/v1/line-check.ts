/**
 * The check of all lines of a request before anything is done: their number and lengths. It takes
 * 1 ms of a turn, and all of them together take a few. Tested by bulk-actions.spec.ts.
 */
import type { Clock } from '../base/clock.ts';
import type { Span } from '../base/span.ts';
import type { FairScheduler, Scheduled } from '../http/fair-scheduler.ts';
import type { Call } from '../surface/action.ts';
import { LINE_BYTES_MAX } from './json-lines.ts';
import { LINE, LINES_MAX, NO_LINE, RequestLines } from './request-lines.ts';
import { refuse } from './v1-calls.ts';

/** Time of work on a request in a turn, in ms. */
export const TURN_MS = 1;

/** The clock and the scheduler of work in several turns. */
export interface LineWorkParts {
  readonly clock: Clock;
  readonly scheduler: FairScheduler;
}

export class LineCheck implements Scheduled {
  readonly #parts: LineWorkParts;
  readonly #call: Call;
  readonly #number: number;
  readonly #lines: RequestLines;
  readonly #faultOf: (line: Span) => string;
  readonly #proceed: () => void;

  /**
   * `faultOf`: returns the fault of a line, or ''. `proceed`: called in a later turn if no line has
   * one; otherwise the request is refused.
   */
  constructor(
    parts: LineWorkParts,
    call: Call,
    faultOf: (line: Span) => string,
    proceed: () => void,
  ) {
    this.#parts = parts;
    this.#call = call;
    this.#number = call.request.number;
    this.#lines = new RequestLines(call.request.content);
    this.#faultOf = faultOf;
    this.#proceed = proceed;
    parts.scheduler.add(this);
  }

  resume(): void {
    try {
      this.#run();
    } catch (error) {
      this.#call.request.fail(error, this.#number);
    }
  }

  #run(): void {
    const { clock, scheduler } = this.#parts;
    const endMs = clock.now() + TURN_MS;
    do {
      const step = this.#lines.step();
      if (step === NO_LINE) return this.#proceed();
      if (step === LINE && this.#refuses()) return;
    } while (clock.now() < endMs);
    scheduler.add(this);
  }

  /** Whether the line found has a fault, so that the request has been refused. */
  #refuses(): boolean {
    const { line, count, fault } = this.#lines;
    if (fault !== undefined) {
      const values = { number: count, linesMax: LINES_MAX, bytesMax: LINE_BYTES_MAX };
      refuse(this.#call, fault, values);
      return true;
    }
    const reason = this.#faultOf(line);
    if (reason === '') return false;
    refuse(this.#call, 'LINE_INVALID', { number: count, reason });
    return true;
  }
}
