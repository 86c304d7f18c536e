/** Prints the output of commands. A start loads only this file for printing. */
import type { Readable, Writable } from 'node:stream';

/** The three streams of a command: those of the process, or substitutes in tests. */
export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & Screen;
  readonly stderr: Writable & Screen & { readonly isTTY?: boolean };
}

interface Screen {
  /** Width of the terminal, if it is one. */
  readonly columns?: number;
}

/** Standard output, or the file of an export, cannot be written. */
export class OutputError extends Error {
  override readonly name = 'OutputError';
  /** Whether the reader has closed standard output, as `head` does when it has read enough. */
  readonly isClosedPipe: boolean;

  constructor(cause: NodeJS.ErrnoException, target = 'standard output') {
    super(`Cannot write to ${target}: ${cause.message}`, { cause });
    this.isClosedPipe = cause.code === 'EPIPE';
  }
}

/** Resolves once the bytes are written and the process can exit. Rejects with OutputError. */
export function print({ stdout }: Streams, bytes: Buffer | string): Promise<void> {
  return new Promise((resolve, reject) => {
    stdout.write(bytes, (error) => (error ? reject(new OutputError(error)) : resolve()));
  });
}

export function printLine(streams: Streams, text: string): Promise<void> {
  return print(streams, `${text}\n`);
}
