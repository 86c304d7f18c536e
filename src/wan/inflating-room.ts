/**
 * Bounds what the messages under way inflate to: a short message may say that it becomes as long as a
 * batch may be, and any number of them may come at once. A message enters with the length that it says; one
 * for which there is no room waits its turn, so that its sender is answered later. One always has room.
 */

/** Four of the longest by default. */
const INFLATED_BYTES_MAX = 67_108_864;

export class InflatingRoom {
  readonly #waiting: { readonly bytes: number; readonly enter: () => void }[] = [];
  /** Bytes of the messages that have entered. */
  usedBytes = 0;

  /** Resolves when there is room, which `leave` gives back; undefined where there is now. */
  enter(bytes: number): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#has(bytes)) {
      this.usedBytes += bytes;
      return undefined;
    }
    return new Promise((enter) => this.#waiting.push({ bytes, enter }));
  }

  leave(bytes: number): void {
    this.usedBytes -= bytes;
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined || !this.#has(next.bytes)) return;
      this.#waiting.shift();
      this.usedBytes += next.bytes;
      next.enter();
    }
  }

  #has(bytes: number): boolean {
    return this.usedBytes === 0 || this.usedBytes + bytes <= INFLATED_BYTES_MAX;
  }
}
