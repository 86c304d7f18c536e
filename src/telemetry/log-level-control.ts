/** The log's level while the member runs: the configured one, or one chosen in its place. */
import { LOG_LEVELS, type LogLevel } from '../base/log-level.ts';
import type { Log } from './log.ts';

export class LogLevelControl {
  readonly #log: Log;
  #configured: LogLevel;
  #chosen: LogLevel | undefined;
  readonly #listeners: (() => void)[] = [];

  constructor(log: Log, configured: LogLevel) {
    this.#log = log;
    this.#configured = configured;
  }

  /** Calls the listener now, and after each change. */
  listen(listener: () => void): void {
    this.#listeners.push(listener);
    listener();
  }

  /** The level of the last call of `choose`; undefined after a reset, and at first. */
  get chosen(): LogLevel | undefined {
    return this.#chosen;
  }

  choose(level: LogLevel | undefined): void {
    this.#chosen = level;
    this.#apply();
  }

  /** Goes back to the configured level. */
  reset(): void {
    this.choose(undefined);
  }

  /** Called when the configuration has changed; a chosen level stays. */
  configure(level: LogLevel): void {
    this.#configured = level;
    this.#apply();
  }

  #apply(): void {
    this.#log.level = LOG_LEVELS[this.#chosen ?? this.#configured];
    for (const listener of this.#listeners) listener();
  }
}
