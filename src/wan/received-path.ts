/** The path of a received change: that of its event, then the sender. Tested by server-sections.spec.ts. */
import type { Span } from '../base/span.ts';
import { DATA_SET_ID_BYTES, PATH_LENGTH_MAX } from '../engine/mutation.ts';

export class ReceivedPath {
  readonly #bytes = Buffer.alloc(PATH_LENGTH_MAX * DATA_SET_ID_BYTES);

  /** Appends the sender to the path of an event. The path is valid until the next call. */
  append(path: Span, sender: Buffer): void {
    // Most changes were made by the sender itself.
    if (path.length === 0) {
      path.set(sender, 0, DATA_SET_ID_BYTES);
      return;
    }
    path.bytes.copy(this.#bytes, 0, path.start, path.end);
    sender.copy(this.#bytes, path.length);
    path.set(this.#bytes, 0, path.length + DATA_SET_ID_BYTES);
  }
}
