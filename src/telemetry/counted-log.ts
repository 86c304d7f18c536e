/**
 * A log that counts the lines that it writes. Lines below the level, or of a silent log, are not
 * written and not counted. Tested by telemetry/log-metrics.spec.ts.
 */
import type { LineCounts, Log, WriteLine } from './log.ts';

/** The log that the lines are written to. */
type Lines = Omit<Log, 'lineCounts'>;

type Line = Parameters<WriteLine>;

export class CountedLog implements Log {
  readonly lineCounts: LineCounts = { warn: 0, error: 0, fatal: 0, audit: 0 };
  readonly #log: Lines;

  constructor(log: Lines) {
    this.#log = log;
  }

  get level(): string {
    return this.#log.level;
  }

  set level(level: string) {
    this.#log.level = level;
  }

  isLevelEnabled(level: string): boolean {
    return this.#log.isLevelEnabled(level);
  }

  readonly debug = (...line: Line): void => this.#log.debug(...line);

  readonly info = (...line: Line): void => this.#log.info(...line);

  readonly warn = (...line: Line): void => {
    this.#count('warn');
    this.#log.warn(...line);
  };

  readonly error = (...line: Line): void => {
    this.#count('error');
    this.#log.error(...line);
  };

  readonly fatal = (...line: Line): void => {
    this.#count('fatal');
    this.#log.fatal(...line);
  };

  #count(level: 'warn' | 'error' | 'fatal'): void {
    if (this.#log.isLevelEnabled(level)) this.lineCounts[level]++;
  }
}
