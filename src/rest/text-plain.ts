/** Content type of the member's own responses in plain text. */
import { Span } from '../base/span.ts';

const NAME = Buffer.from('text/plain');

export const TEXT_PLAIN = new Span().set(NAME, 0, NAME.length);
