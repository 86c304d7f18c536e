/** Content type of the plain-text responses that the member generates. */
import { Span } from '../base/span.ts';

const NAME = Buffer.from('text/plain');

export const TEXT_PLAIN = new Span().set(NAME, 0, NAME.length);
