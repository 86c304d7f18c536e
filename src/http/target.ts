/**
 * Resolves the request target (RFC 9112 section 3.2). Origin-form is unchanged. Absolute-form loses its
 * scheme and authority, and the authority replaces Host. Asterisk-form is valid for OPTIONS. Other forms
 * and fragments are refused. Tested by vectors.spec.ts.
 */
import type { Span } from '../base/span.ts';
import { equalsIgnoringCase, isAuthority } from './field-values.ts';
import { CONNECT, OPTIONS } from './methods.ts';
import * as failures from './read-failures.ts';
import type { RequestHead } from './request-head.ts';

/** Narrows the target to path and query, and finds the path's end. An authority replaces `host`. */
export function resolveTarget(head: RequestHead, host: Span): failures.ReadFailure {
  const { target } = head;
  const bytes = target.bytes;
  const first = bytes[target.start];
  if (first !== 0x2f) {
    head.pathEnd = target.end;
    head.escaped = false;
    if (head.method === CONNECT) return 0;
    if (first === 0x2a && target.length === 1) {
      return head.method === OPTIONS ? 0 : failures.TARGET_INVALID;
    }
    const failure = skipAuthority(head, host);
    if (failure !== 0) return failure;
  }
  let pathEnd = target.end;
  let escaped = false;
  for (let at = target.start; at < target.end; at++) {
    const byte = bytes[at];
    if (byte === 0x25) {
      if (at < pathEnd) escaped = true;
    } else if (byte === 0x3f) {
      if (at < pathEnd) pathEnd = at;
    } else if (byte === 0x23) return failures.TARGET_WITH_FRAGMENT;
  }
  head.pathEnd = pathEnd;
  head.escaped = escaped;
  return 0;
}

/** Removes the scheme and authority of an absolute-form target. Without a path it becomes `/`. */
function skipAuthority(head: RequestHead, host: Span): failures.ReadFailure {
  const { target } = head;
  const { bytes, start, end } = target;
  let at = start;
  for (const scheme of SCHEMES) {
    const schemeEnd = start + scheme.length;
    if (schemeEnd < end && equalsIgnoringCase(bytes, start, schemeEnd, scheme)) at = schemeEnd;
  }
  const authorityStart = at;
  while (at < end && bytes[at] !== 0x2f && bytes[at] !== 0x3f && bytes[at] !== 0x23) at++;
  if (authorityStart === start) return failures.TARGET_INVALID;
  if (!isAuthority(bytes, authorityStart, at)) return failures.AUTHORITY_INVALID;
  host.set(bytes, authorityStart, at);
  if (at === end) target.set(ROOT, 0, ROOT.length);
  else target.start = at;
  return 0;
}

const SCHEMES: readonly Buffer[] = [Buffer.from('http://'), Buffer.from('https://')];
const ROOT = Buffer.from('/');
