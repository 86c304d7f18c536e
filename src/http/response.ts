/**
 * Writes responses into the arena (RFC 9112 section 6): status line, Date, framing, content. Every
 * response with content has Content-Length; 204 has neither. To HEAD the content is left away.
 */
import type { Span } from '../base/span.ts';
import * as arenaTexts from './arena.ts';
import type { OutputArena } from './arena.ts';
import { HEAD } from './methods.ts';
import type { Request } from './request.ts';

/** Room for a head but for its content type and further fields, in bytes. */
export const HEAD_BYTES_MAX = 320;

/** Writes a response without content. `isLast`: the connection ends after it. */
export function writeEmpty(
  arena: OutputArena,
  request: Request,
  status: number,
  isLast: boolean,
): void {
  arena.writeHead(status);
  if (status !== 204) arena.writePrepared(arenaTexts.NO_CONTENT);
  writeConnection(arena, request, isLast);
  arena.writePrepared(arenaTexts.LINE_END);
}

/** Writes the head of a response with `length` bytes of content. */
export function writeHeadOfContent(
  arena: OutputArena,
  request: Request,
  status: number,
  contentType: Span,
  length: number,
  isLast: boolean,
): void {
  arena.writeHead(status);
  if (contentType.length > 0) {
    arena.writePrepared(arenaTexts.CONTENT_TYPE);
    arena.writeBytes(contentType.bytes, contentType.start, contentType.end);
    arena.writePrepared(arenaTexts.LINE_END);
  }
  arena.writePrepared(arenaTexts.CONTENT_LENGTH);
  arena.writeNumber(length);
  arena.writePrepared(arenaTexts.LINE_END);
  writeConnection(arena, request, isLast);
  arena.writePrepared(arenaTexts.LINE_END);
}

/** Writes a whole response; `fieldLines` are further fields, each ended by CR LF. */
export function writeTextual(
  arena: OutputArena,
  request: Request,
  status: number,
  contentType: string,
  body: Buffer,
  fieldLines: string,
  isLast: boolean,
): void {
  arena.writeHead(status);
  if (contentType !== '') arena.writeText(`Content-Type: ${contentType}\r\n`);
  if (status !== 204) arena.writeText(`Content-Length: ${body.length}\r\n`);
  arena.writeText(fieldLines);
  writeConnection(arena, request, isLast);
  arena.writePrepared(arenaTexts.LINE_END);
  if (request.method !== HEAD) arena.writeBytes(body, 0, body.length);
}

/** The Connection field where it says something: the end, or to HTTP/1.0 that there is none. */
function writeConnection(arena: OutputArena, request: Request, isLast: boolean): void {
  if (isLast) arena.writeText('Connection: close\r\n');
  else if (request.version === 10) arena.writeText('Connection: keep-alive\r\n');
}
