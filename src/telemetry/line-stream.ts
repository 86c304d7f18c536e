/** The stream that a log's lines are written to, and the form in which all of them are safe to show. */

export interface LineStream {
  /** Takes a line with its line end. */
  write(line: string): unknown;
  /** Called after a line of level fatal: writes what waits. */
  flushSync?(): void;
  /** Fields that the stream adds to the next line. */
  nextFields?(): object;
}

/** Options with which pino writes to the stream. */
export function lineOptions(stream: LineStream) {
  return {
    hooks: { streamWrite: escapeControls },
    ...(stream.nextFields && { mixin: () => stream.nextFields?.() ?? {} }),
  };
}

/**
 * Escapes the control characters that JSON permits in texts: a terminal obeys U+007F to U+009F, and some
 * programs end a line at U+2028 or U+2029.
 */
function escapeControls(line: string): string {
  return line.replace(CONTROLS, (each) => {
    return `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/**
 * Escapes each backslash that begins an escape of a control character, so that what reads the line as
 * JSON gets the escape itself as text. Line ends and tabs remain.
 */
export function keepEscapes(line: string): string {
  return line.replace(/\\[\\ubfr]/g, (each) => (each === '\\\\' ? each : `\\${each}`));
}

const CONTROLS = /[\u007f-\u009f\u2028\u2029]/g;
