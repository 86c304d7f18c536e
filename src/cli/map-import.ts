/**
 * `gridnode map import`: sets the entries of the lines that `map export` and `map entries` write. The
 * lines are sent in bulk requests; while one is on its way, the next one is prepared. Entries that are
 * too long for a line of a bulk request are put one by one. Lines take effect in their order. The
 * number of lines that are confirmed is printed if the import fails. Tested by map-transfer.spec.ts.
 */
import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { counted } from '../base/quantities.ts';
import type { ContentStream } from '../client/member-client.ts';
import { ROUTES } from '../member/routes.ts';
import type { Client } from './client.ts';
import { openInput } from './command-input.ts';
import { bulkLine, type EntryLine, putCall } from './entry-lines.ts';
import { EXIT_CLEAN, EXIT_REFUSED, type ExitCode } from './exit-code.ts';
import { beforeInterruption } from './interruption.ts';
import { LineBlocks } from './line-blocks.ts';
import { isBlank, LineBatch, sendLines } from './map-lines.ts';
import { linesOf, objectIn } from './map-lists.ts';
import { print, type Streams } from './output.ts';
import { Progress } from './progress.ts';

export interface ImportOptions {
  readonly skip: string;
  readonly json?: true;
}

/** Number of lines that are prepared in a turn of the event loop: about 2 ms. */
const LINES_IN_TURN = 256;

/** The member has refused a line. */
class LineRefusedError extends Error {
  override readonly name = 'LineRefusedError';
  readonly refusal: { readonly line: number; readonly status: number; readonly message: string };

  constructor(refusal: LineRefusedError['refusal']) {
    const { line, status, message } = refusal;
    super(`Line ${line} is refused with ${status}: ${message}`);
    this.refusal = refusal;
  }
}

/** Imports from a file, or from standard input if none is named. */
export async function importMap(
  client: Client,
  streams: Streams,
  map: string,
  file: string | undefined,
  { skip, json }: ImportOptions,
): Promise<ExitCode> {
  if (!/^\d{1,15}$/.test(skip)) {
    throw new RangeError(`Cannot use --skip ${JSON.stringify(skip)}: not an integer from 0 up`);
  }
  const blocks = new LineBlocks(await openInput(streams, file));
  const progress = new Progress(streams, `importing ${map}`);
  const run = new Import(client, map, Number(skip), (lines) =>
    progress.show(counted(lines, 'line')),
  );
  const printContinuation = () => {
    progress.end();
    const { confirmedLines } = run;
    if (confirmedLines === 0) return;
    const lines = counted(confirmedLines, 'line is', 'lines are');
    streams.stderr.write(`${lines} imported: --skip ${confirmedLines} continues\n`);
  };
  const stopWatching = beforeInterruption(printContinuation);
  try {
    await run.read(blocks);
  } catch (error) {
    printContinuation();
    if (!(error instanceof LineRefusedError)) throw error;
    if (json) await print(streams, `${JSON.stringify(error.refusal)}\n`);
    else streams.stderr.write(`${error.message}\n`);
    return EXIT_REFUSED;
  } finally {
    stopWatching();
    progress.end();
    await blocks.close();
  }
  const { entries } = run;
  const summary = counted(entries, 'entry', 'entries');
  await print(streams, `${json ? JSON.stringify({ entries }) : summary}\n`);
  return EXIT_CLEAN;
}

class Import {
  readonly #client: Client;
  readonly #map: string;
  readonly #skippedLines: number;
  readonly #onConfirmed: (lines: number) => void;
  #batch = new LineBatch();
  /** Numbers of the lines in the batch. */
  #numbers: number[] = [];
  /** The requests that are on their way. */
  #sending: Promise<void> = Promise.resolve();
  #lines = 0;
  /** Number of lines, from the first one on, that need not be sent again. */
  confirmedLines: number;
  /** Number of entries that are set. */
  entries = 0;

  constructor(
    client: Client,
    map: string,
    skippedLines: number,
    onConfirmed: (lines: number) => void,
  ) {
    this.#client = client;
    this.#map = map;
    this.#skippedLines = skippedLines;
    this.confirmedLines = skippedLines;
    this.#onConfirmed = onConfirmed;
  }

