/**
 * The name of a map or a queue: as a copy of its bytes, as text, and as shown in messages.
 * @internal Tested by local-results.spec.ts.
 */
import { Span } from '../base/span.ts';

/** The name of a map or a queue in three forms. @internal */
export class LocalName {
  readonly span: Span;
  readonly text: string;
  readonly shown: string;

  /** Copies the bytes of the span. */
  constructor(name: Span) {
    const bytes = name.toBuffer();
    this.span = Span.of(bytes);
    this.text = bytes.toString();
    this.shown = JSON.stringify(this.text);
  }
}
