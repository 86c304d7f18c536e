/**
 * The stream that a log's lines are written to, and the escaping that makes them safe to display.
 * Tested by log.spec.ts.
 */

export interface LineStream {
  /** Writes a line, which includes its line end. */
  write(line: string): unknown;
  /** Writes all waiting lines; called after a line of level fatal. */
  flushSync?(): void;
  /** Returns fields that the stream adds to the next line. */
  nextFields?(): object;
}

/** Returns the options with which pino writes to the stream. */
export function lineOptions(stream: LineStream) {
  return {
    hooks: { streamWrite: escapeControls },
    ...(stream.nextFields && { mixin: () => stream.nextFields?.() ?? {} }),
  };
}

/**
 * Escapes the control characters that JSON permits in strings: terminals interpret U+007F to
 * U+009F, and some programs end a line at U+2028 or U+2029.
 */
function escapeControls(line: string): string {
  return line.replace(CONTROLS, (each) => {
    return `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/**
 * Doubles each backslash that begins an escape of a control character, so that a JSON parser
 * returns the escape as text. Escapes of line ends and tabs are not changed.
 */
export function doubleEscapes(line: string): string {
  return line.replace(/\\[\\ubfr]/g, (each) => (each === '\\\\' ? each : `\\${each}`));
}

const CONTROLS = /[\u007f-\u009f\u2028\u2029]/g;
