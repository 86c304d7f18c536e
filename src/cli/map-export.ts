/**
 * `gridnode map export`: writes all entries of a map, with their types and lifetimes, as the lines of
 * `map entries`. Each page of the list ends with the line of its cursor, so that a file is its own
 * record of how far it is: an export that was cut off continues after its last cursor. Values that
 * the list leaves out are fetched after their page, and written in base64 at the end of their lines.
 * Tested by map-transfer.spec.ts.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { counted } from '../base/quantities.ts';
import { ROUTES } from '../member/routes.ts';
import { type Client, RefusedError } from './client.ts';
import { fileFault, refuseReplaced } from './command-input.ts';
import { bytesMember } from './entry-lines.ts';
import { EXIT_CLEAN, type ExitCode } from './exit-code.ts';
import { beforeInterruption } from './interruption.ts';
import { linesOf, objectIn, readPage } from './map-lists.ts';
import { OutputError, print, type Streams } from './output.ts';
import { Progress } from './progress.ts';

export interface ExportOptions {
  readonly prefix?: string;
  readonly continue?: true;
  readonly json?: true;
}

/** Maximum number of entries of a page: at most this many are exported again after a cut. */
const PAGE_LINES = 10_000;
/** Bytes that are searched at once for the last cursor. */
const SEARCHED_BYTES = 1_048_576;
/** More than a line with a cursor has, in bytes. */
const CURSOR_LINE_BYTES_MAX = 256;
const LINE_FEED = 0x0a;
/** A value, or none: these bytes begin no part of a text, as its quotes would have escapes. */
const VALUES = [Buffer.from(',"value":'), Buffer.from(',"valueBase64":')];
const CURSOR = '{"cursor":';
const CURSOR_LINE = /^\{"cursor":(?:null|"([\w-]{1,128})")\}\n$/;
const NOT_FOUND = 404;

/** A file or standard output. */
interface Target {
  write(bytes: Buffer | string): Promise<void>;
  close(): Promise<void>;
  /** The cursor to continue from, '' for the beginning, or null if the export is complete. */
  readonly cursor: string | null;
}

/** Exports to a file, or to standard output if none is named. */
export async function exportMap(
  client: Client,
  streams: Streams,
  map: string,
  file: string | undefined,
  { prefix, continue: isContinued, json }: ExportOptions,
): Promise<ExitCode> {
  refuseReplaced('prefix', prefix);
  if (isContinued && file === undefined) {
    throw new TypeError('Cannot use --continue without a file');
  }
  const target =
    file === undefined ? toOutput(streams) : await openTarget(file, isContinued === true);
  const progress = new Progress(streams, `exporting ${map}`);
  let entries = 0;
  const printContinuation = () => {
    progress.end();
    if (file === undefined) return;
    streams.stderr.write('The export is not complete: --continue continues it\n');
  };
  const stopWatching = beforeInterruption(printContinuation);
  try {
    await writeEntries(client, map, prefix, target, (count) => {
      entries += count;
      progress.show(counted(entries, 'entry', 'entries'));
    });
  } catch (error) {
    printContinuation();
    throw error;
  } finally {
    stopWatching();
    progress.end();
    await target.close();
  }
  if (file === undefined) return EXIT_CLEAN;
  const summary = counted(entries, 'entry', 'entries');
  await print(streams, `${json ? JSON.stringify({ entries }) : summary}\n`);
  return EXIT_CLEAN;
}

/** Writes all entries, with a cursor after each page. Calls `onWritten` with numbers of entries. */
async function writeEntries(
  client: Client,
  map: string,
  prefix: string | undefined,
  target: Target,
  onWritten: (count: number) => void,
): Promise<void> {
  const list = { row: ROUTES.listEntries, variable: [map], prefix };
  for (let next = target.cursor; next !== null; ) {
    const withoutValue: Buffer[] = [];
    next = await readPage(client, list, next, PAGE_LINES, async (block) => {
      const lines = linesOf(block);
      const whole = lines.filter(hasValue);
      if (whole.length === lines.length) await target.write(block);
      else {
        await target.write(Buffer.concat(whole));
        withoutValue.push(...lines.filter((line) => !hasValue(line)));
      }
      onWritten(whole.length);
    });
    for (const line of withoutValue) {
      if (await exportLong(client, map, line, target)) onWritten(1);
    }
    await target.write(`${CURSOR}${JSON.stringify(next)}}\n`);
  }
}

function hasValue(line: Buffer): boolean {
  return VALUES.some((value) => line.includes(value));
}

