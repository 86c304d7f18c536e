/**
 * The lengths of the log's files, those of prepared segments included. Whatever creates, truncates
 * or removes a file notes it here, so that their sum is known without reading the directory.
 * Tested by persistence-metrics.spec.ts.
 */
export class LogFiles {
  /** Total length of the files, in bytes. */
  bytes = 0;
  /** By the number of the segment. */
  readonly #lengths = new Map<number, number>();

  /** Called when a file exists, or has another length. */
  set(number: number, length: number): void {
    this.bytes += length - (this.#lengths.get(number) ?? 0);
    this.#lengths.set(number, length);
  }

  delete(number: number): void {
    this.bytes -= this.#lengths.get(number) ?? 0;
    this.#lengths.delete(number);
  }
}