  /** Imports all lines. */
  async read(blocks: LineBlocks): Promise<void> {
    for (;;) {
      const block = await blocks.next();
      if (block === undefined) return await this.#flush(this.#lines);
      if (block.length === 0) {
        this.#lines++;
        await this.#readLong(blocks);
        continue;
      }
      for (const line of linesOf(block)) {
        this.#lines++;
        if (this.#lines <= this.#skippedLines || isBlank(line)) continue;
        const entry = entryIn(line);
        if (typeof entry === 'string') await this.#refuse(entry);
        else if (entry !== undefined && !this.#add(entry)) await this.#putAlone(entry);
        if (this.#batch.isFull) await this.#sendBatch(this.#lines);
        // Lets the requests on their way proceed while the next one is prepared.
        if (this.#lines % LINES_IN_TURN === 0) await nextTurn();
      }
    }
  }

  /** Adds an entry to the batch. Returns false if it cannot be in one. */
  #add(entry: EntryLine): boolean {
    const line = bulkLine(entry);
    if (line === undefined) return false;
    this.#batch.add(line);
    this.#numbers.push(this.#lines);
    return true;
  }

  async #putAlone(entry: EntryLine): Promise<void> {
    const { value, valueBase64 = '' } = entry;
    if (!hasTypes(entry)) return await this.#refuse(TYPE_FAULT);
    const bytes = value === undefined ? Buffer.from(valueBase64, 'base64') : Buffer.from(value);
    if (value === undefined && bytes.toString('base64') !== valueBase64) {
      return await this.#refuse('"valueBase64" is not base64');
    }
    await this.#flush(this.#lines - 1);
    await this.#put(entry, bytes);
  }

  /** Sends the batch once the one before it has been confirmed. `last`: number of its last line. */
  async #sendBatch(last: number): Promise<void> {
    const [{ lines }, numbers] = [this.#batch, this.#numbers];
    this.#batch = new LineBatch();
    this.#numbers = [];
    await this.#sending;
    this.#sending = this.#send(lines, numbers, last);
    // The error is thrown where the promise is awaited.
    this.#sending.catch(() => {});
  }

  /** Sends the batch, and waits until it is confirmed. */
  async #flush(last: number): Promise<void> {
    await this.#sendBatch(last);
    await this.#sending;
  }

  async #send(
    lines: readonly Buffer[],
    numbers: readonly number[],
    lastNumber: number,
  ): Promise<void> {
    let index = 0;
    let fault: LineRefusedError | undefined;
    const onResults = async (block: Buffer) => {
      for (const line of linesOf(block)) {
        const number = numbers[index++] ?? lastNumber;
        if (line.subarray(0, DONE.length).equals(DONE)) {
          this.entries++;
          continue;
        }
        if (fault !== undefined) continue;
        const { status, message = '' } = objectIn(line) as { status: number; message?: string };
        fault = new LineRefusedError({ line: number, status, message });
        this.confirmedLines = number - 1;
      }
    };
    if (lines.length > 0) {
      await sendLines(this.#client, ROUTES.changeEntries, this.#map, lines, onResults);
    }
    if (fault !== undefined) throw fault;
    this.#confirm(lastNumber);
  }

  #confirm(lines: number): void {
    this.confirmedLines = Math.max(lines, this.confirmedLines);
    this.#onConfirmed(this.confirmedLines);
  }

