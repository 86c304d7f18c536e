/**
 * Shows the progress of a command on a terminal, in one line that is overwritten; otherwise
 * nothing. Tested by output.spec.ts.
 */
import { MIB } from '../base/machine-memory.ts';
import { type ConfigRequest, type LoadedConfig, loadConfig } from '../member/load.ts';
import type { Streams } from './output.ts';

/** Minimum time between two updates, in ms. */
const INTERVAL_MS = 200;
/** Erases the line. */
const CLEAR_LINE = '\r\u{1b}[K';

export class Progress {
  readonly #streams: Streams;
  readonly #what: string;
  #bytes = 0;
  #writtenMs = Number.NEGATIVE_INFINITY;

  constructor(streams: Streams, what: string) {
    this.#streams = streams;
    this.#what = what;
  }

  /** Adds processed bytes. */
  readonly add = (bytes: number): void => {
    this.#bytes += bytes;
    this.show(`${Math.floor(this.#bytes / MIB)} MiB`);
  };

  show(text: string): void {
    const { stderr } = this.#streams;
    const nowMs = performance.now();
    if (!stderr.isTTY || nowMs - this.#writtenMs < INTERVAL_MS) return;
    this.#writtenMs = nowMs;
    stderr.write(`${CLEAR_LINE}${this.#what}: ${text}`);
  }

  end(): void {
    if (this.#writtenMs > 0) this.#streams.stderr.write(CLEAR_LINE);
  }
}

/** Loads a configuration; shows how much of a large file is read. */
export async function loadShown(request: ConfigRequest, streams: Streams): Promise<LoadedConfig> {
  const progress = new Progress(streams, 'Reading configuration');
  try {
    return await loadConfig({ ...request, onProgress: (done) => progress.show(done) });
  } finally {
    progress.end();
  }
}