/** Writes an entry whose value is too long for a list. Returns false if it does not exist any more. */
async function exportLong(
  client: Client,
  map: string,
  line: Buffer,
  target: Target,
): Promise<boolean> {
  const { key, keyBase64 } = objectIn(line) as { key?: string; keyBase64?: string };
  const bytes = Buffer.from(key ?? keyBase64 ?? '', key === undefined ? 'base64' : 'utf8');
  try {
    const response = await client.open(client.requestOf(ROUTES.getV1Entry, [map, bytes]));
    const seconds = (name: string) => {
      const text = response.field(name);
      return text === undefined ? undefined : Number(text);
    };
    const entry = {
      ...(key === undefined ? { keyBase64 } : { key }),
      etag: response.field('etag'),
      ...typeMember(response.contentType),
      length: Number(response.field('content-length')),
      timeToLiveSeconds: seconds('grid-time-to-live'),
      maxIdleSeconds: seconds('grid-max-idle'),
    };
    await target.write(`${JSON.stringify(entry).slice(0, -1)},"valueBase64":"`);
    let rest = Buffer.alloc(0);
    for await (const chunk of response.chunks) {
      // Three bytes are four characters of base64, without padding.
      const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      const end = all.length - (all.length % 3);
      await target.write(all.toString('base64', 0, end));
      rest = Buffer.from(all.subarray(end));
    }
    await target.write(`${rest.toString('base64')}"}\n`);
    return true;
  } catch (error) {
    if (error instanceof RefusedError && error.response.status === NOT_FOUND) return false;
    throw error;
  }
}

/** Returns the member of a content type, which Node reads as Latin-1, as lines have it. */
function typeMember(type: string | undefined): Readonly<Record<string, string>> {
  return type === undefined ? {} : bytesMember('contentType', Buffer.from(type, 'latin1'));
}

function toOutput(streams: Streams): Target {
  return { write: (bytes) => print(streams, bytes), close: async () => {}, cursor: '' };
}

/** Opens a new file, or one to continue after its last cursor. Throws TypeError. */
async function openTarget(file: string, isContinued: boolean): Promise<Target> {
  let handle: FileHandle;
  try {
    handle = await open(file, isContinued ? constants.O_RDWR | constants.O_CREAT : 'wx');
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    throw fileFault('', file, isThere ? new Error(EXISTS) : error);
  }
  try {
    const { end, cursor } = isContinued ? await lastCursor(handle, file) : { end: 0, cursor: '' };
    await handle.truncate(end);
    return {
      cursor,
      write: writer(handle, file, end),
      async close() {
        await handle.sync();
        await handle.close();
      },
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

const EXISTS = 'it exists; --continue continues the export in it';

function writer(handle: FileHandle, file: string, start: number): Target['write'] {
  let at = start;
  return async (text) => {
    const bytes = Buffer.isBuffer(text) ? text : Buffer.from(text);
    try {
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, at);
        done += bytesWritten;
        at += bytesWritten;
      }
    } catch (error) {
      throw new OutputError(error as NodeJS.ErrnoException, JSON.stringify(file));
    }
  };
}

/** Returns the last cursor of an export, and the end of its line. Throws TypeError. */
async function lastCursor(handle: FileHandle, file: string) {
  const { size } = await handle.stat();
  const piece = Buffer.alloc(SEARCHED_BYTES);
  // Pieces overlap, so that each cursor is whole in one of them.
  for (let end = size; end > 0; end -= SEARCHED_BYTES - CURSOR_LINE_BYTES_MAX) {
    const start = Math.max(0, end - SEARCHED_BYTES);
    const { bytesRead } = await handle.read(piece, 0, end - start, start);
    const bytes = piece.subarray(0, bytesRead);
    const found = lastCursorIn(bytes, start === 0);
    if (found !== undefined) return { end: start + found.end, cursor: found.cursor };
    if (start === 0) {
      const beginning = KEY.subarray(0, bytes.length);
      if (bytes.subarray(0, KEY.length).equals(beginning)) break;
      const error = new Error('it is not an export of a map');
      throw fileFault('', file, error);
    }
  }
  return { end: 0, cursor: '' };
}

/** Returns the last line with a cursor in a part of a file. */
function lastCursorIn(
  bytes: Buffer,
  isStart: boolean,
): { readonly end: number; readonly cursor: string | null } | undefined {
  for (let from = bytes.length; from > 0; ) {
    const at = bytes.lastIndexOf(CURSOR, from - 1);
    if (at < 0) return undefined;
    from = at;
    const isLine = at === 0 ? isStart : bytes[at - 1] === LINE_FEED;
    const end = bytes.indexOf(LINE_FEED, at) + 1;
    const line = isLine ? CURSOR_LINE.exec(bytes.toString('latin1', at, end)) : null;
    if (line !== null) return { end, cursor: line[1] ?? null };
  }
  return undefined;
}

/** The beginning of the first line of an export. */
const KEY = Buffer.from('{"key');