  /** Puts the entry of a long line, whose value is sent while it is read. */
  async #readLong(blocks: LineBlocks): Promise<void> {
    if (this.#lines <= this.#skippedLines) {
      for await (const _ of blocks.parts());
      return;
    }
    const { longLine } = blocks;
    const valueAt = longLine.indexOf(LONG_VALUE);
    if (valueAt < 0) return await this.#refuse(LONG_FAULT);
    const head = Buffer.concat([longLine.subarray(0, valueAt), NO_VALUE]);
    const entry = entryIn(head);
    if (typeof entry === 'string') return await this.#refuse(entry);
    const length = entry?.length ?? -1;
    if (entry === undefined || !Number.isSafeInteger(length) || length < 0) {
      return await this.#refuse(LONG_FAULT);
    }
    if (!hasTypes(entry)) return await this.#refuse(TYPE_FAULT);
    await this.#flush(this.#lines - 1);
    const chunks = this.#decoded(blocks, valueAt + LONG_VALUE.length, length);
    await this.#put(entry, { length, chunks });
  }

  /**
   * Decodes the value at the end of a long line. `start`: where it begins in the line. The last chunk
   * follows the check of the line's end, so that the member gets no whole value of an invalid line.
   */
  async *#decoded(blocks: LineBlocks, start: number, length: number): AsyncGenerator<Buffer> {
    let skipped = start;
    let left = length;
    let rest = '';
    let decoded: Buffer | undefined;
    for await (const part of blocks.parts()) {
      const text = rest + part.toString('latin1', skipped);
      skipped = 0;
      const quote = text.indexOf('"');
      const end = quote < 0 ? text.length - (text.length % 4) : quote;
      rest = text.slice(end);
      if (end === 0 && rest.length < TAIL_MAX) continue;
      const bytes = Buffer.from(text.slice(0, end), 'base64');
      left -= bytes.length;
      if (left < 0 || bytes.toString('base64') !== text.slice(0, end)) left = Number.NaN;
      if (quote >= 0 && rest.length >= TAIL_MAX) left = Number.NaN;
      if (Number.isNaN(left)) break;
      if (decoded !== undefined) yield decoded;
      decoded = bytes;
    }
    if (left !== 0 || !/^"\s*\}\s*$/.test(rest)) {
      await this.#refuse(`it does not end with "valueBase64" of ${length} bytes`);
    }
    if (decoded !== undefined) yield decoded;
  }

  /** Puts an entry. All lines before it are confirmed. */
  async #put(entry: EntryLine, body: Buffer | ContentStream): Promise<void> {
    await this.#client.complete(putCall(this.#client, this.#map, entry, body));
    this.entries++;
    this.#confirm(this.#lines);
  }

  /** Refuses the current line, after the lines before it have been sent. */
  async #refuse(reason: string): Promise<never> {
    await this.#flush(this.#lines - 1);
    throw new TypeError(`Cannot import line ${this.#lines}: ${reason}`);
  }
}

/** Returns the entry of a line; undefined for the line of a cursor; or why there is none. */
function entryIn(line: Buffer): EntryLine | undefined | string {
  if (!isUtf8(line)) return 'it is not UTF-8';
  let entry: (EntryLine & { readonly cursor?: unknown }) | undefined;
  try {
    entry = JSON.parse(line.toString());
  } catch {
    // Reported below.
  }
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    return 'it is not a JSON object';
  }
  if (entry.cursor !== undefined) return undefined;
  for (const name in entry) {
    if (!MEMBERS.has(name))
      return `it has an unknown member, ${JSON.stringify(name.slice(0, 100))}`;
  }
  const { key, keyBase64, value, valueBase64 } = entry;
  if (typeof (key ?? keyBase64) !== 'string') return 'it has no key';
  if (value === undefined && valueBase64 === undefined) {
    return 'it has no value; only map export writes values of any length';
  }
  return entry;
}

/** Whether all members have the types of an entry; the member checks the lines of bulk requests. */
function hasTypes(entry: EntryLine): boolean {
  const { key, keyBase64, value, valueBase64, contentType, contentTypeBase64 } = entry;
  const texts = [key, keyBase64, value, valueBase64, contentType, contentTypeBase64];
  const numbers = [entry.timeToLiveSeconds, entry.maxIdleSeconds];
  return (
    texts.every((text) => text === undefined || typeof text === 'string') &&
    numbers.every((number) => number === undefined || typeof number === 'number')
  );
}

/** The members of an entry. */
const MEMBERS: ReadonlySet<string> = new Set([
  'key',
  'keyBase64',
  'etag',
  'contentType',
  'contentTypeBase64',
  'length',
  'value',
  'valueBase64',
  'timeToLiveSeconds',
  'maxIdleSeconds',
]);
/** The beginning of the result of a line that is done. */
const DONE = Buffer.from('{"status":2');
const LONG_VALUE = Buffer.from(',"valueBase64":"');
const NO_VALUE = Buffer.from(',"valueBase64":""}');
const LONG_FAULT = 'it has more than 1 MiB, and not "length" first and "valueBase64" last';
const TYPE_FAULT = 'a member has not the type of that of an entry';
/** Maximum number of characters after a long value. */
const TAIL_MAX = 100;
