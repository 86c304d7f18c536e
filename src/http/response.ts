/**
 * Writes responses into the arena (RFC 9112 section 6): status line, Date, framing, content. Every
 * response has Content-Length, except 204, 304 and streams. A response to HEAD has no content.
 * Tested by vectors.spec.ts.
 */
import type { Span } from '../base/span.ts';
import { EMPTY_200, EMPTY_204, type OutputArena, UNTYPED_200 } from './arena.ts';
import { HEAD } from './methods.ts';
import type { Request } from './request.ts';
import { isBodiless, statusLine } from './status.ts';

/** Room for a head without its content type and further fields, in bytes. */
const HEAD_BYTES_MAX = 320;

/** Returns the room for a response's head without its content type and further fields, in bytes. */
export function headBytesMax({ browser }: Request): number {
  return browser === undefined ? HEAD_BYTES_MAX : HEAD_BYTES_MAX + browser.responseLines.length;
}

/** Writes a response without content. `isLast`: whether the connection ends after it. */
export function writeEmpty(
  arena: OutputArena,
  request: Request,
  status: number,
  isLast: boolean,
): void {
  if (!isPlain(request, isLast) || (status !== 200 && status !== 204)) {
    const framing = isBodiless(status) ? '' : 'Content-Length: 0\r\n';
    arena.writeText(headText(arena, request, status, framing, isLast));
  } else arena.writePrepared(status === 200 ? EMPTY_200 : EMPTY_204);
}

/** Writes the head of a 200 response with `length` bytes of content. An empty type is not sent. */
export function writeHeadOfContent(
  arena: OutputArena,
  request: Request,
  contentType: Span,
  length: number,
  isLast: boolean,
): void {
  const { bytes, start, end } = contentType;
  if (!isPlain(request, isLast)) {
    const hasType = start < end && arena.acceptsType(bytes, start, end);
    const type = hasType ? `Content-Type: ${bytes.toString('latin1', start, end)}\r\n` : '';
    const framing = `${type}Content-Length: ${length}\r\n`;
    arena.writeText(headText(arena, request, 200, framing, isLast));
    return;
  }
  if (start < end) arena.writeTypedHead(bytes, start, end);
  else arena.writePrepared(UNTYPED_200);
  arena.writeNumber(length);
  arena.writeHeadEnd();
}

/** Writes a complete response. `fieldLines`: further header fields, each with CR LF. */
export function writeWhole(
  arena: OutputArena,
  request: Request,
  status: number,
  contentType: string,
  body: Buffer,
  fieldLines: string,
  isLast: boolean,
): void {
  const type = contentType === '' ? '' : `Content-Type: ${contentType}\r\n`;
  const framing = isBodiless(status) ? '' : `Content-Length: ${body.length}\r\n`;
  arena.writeText(headText(arena, request, status, type + framing + fieldLines, isLast));
  if (request.method !== HEAD && !isBodiless(status)) arena.writeBytes(body, 0, body.length);
}

/** Writes the head of a response whose content follows in pieces. */
export function writeHeadOfStream(
  arena: OutputArena,
  request: Request,
  status: number,
  contentType: string,
  fieldLines: string,
  isLast: boolean,
): void {
  const type = contentType === '' ? '' : `Content-Type: ${contentType}\r\n`;
  const coding = request.version === 11 ? 'Transfer-Encoding: chunked\r\n' : '';
  arena.writeText(headText(arena, request, status, type + coding + fieldLines, isLast));
}

/** Whether no header field depends on the request or its connection. */
function isPlain({ version, browser }: Request, isLast: boolean): boolean {
  return !isLast && version !== 10 && browser === undefined;
}

/** Returns a head, with a Connection field if the connection ends or HTTP/1.0 is kept open. */
function headText(
  arena: OutputArena,
  request: Request,
  status: number,
  fieldLines: string,
  isLast: boolean,
): string {
  const stays = request.version === 10 ? 'Connection: keep-alive\r\n' : '';
  const connection = isLast ? 'Connection: close\r\n' : stays;
  const lines = fieldLines + (request.browser?.responseLines ?? '');
  return `${statusLine(status)}${arena.dateLine}${lines}${connection}\r\n`;
}
