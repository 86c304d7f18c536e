/** The name of a map or a queue: as bytes that are kept, as text, and as messages show it. @internal */
import { Span } from '../base/span.ts';

/** A name as bytes that stay, as text, and as messages have it. @internal */
export class LocalName {
  readonly span: Span;
  readonly text: string;
  readonly shown: string;

  /** Copies the bytes of the span. */
  constructor(name: Span) {
    const bytes = name.toBuffer();
    this.span = new Span().set(bytes, 0, bytes.length);
    this.text = bytes.toString();
    this.shown = JSON.stringify(this.text);
  }
}
