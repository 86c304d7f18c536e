/**
 * The action of `v1` that reads many entries of a map. All lines are checked before the response
 * begins. Then the entries are read in batches, while the client reads the response. A batch keeps
 * few bytes: of values that are longer together, the rest is read again. The response is complete
 * also if the client has ended its side or the server drains.
 */
import assert from 'node:assert';
import { EVERY_PARTITION, NO_PARTITION } from '../base/partition-number.ts';
import { Span } from '../base/span.ts';
import {
  ABSENT,
  type Engine,
  FOUND,
  type OperationResult,
  type Receiver,
} from '../engine/engine.ts';
import type { Call } from '../surface/action.ts';
import { bytesMember, entryLine } from './json-lines.ts';
import { LineCheck, type LineWorkParts } from './line-check.ts';
import { LineMembers } from './line-members.ts';
import { LineResponse, type LineSource } from './line-response.ts';
import { LINE, NO_LINE, RequestLines } from './request-lines.ts';
import { withoutQuery } from './v1-calls.ts';

/** Maximum number of entries in a batch, and the number in the first one. */
const BATCH_MAX = 64;
const BATCH_FIRST = 4;
/** Bytes of lines, of the request or of the response, with which a batch is complete. */
const BATCH_BYTES = 16_384;
const KNOWN = new Set(['key', 'keyBase64']);

interface LookupParts extends LineWorkParts {
  readonly engine: Engine;
}

export function lookupActions(parts: LookupParts) {
  const { engine } = parts;
  const run = withoutQuery((call) => {
    const lookup = new Lookup(engine, call);
    const response = new LineResponse(call, parts, lookup);
    lookup.response = response;
    new LineCheck(parts, call, faultOf, () => response.begin());
  });
  return { lookUpEntries: { run, waits: () => true } };
}

/** Returns the fault of a line; empty for a valid one. */
function faultOf(line: Span): string {
  const members = new LineMembers(line, KNOWN);
  if (members.fault === '') members.key();
  return members.fault;
}

/** A line of the request, and the one of the response. */
class SoughtEntry implements Receiver {
  readonly key: Span;
  /** The line of the response; empty until the entry is read, and if it has to be read again. */
  line = '';
  readonly #lookup: Lookup;

  constructor(lookup: Lookup, key: Span) {
    this.#lookup = lookup;
    this.key = key;
  }

  onResult(answer: OperationResult): void {
    this.#lookup.onResult(this, answer);
  }
}

class Lookup implements LineSource {
  response!: LineResponse;
  readonly endsEarly = false;
  readonly #engine: Engine;
  readonly #map: Span;
  readonly #lines: RequestLines;
  /** Lines of the request whose lines of the response are not written, in order. */
  #sought: SoughtEntry[] = [];
  #batchMax = BATCH_FIRST;
  /** Number of entries of the batch without a result, and the length of the lines kept. */
  #openCount = 0;
  #keptLength = 0;
  #partition = NO_PARTITION;
  #isAllRead = false;
  #isOver = false;

  constructor(engine: Engine, { name, request }: Call) {
    this.#engine = engine;
    this.#map = Span.of(name.toBuffer());
    this.#lines = new RequestLines(request.content);
  }

  step(): void {
    this.#readLines();
    const batch = this.#sought.slice(0, this.#batchMax);
    if (batch.length === 0) return this.response.onStep(this.#isAllRead);
    this.#openCount = batch.length;
    this.#keptLength = 0;
    for (const each of batch) {
      if (!this.#isOver) this.#engine.get(this.#map, each.key, each);
    }
  }

  lastLine(): string {
    this.#isOver = true;
    return '';
  }

  onResult(entry: SoughtEntry, answer: OperationResult): void {
    if (this.#isOver) return;
    const { outcome, partition } = answer;
    // Lines that depend on all partitions are written together.
    if (partition !== NO_PARTITION) this.#partition = EVERY_PARTITION;
    if (outcome !== FOUND && outcome !== ABSENT) {
      this.#isOver = true;
      return this.response.fail(answer);
    }
    const { length } = answer.value;
    if (entry === this.#sought[0] || this.#keptLength + length <= BATCH_BYTES) {
      entry.line = outcome === FOUND ? entryLine(entry.key, answer, length) : absentLine(entry.key);
      this.#keptLength += entry.line.length;
    }
    if (--this.#openCount === 0) this.#endBatch();
  }

  /** Reads lines of the request for the next batch. */
  #readLines(): void {
    let bytes = this.#sought.reduce((sum, { key }) => sum + key.length, 0);
    while (this.#sought.length < this.#batchMax && bytes < BATCH_BYTES && !this.#isAllRead) {
      const step = this.#lines.step();
      if (step === NO_LINE) this.#isAllRead = true;
      else if (step !== LINE) return;
      else {
        const key = keyIn(this.#lines.line);
        bytes += key.length;
        this.#sought.push(new SoughtEntry(this, key));
      }
    }
  }

  /** Writes the lines up to the first one that was not kept. */
  #endBatch(): void {
    let count = 0;
    for (const { line } of this.#sought) {
      if (line === '') break;
      this.response.add(line, this.#partition, 0);
      count++;
    }
    const isWhole = count === Math.min(this.#batchMax, this.#sought.length);
    this.#batchMax = isWhole ? Math.min(2 * this.#batchMax, BATCH_MAX) : count;
    this.#sought = this.#sought.slice(count);
    for (const each of this.#sought) each.line = '';
    this.response.onStep(false);
  }
}

/** Returns the key of a line that has been checked. */
function keyIn(line: Span): Span {
  const key = new LineMembers(line, KNOWN).key();
  assert(key !== undefined, 'the line was checked');
  return key;
}

function absentLine(key: Span): string {
  return `{${bytesMember('key', key)},"absent":true}`;
}
