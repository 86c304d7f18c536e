/**
 * `gridnode map bulk` and `lookup`: lines that are sent to a member, in requests within its limits.
 * Tested by map-commands.spec.ts.
 */

import { UnreachableError } from '../client/member-client.ts';
import { ROUTES } from '../member/routes.ts';
import type { Route } from '../surface/route.ts';
import { type Client, RefusedError } from './client.ts';
import { openInput, refuseReplaced } from './command-input.ts';
import { EXIT_ABSENT, EXIT_CLEAN, EXIT_REFUSED, type ExitCode } from './exit-code.ts';
import { LineBlocks } from './line-blocks.ts';
import { linesOf, objectIn, readBlocks } from './map-lists.ts';
import { print, type Streams } from './output.ts';

/** Maximum number of lines of a request. */
const LINES_MAX = 10_000;
/** A request ends with the line with which it reaches this size, in bytes. */
const REQUEST_BYTES = 1_048_576;
const NDJSON = 'application/x-ndjson';
const CONTENT_TOO_LONG = 413;

/** Lines of the next request. */
export class LineBatch {
  lines: Buffer[] = [];
  #bytes = 0;

  /** Adds a line with its end. */
  add(line: Buffer): void {
    this.lines.push(line);
    this.#bytes += line.length;
  }

  get isFull(): boolean {
    return this.lines.length >= LINES_MAX || this.#bytes >= REQUEST_BYTES;
  }

  get isEmpty(): boolean {
    return this.lines.length === 0;
  }
}

/**
 * Sends lines, each with its end, and calls `onResults` with blocks of the lines of the response, one
 * for each. If the member refuses the content as too long, it has done nothing, and the lines are sent
 * in two requests.
 */
export async function sendLines(
  client: Client,
  row: Route,
  map: string,
  lines: readonly Buffer[],
  onResults: (block: Buffer) => Promise<void>,
): Promise<void> {
  let results = 0;
  try {
    const body = Buffer.concat(lines);
    const call = client.requestOf(row, [map], { body, contentType: NDJSON });
    await readBlocks(await client.open(call), async (block) => {
      results += linesOf(block).length;
      await onResults(block);
    });
  } catch (error) {
    if (!isTooLong(error) || lines.length < 2) throw error;
    const half = lines.length >> 1;
    await sendLines(client, row, map, lines.slice(0, half), onResults);
    await sendLines(client, row, map, lines.slice(half), onResults);
    return;
  }
  if (results < lines.length) {
    throw new UnreachableError('Cannot read the response: it was cut off');
  }
}

function isTooLong(error: unknown): boolean {
  return error instanceof RefusedError && error.response.status === CONTENT_TOO_LONG;
}

/** Sends the lines of a file or of standard input, and prints the lines of the responses. */
export async function runBulk(
  client: Client,
  streams: Streams,
  map: string,
  file: string | undefined,
): Promise<ExitCode> {
  let code: ExitCode = EXIT_CLEAN;
  await sendInput(client, streams, ROUTES.changeEntries, map, file, async (block) => {
    for (const line of linesOf(block)) {
      const { status } = objectIn(line) as { status: number };
      if (status < 400 || code === EXIT_REFUSED) continue;
      code = OF_ENTRY.has(status) ? EXIT_ABSENT : EXIT_REFUSED;
    }
    await print(streams, block);
  });
  return code;
}

/** Prints the entries of the keys, or of the lines of a file or of standard input. */
export async function lookUp(
  client: Client,
  streams: Streams,
  map: string,
  keys: readonly string[],
  file: string | undefined,
): Promise<ExitCode> {
  let code: ExitCode = EXIT_CLEAN;
  const onResults = async (block: Buffer) => {
    if (linesOf(block).some((line) => line.subarray(-ABSENT.length).equals(ABSENT))) {
      code = EXIT_ABSENT;
    }
    await print(streams, block);
  };
  if (keys.length === 0) {
    await sendInput(client, streams, ROUTES.lookUpEntries, map, file, onResults);
    return code;
  }
  if (file !== undefined) throw new TypeError('Cannot use keys and --file at once');
  for (const key of keys) refuseReplaced('key', key);
  const lines = keys.map((key) => Buffer.from(`${JSON.stringify({ key })}\n`));
  await sendLines(client, ROUTES.lookUpEntries, map, lines, onResults);
  return code;
}

async function sendInput(
  client: Client,
  streams: Streams,
  row: Route,
  map: string,
  file: string | undefined,
  onResults: (block: Buffer) => Promise<void>,
): Promise<void> {
  const blocks = new LineBlocks(await openInput(streams, file));
  try {
    let batch = new LineBatch();
    for (;;) {
      const block = await blocks.next();
      if (block?.length === 0) throw new RangeError('Cannot send a line of more than 1 MiB');
      for (const line of linesOf(block ?? NO_BLOCK)) {
        if (!isBlank(line)) batch.add(line);
        if (!batch.isFull) continue;
        await sendLines(client, row, map, batch.lines, onResults);
        batch = new LineBatch();
      }
      if (block === undefined) break;
    }
    if (!batch.isEmpty) await sendLines(client, row, map, batch.lines, onResults);
  } finally {
    await blocks.close();
  }
}

/** Whether a line has only white space, and is skipped. */
export function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte <= 0x20);
}

/** Statuses of a line whose entry is not as the line requires. */
const OF_ENTRY: ReadonlySet<number> = new Set([404, 409, 412]);
/** The end of a line of a key without an entry; a text has no quotes that are not escaped. */
const ABSENT = Buffer.from(',"absent":true}\n');
const NO_BLOCK = Buffer.alloc(0);
