/**
 * Reads the configuration again at SIGHUP: what may change while the member runs is taken over, what
 * may not is named in the log. A configuration that is wrong changes nothing.
 */
import { isDeepStrictEqual } from 'node:util';
import { GridError } from '../base/errors.ts';
import { type Config, rowOf } from '../config/config.ts';
import { ConfigFault, type LoadedConfig, refusalText } from '../config/load.ts';
import { SETTINGS, type SettingKey } from '../config/settings.ts';
import type { Member } from '../member.ts';
import type { Log } from '../telemetry/log.ts';

export class Reloader {
  readonly #member: Member;
  readonly #log: Log;
  readonly #load: () => Promise<LoadedConfig>;
  /** What the member started with, and took over since. */
  #config: Config;
  /** The reload under way; one that comes meanwhile is done after it. */
  #last: Promise<void> = Promise.resolve();

  constructor(config: Config, member: Member, log: Log, load: () => Promise<LoadedConfig>) {
    this.#config = config;
    this.#member = member;
    this.#log = log;
    this.#load = load;
  }

  reload(): void {
    this.#last = this.#last.then(() => this.#reload());
  }

  async #reload(): Promise<void> {
    try {
      const { config, warnings, refused } = await this.#load();
      if (refused.length > 0) throw new ConfigFault(refused.map(refusalText));
      await this.#member.reload(config);
      for (const warning of warnings) this.#log.warn(warning);
      this.#report(config);
    } catch (error) {
      if (error instanceof ConfigFault) {
        this.#log.error({ problems: error.problems }, 'not reloaded: the configuration is wrong');
      } else if (error instanceof GridError) {
        this.#log.error({ code: error.code }, `not reloaded: ${error.message}`);
      } else this.#log.error({ err: error }, 'not reloaded');
    }
  }

  /** Says what has changed, and what would have. */
  #report(config: Config): void {
    const before = this.#config;
    const changed = (Object.keys(SETTINGS) as SettingKey[]).filter(
      (key) => !isDeepStrictEqual(config[key], before[key]),
    );
    // TLS cannot be turned on or off, only renewed.
    const isTaken = (key: SettingKey): boolean =>
      rowOf(key).isReloadable === true &&
      (config[key] === undefined) === (before[key] === undefined);
    const taken = changed.filter(isTaken);
    const kept = changed.filter((key) => !isTaken(key));
    this.#config = { ...before, ...Object.fromEntries(taken.map((key) => [key, config[key]])) };
    if (kept.length > 0) {
      this.#log.warn({ settings: kept.map(nameOf) }, 'not changed: needs a restart');
    }
    this.#log.info({ changed: taken.map(nameOf) }, 'reloaded');
  }
}

function nameOf(key: SettingKey): string {
  const { path, flags } = rowOf(key);
  return path ?? flags[0]?.name ?? key;
}
