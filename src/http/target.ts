/**
 * The request target (RFC 9112 section 3.2): origin-form as it is, absolute-form without its scheme
 * and authority, which counts instead of Host; asterisk-form for OPTIONS. Anything else, and a fragment, is refused.
 */
import { equalsIgnoringCase, isAuthority } from './fields.ts';
import { CONNECT, OPTIONS } from './methods.ts';
import type { Request } from './request.ts';

/** Narrows target to path and query and finds the path's end. False: not a valid target. */
export function resolveTarget(request: Request): boolean {
  const { target } = request;
  const bytes = target.bytes;
  const first = bytes[target.start];
  if (first !== 0x2f) {
    request.pathEnd = target.end;
    request.escaped = false;
    if (request.method === CONNECT) return true;
    if (first === 0x2a && target.length === 1) return request.method === OPTIONS;
    if (!skipAuthority(request)) return false;
  }
  let pathEnd = target.end;
  let escaped = false;
  for (let at = target.start; at < target.end; at++) {
    const byte = bytes[at];
    if (byte === 0x25) {
      if (at < pathEnd) escaped = true;
    } else if (byte === 0x3f) {
      if (at < pathEnd) pathEnd = at;
    } else if (byte === 0x23) return false;
  }
  request.pathEnd = pathEnd;
  request.escaped = escaped;
  return true;
}

/** An absolute-form target loses its scheme and authority; one without a path means `/`. */
function skipAuthority(request: Request): boolean {
  const { target } = request;
  const { bytes, start, end } = target;
  let at = start;
  for (const scheme of SCHEMES) {
    const schemeEnd = start + scheme.length;
    if (schemeEnd < end && equalsIgnoringCase(bytes, start, schemeEnd, scheme)) at = schemeEnd;
  }
  const authorityStart = at;
  while (at < end && bytes[at] !== 0x2f && bytes[at] !== 0x3f && bytes[at] !== 0x23) at++;
  if (authorityStart === start || !isAuthority(bytes, authorityStart, at)) return false;
  if (at === end) target.set(ROOT, 0, ROOT.length);
  else target.start = at;
  return true;
}

const SCHEMES: readonly Buffer[] = [Buffer.from('http://'), Buffer.from('https://')];
const ROOT = Buffer.from('/');
