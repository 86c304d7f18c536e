/**
 * Limits the memory for inflated messages: a short message may inflate to the size of the largest
 * batch, and any number of them may arrive at once. A message is admitted with the inflated length
 * from its head. If there is no room it waits, in order of arrival, so its response is delayed. One
 * message is always admitted.
 */

/**
 * Maximum size of all admitted messages, in bytes: four of the longest with the default settings.
 */
const INFLATED_BYTES_MAX = 67_108_864;

export class InflationLimit {
  readonly #waiting: { readonly bytes: number; readonly enter: () => void }[] = [];
  /** Inflated bytes of the admitted messages. */
  usedBytes = 0;

  /**
   * Reserves the bytes until `leave`. Undefined if there is room now, otherwise resolves with it.
   */
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
