/**
 * Texts with one character per byte, as names, keys and values of the subsystem are.
 * Tested by cp-actions.spec.ts.
 */
import { Span } from '../base/span.ts';

export function textOf({ bytes, start, end }: Span): string {
  return bytes.toString('latin1', start, end);
}

export function spanOf(text: string): Span {
  return Span.of(Buffer.from(text, 'latin1'));
}
