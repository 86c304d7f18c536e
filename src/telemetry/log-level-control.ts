/**
 * The log's level while the member runs: the configured level, or a chosen one that overrides it.
 * Tested by administration/administration.spec.ts.
 */
import { LOG_LEVELS, type LogLevel } from '../base/log-level.ts';
import type { Log } from './log.ts';

export class LogLevelControl {
  readonly #log: Log;
  #configured: LogLevel;
  #chosen: LogLevel | undefined;
  #onChange: () => void = () => {};

  constructor(log: Log, configured: LogLevel) {
    this.#log = log;
    this.#configured = configured;
  }

  /** Calls the listener now and after every change. */
  listen(listener: () => void): void {
    this.#onChange = listener;
    listener();
  }

  /** The level set by `choose`; undefined initially and after a reset. */
  get chosen(): LogLevel | undefined {
    return this.#chosen;
  }

  choose(level: LogLevel | undefined): void {
    this.#chosen = level;
    this.#apply();
  }

  /** Restores the configured level. */
  reset(): void {
    this.choose(undefined);
  }

  /** Sets the configured level; a chosen level remains in force. */
  configure(level: LogLevel): void {
    this.#configured = level;
    this.#apply();
  }

  #apply(): void {
    this.#log.level = LOG_LEVELS[this.#chosen ?? this.#configured];
    this.#onChange();
  }
}
