/**
 * `gridnode map list`, `keys` and `entries`: lines of a member, which are printed as they arrive.
 * Lists are read in pages, so that a slow reader of the output, such as a pager, rarely makes the
 * member wait. Tested by map-commands.spec.ts.
 */
import { counted } from '../base/quantities.ts';
import { type OpenResponse, UnreachableError } from '../client/member-client.ts';
import { ROUTES } from '../member/routes.ts';
import type { Route } from '../surface/route.ts';
import { LIMIT_MAX } from '../v1/v1-routes.ts';
import type { Client } from './client.ts';
import { refuseReplaced } from './command-input.ts';
import { EXIT_CLEAN, type ExitCode } from './exit-code.ts';
import { LineBlocks } from './line-blocks.ts';
import { print, type Streams } from './output.ts';
import { shownName } from './shown-name.ts';

export interface ListOptions {
  readonly prefix?: string;
  readonly limit?: string;
  readonly cursor?: string;
  readonly json?: true;
}

/** A list of a member. */
interface ListRequest {
  readonly row: Route;
  /** The variable parts of the path. */
  readonly variable: readonly string[];
  readonly prefix: string | undefined;
}

/** Returns what people see of a line, with its end. */
type Show = (line: Buffer) => string;

/** The lists, by the word of their command. */
const LISTS = {
  list: { row: ROUTES.listMaps, show: showMap },
  keys: { row: ROUTES.listKeys, show: showKey },
  entries: { row: ROUTES.listEntries, show: String },
} as const satisfies Readonly<Record<string, { readonly row: Route; readonly show: Show }>>;

/** Prints a list. `map`: undefined for the list of the maps. */
export async function printList(
  client: Client,
  streams: Streams,
  word: keyof typeof LISTS,
  map: string | undefined,
  { prefix, limit, cursor = '', json }: ListOptions,
): Promise<ExitCode> {
  refuseReplaced('prefix', prefix);
  const { row, show } = LISTS[word];
  const list = { row, variable: map === undefined ? [] : [map], prefix };
  let left = limit === undefined ? Number.POSITIVE_INFINITY : countIn(limit);
  let next: string | null = cursor;
  while (next !== null && left > 0) {
    next = await readPage(client, list, next, Math.min(left, LIMIT_MAX), async (block) => {
      const lines = linesOf(block);
      left -= lines.length;
      await print(streams, json ? block : lines.map(show).join(''));
    });
  }
  if (json) await print(streams, `${JSON.stringify({ cursor: next })}\n`);
  return EXIT_CLEAN;
}

/**
 * Reads a page of a list from a cursor on, '' for its beginning. Calls `onLines` with blocks of whole
 * lines. Returns the next cursor; null at the end of the list.
 */
export async function readPage(
  client: Client,
  { row, variable, prefix }: ListRequest,
  cursor: string,
  limit: number,
  onLines: (block: Buffer) => Promise<void>,
): Promise<string | null> {
  const query = { prefix, limit: String(limit), cursor: cursor === '' ? undefined : cursor };
  const response = await client.open(client.requestOf(row, variable, { query }));
  let next: string | null | undefined;
  await readBlocks(response, async (block) => {
    const last = block.lastIndexOf(LINE_FEED, block.length - 2) + 1;
    const isLast = block.subarray(last, last + CURSOR_LINE.length).equals(CURSOR_LINE);
    if (isLast) next = (objectIn(block.subarray(last)) as { cursor: string | null }).cursor;
    const end = isLast ? last : block.length;
    if (end > 0) await onLines(block.subarray(0, end));
  });
  if (next !== undefined) return next;
  throw new UnreachableError('Cannot read the list: the response was cut off');
}

/** Calls `onLines` with blocks of whole lines of a response. */
export async function readBlocks(
  { chunks }: OpenResponse,
  onLines: (block: Buffer) => Promise<void>,
): Promise<void> {
  const blocks = new LineBlocks(chunks);
  try {
    for (;;) {
      const block = await blocks.next();
      if (block === undefined) return;
      if (block.length === 0)
        throw new UnreachableError('Cannot read the response: a line of it is too long');
      await onLines(block);
    }
  } finally {
    await blocks.close();
  }
}

/** Returns the lines of a block, each with its end. */
export function linesOf(block: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < block.length; ) {
    const end = block.indexOf(LINE_FEED, start) + 1;
    lines.push(block.subarray(start, end));
    start = end;
  }
  return lines;
}

/** Returns the object of a line of a response. */
export function objectIn(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString());
  } catch {
    throw new UnreachableError('Cannot read the response: a line of it is not JSON');
  }
}

function countIn(limit: string): number {
  const count = Number(limit);
  if (/^\d{1,15}$/.test(limit) && count > 0) return count;
  throw new RangeError(`Cannot use --limit ${JSON.stringify(limit)}: not an integer from 1 up`);
}

function showMap(line: Buffer): string {
  const { size, bytes } = objectIn(line) as { size: number; bytes: number | null };
  const memory = bytes === null ? '' : `  ${counted(bytes, 'byte')}`;
  return `${shownBytes(line, 'name')}  ${counted(size, 'entry', 'entries')}${memory}\n`;
}

function showKey(line: Buffer): string {
  return `${shownBytes(line, 'key')}\n`;
}

function shownBytes(line: Buffer, member: 'name' | 'key'): string {
  const members = objectIn(line) as Readonly<Record<string, string | undefined>>;
  return shownName(members[member], members[`${member}Base64`]);
}

const CURSOR_LINE = Buffer.from('{"cursor":');
const LINE_FEED = 0x0a;
