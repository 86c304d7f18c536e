/** The name of a map or a queue, as bytes that stay, as text, and as messages have it. @internal */
import { Span } from '../base/span.ts';

export class LocalName {
  readonly span: Span;
  readonly text: string;
  readonly shown: string;

  /** Copies what the span names. */
  constructor(name: Span) {
    const bytes = name.toBuffer();
    this.span = new Span().set(bytes, 0, bytes.length);
    this.text = bytes.toString();
    this.shown = JSON.stringify(this.text);
  }
}
