/**
 * Reads the configuration again, on SIGHUP or a client's request. Settings that may change at run
 * time are applied; changes of others are logged by name. An invalid configuration changes nothing.
 * Reloads run one after the other.
 */

import { isDeepEqualInSlices } from '../base/deep-equal-in-slices.ts';
import { GridError, reasonOf } from '../base/errors.ts';
import { Slices } from '../base/slices.ts';
import { type AddedConfig, changeRecord, type SharedRecord } from '../cluster/shared-record.ts';
import { addedText, type HashPassword } from '../config/added-text.ts';
import type { Config } from '../config/config.ts';
import { ConfigFault, configFault } from '../config/config-fault.ts';
import { linesOf } from '../config/finding.ts';
import { type ConfigRequest, type LoadedConfig, refusedFault } from '../config/load.ts';
import { byName, isPattern } from '../config/name-lookup.ts';
import type { SecurityConfig } from '../config/security.ts';
import { SECURITY_PATHS } from '../config/security-paths.ts';
import {
  isReloadable,
  pathOf,
  type ReloadableKey,
  SETTING_KEYS,
  type SettingKey,
} from '../config/settings.ts';
import { addConfigText, type ConfigUpdate, shownNames, withNames } from '../config/update.ts';
import { addWanText, type WanAddition, withoutWanPublisher } from '../config/wan-addition.ts';
import { WAN_PLACES, type WanConfig } from '../config/wan-config.ts';
import { replicationIn, withoutPublisher } from '../config/wan-json.ts';
import type { Log } from '../telemetry/log.ts';

/**
 * The result of a reload: the applied settings and those not applied, by path or flag, and the
 * faults, one line each.
 */
interface ReloadOutcome {
  readonly applied: readonly string[];
  readonly unapplied: readonly string[];
  readonly faults: readonly string[];
}

/**
 * The reason why nothing was added; `refusal`: the error, if it determines the status of the
 * response.
 */
interface Failed {
  readonly faults: readonly string[];
  readonly refusal?: GridError;
}

/** Applies the reloadable settings. Rejects with GridError before any change. */
type Apply = (config: Config) => Promise<void>;

/** The settings that may change at run time. */
export type ReloadableConfig = Pick<Config, ReloadableKey>;

/**
 * Prepares a change. Rejects with GridError if it is not possible. The returned function makes the
 * change and cannot fail.
 */
export type Reload = (changed: ReloadableConfig) => (() => void) | Promise<() => void>;

/** For each reloadable setting, the function that applies it. Several settings may share one. */
export type Reloads = { readonly [Key in ReloadableKey]: Reload };

/** Prepares all changes. Rejects with GridError. Resolves with the function that makes them. */
export async function prepared(reloads: Reloads, changed: ReloadableConfig): Promise<() => void> {
  const changes: (() => void)[] = [];
  for (const reload of new Set(Object.values(reloads))) changes.push(await reload(changed));
  return () => {
    for (const change of changes) change();
  };
}

interface ReloaderParts {
  readonly apply: Apply;
  readonly log: Log;
  /** Reads the sources of the configuration again. */
  readonly load: () => Promise<LoadedConfig>;
  /** Stores the texts added to the configuration. */
  readonly record: SharedRecord;
  readonly hashPassword: HashPassword;
  /** Reads an added text; by default on a thread, as clients are served meanwhile. */
  readonly readText?: (request: ConfigRequest) => Promise<LoadedConfig>;
}

export class Reloader {
  readonly #apply: Apply;
  readonly #log: Log;
  readonly #load: () => Promise<LoadedConfig>;
  readonly #readText: (request: ConfigRequest) => Promise<LoadedConfig>;
  /** The configuration at the start, with the changes applied since. */
  #config: Config;
  /** The WAN configuration at the start, before anything was added. */
  readonly #configuredWan: WanConfig;
  /** Stores the texts added to the configuration. */
  readonly #record: SharedRecord;
  /** The record's texts that this member has applied, with the number of occurrences. */
  readonly #appliedTexts = new Map<string, number>();
  readonly #hashPassword: HashPassword;
  #last: Promise<unknown> = Promise.resolve();

  constructor(config: Config, parts: ReloaderParts) {
    this.#config = config;
    this.#configuredWan = config;
    this.#record = parts.record;
    this.#apply = parts.apply;
    this.#log = parts.log;
    this.#load = parts.load;
    this.#readText = parts.readText ?? readInThread;
    this.#hashPassword = parts.hashPassword;
  }

  reload(): Promise<ReloadOutcome> {
    const reload = this.#last.then(() => this.#reload());
    this.#last = reload;
    return reload;
  }

  /**
   * Adds the new items of a configuration text. `extend` gets the configuration, for the parts that
   * only such a text changes. Added items remain until the next reload; added maps and queues
   * remain until the member ends, or longer if it persists them.
   */
  add(text: string, extend: (config: Config) => void): Promise<ConfigUpdate | Failed> {
    const adding = this.#last.then(async () => {
      try {
        return await this.#add(text, extend);
      } catch (error) {
        return this.#failed(error, NOT_ADDED);
      }
    });
    this.#last = adding;
    return adding;
  }

  /**
   * Adds the new publishers of a WAN replication, given as JSON. They remain until the member ends,
   * or longer if it persists them. `extend` gets the configuration.
   */
  addWan(text: string, extend: (config: Config) => void): Promise<WanAddition | Failed> {
    const adding = this.#last.then(async () => {
      try {
        return await this.#addWan(text, extend);
      } catch (error) {
        return this.#failed(error, NOT_ADDED_WAN);
      }
    });
    this.#last = adding;
    return adding;
  }

  /**
   * Removes an added publisher permanently. Resolves with undefined on success. `extend` gets the
   * configuration.
   */
  removeWan(
    replication: string,
    publisherId: string,
    extend: (config: Config) => void,
  ): Promise<Failed | undefined> {
    const removing = this.#last.then(async () => {
      try {
        await this.#removeWan(replication, publisherId, extend);
        return undefined;
      } catch (error) {
        return this.#failed(error, NOT_REMOVED);
      }
    });
    this.#last = removing;
    return removing;
  }

  /**
   * Adds the record's texts; called before the member serves. From then on, texts that other
   * members add are also added here.
   */
  async restore(extend: (config: Config) => void): Promise<void> {
    const catchUp = (): Promise<unknown> => {
      this.#last = this.#last.then(() => this.#catchUp(extend));
      return this.#last;
    };
    if (this.#record.isShared) this.#record.onChange(() => void catchUp());
    await catchUp();
  }

  /** Adds those texts of the record that this member has not applied. */
  async #catchUp(extend: (config: Config) => void): Promise<void> {
    const { addedConfigs } = this.#record.values;
    const seen = new Map<string, number>();
    for (const added of addedConfigs) {
      const count = (seen.get(added.text) ?? 0) + 1;
      seen.set(added.text, count);
      if (count > (this.#appliedTexts.get(added.text) ?? 0)) await this.#addStored(added, extend);
    }
    this.#appliedTexts.clear();
    for (const [text, count] of seen) this.#appliedTexts.set(text, count);
  }

  async #addStored(
    { text, isWan, isReloaded }: AddedConfig,
    extend: (config: Config) => void,
  ): Promise<void> {
    try {
      if (isWan) {
        this.#config = addWanText(this.#config, text).config;
        return extend(this.#config);
      }
      const { config } = await addConfigText(this.#config, text, this.#readText);
      if (!isReloaded) await this.#apply(config);
      this.#config = isReloaded ? withNames(this.#config, config) : config;
      extend(this.#config);
    } catch (error) {
      this.#logFailure(error, isWan ? NOT_ADDED_WAN : NOT_ADDED);
    }
  }

  async #addWan(text: string, extend: (config: Config) => void): Promise<WanAddition> {
    const record = this.#record;
    // Other members would need the files that the text names, and the shared record is readable by
    // all.
    if (record.isShared) throw configFault('Cannot add a WAN replication: servers store the data');
    for (;;) {
      const { revision } = record;
      const addition = addWanText(this.#config, text);
      const { addedPublisherIds, ignoredPublisherIds } = addition;
      const isNew = addition.config.wanReplications.size > this.#config.wanReplications.size;
      if (addedPublisherIds.length === 0 && !isNew) return addition;
      const addedConfigs = withText(record.values.addedConfigs, text, true);
      const keeping = record.compareAndSet(revision, { addedConfigs });
      if (!(await keeping.catch(refuse))) continue;
      extend(addition.config);
      this.#config = addition.config;
      this.#log.info({ addedPublisherIds, ignoredPublisherIds }, 'WAN replication added');
      return addition;
    }
  }

  async #removeWan(
    replication: string,
    publisherId: string,
    extend: (config: Config) => void,
  ): Promise<void> {
    const hasIt = ({ wanReplications }: WanConfig): boolean =>
      wanReplications
        .get(replication)
        ?.publishers.some((each) => each.publisherId === publisherId) ?? false;
    // Another call may have removed it meanwhile.
    if (!hasIt(this.#config)) throw new GridError('WAN_UNKNOWN', { replication, publisherId });
    if (hasIt(this.#configuredWan)) {
      throw new GridError('WAN_CONFIGURED', { replication, publisherId });
    }
    const isConfigured = this.#configuredWan.wanReplications.has(replication);
    await this.#changeAdded((before) =>
      withoutAddedPublisher(before, replication, publisherId, isConfigured),
    );
    this.#config = withoutWanPublisher(this.#config, replication, publisherId);
    extend(this.#config);
    this.#log.info({ replication, publisherId }, 'WAN publisher removed');
  }

  async #add(text: string, extend: (config: Config) => void): Promise<ConfigUpdate> {
    const { update, storedText } = await this.#store(text, extend);
    try {
      await this.#apply(update.config);
    } catch (error) {
      if (storedText !== undefined)
        await this.#changeAdded((before) => withoutLast(before, storedText));
      throw error;
    }
    extend(update.config);
    this.#config = update.config;
    const { added, ignored } = update;
    this.#log.info(
      { ...shownNames('added', added), ...shownNames('ignored', ignored) },
      'configuration added',
    );
    return update;
  }

  /**
   * Adds the text to the record if it has anything new. Resolves with the result, relative to the
   * configuration with all earlier texts, and the stored text. Rejects with ConfigFault or
   * GridError CONFIG_NOT_KEPT.
   */
  async #store(
    text: string,
    extend: (config: Config) => void,
  ): Promise<{ readonly update: ConfigUpdate; readonly storedText?: string }> {
    const record = this.#record;
    for (;;) {
      const { revision } = record;
      if (record.isShared) await this.#catchUp(extend);
      const update = await addConfigText(this.#config, text, this.#readText);
      if (update.added.length === 0) return { update };
      // Passwords are hashed before other members and their store see them.
      const storedText = record.isShared ? await addedText(update, this.#hashPassword) : text;
      const addedConfigs = withText(record.values.addedConfigs, storedText);
      const keeping = record.compareAndSet(revision, { addedConfigs });
      if (!(await keeping.catch(refuse))) continue;
      this.#appliedTexts.set(storedText, (this.#appliedTexts.get(storedText) ?? 0) + 1);
      return { update, storedText };
    }
  }

  /** Changes the record's texts. Rejects with CONFIG_NOT_KEPT, or with the error of `change`. */
  async #changeAdded(
    change: (before: readonly AddedConfig[]) => readonly AddedConfig[],
  ): Promise<void> {
    await changeRecord(
      this.#record,
      ({ addedConfigs }) => ({ addedConfigs: change(addedConfigs) }),
      notKept,
    );
  }

  async #reload(): Promise<ReloadOutcome> {
    try {
      const { config: loaded, findings } = await this.#load();
      const fault = refusedFault(findings);
      if (fault !== undefined) throw fault;
      // Security cannot be turned on or off: users could then log in nowhere, or every login would
      // fail.
      const isSwitched = loaded.security.isEnabled !== this.#config.security.isEnabled;
      const config = isSwitched ? { ...loaded, security: this.#config.security } : loaded;
      await this.#apply(config);
      const { isShared, values } = this.#record;
      // A reload affects this member only; others, and members that join later, keep the added
      // texts.
      if (!isShared && values.addedConfigs.some(({ isReloaded }) => !isReloaded)) {
        await this.#changeAdded((before) => before.map((each) => ({ ...each, isReloaded: true })));
      }
      for (const warning of linesOf(findings, 'warning')) this.#log.warn(warning);
      return await this.#report(config, isSwitched);
    } catch (error) {
      return { applied: [], unapplied: [], faults: this.#logFailure(error, NOT_RELOADED) };
    }
  }

  #failed(error: unknown, what: Failure): Failed {
    const faults = this.#logFailure(error, what);
    const isAdditionError = error instanceof GridError && ADDITION_ERRORS.has(error.code);
    return isAdditionError ? { faults, refusal: error } : { faults };
  }

  /** Logs why nothing was changed, and returns the faults. */
  #logFailure(error: unknown, { logged, action }: Failure): readonly string[] {
    if (error instanceof ConfigFault) {
      this.#log.error({ problems: error.problems }, `${logged}: the configuration is wrong`);
      return error.problems;
    }
    if (error instanceof GridError) {
      this.#log.error({ code: error.code }, `${logged}: ${error.message}`);
      return [error.message];
    }
    this.#log.error({ err: error }, logged);
    return [`Cannot ${action}: see the log for the reason`];
  }

  /** Reports the changed settings, and those that need a restart. */
  async #report(config: Config, isSecuritySwitched: boolean): Promise<ReloadOutcome> {
    const before = this.#config;
    const { security } = config;
    const changed: SettingKey[] = [];
    for (const key of await changedKeys(SETTING_KEYS, before, config)) {
      if (!isFilled(key) || (await isChanged(before[key], config[key]))) changed.push(key);
    }
    const changedParts = await changedKeys(SECURITY_KEYS, before.security, security);
    // TLS cannot be turned on or off; only its files can change.
    const isTaken = (key: SettingKey): boolean =>
      isReloadable(key) && (config[key] === undefined) === (before[key] === undefined);
    const applied = changed.filter(isTaken);
    const unapplied = changed.filter((key) => !isTaken(key));
    const appliedValues = Object.fromEntries(applied.map((key) => [key, config[key]]));
    this.#config = { ...before, ...appliedValues, security, sources: config.sources };
    const outcome = {
      applied: [
        ...applied.map((key) => pathOf(key)),
        ...changedParts.map((part) => SECURITY_PATHS[part]),
      ],
      unapplied: [
        ...unapplied.map((key) => pathOf(key)),
        ...(isSecuritySwitched ? [SECURITY_PATHS.isEnabled] : []),
        ...(await changedKeys(WAN_KEYS, this.#configuredWan, config)).map((key) => WAN_PLACES[key]),
      ],
      faults: [],
    };
    if (outcome.unapplied.length > 0) {
      this.#log.warn({ settings: outcome.unapplied }, 'not changed: needs a restart');
    }
    this.#log.info({ changed: outcome.applied }, 'reloaded');
    return outcome;
  }
}

/**
 * Maximum length of the added texts, in characters. Each addition writes all of them again, and all
 * their names are in one table, which doubles in a single step.
 */
const ADDED_LENGTH_MAX = 2 * 1024 * 1024;
/** The log message of a failed call, and the action that failed. */
interface Failure {
  readonly logged: string;
  readonly action: string;
}

const NOT_RELOADED: Failure = { logged: 'not reloaded', action: 'reload' };
const NOT_ADDED: Failure = {
  logged: 'configuration not added',
  action: 'add to the configuration',
};
const NOT_ADDED_WAN: Failure = {
  logged: 'WAN replication not added',
  action: 'add the WAN replication',
};
const NOT_REMOVED: Failure = {
  logged: 'WAN publisher not removed',
  action: 'remove the WAN publisher',
};
/** Errors of an addition that are not caused by its text. */
const ADDITION_ERRORS: ReadonlySet<string> = new Set([
  'CONFIG_NOT_KEPT',
  'WAN_PUBLISHERS_MAX',
  'WAN_UNKNOWN',
  'WAN_CONFIGURED',
]);
const WAN_KEYS = Object.keys(WAN_PLACES) as (keyof WanConfig)[];
const SECURITY_KEYS = Object.keys(SECURITY_PATHS) as (keyof SecurityConfig)[];

async function readInThread(request: ConfigRequest): Promise<LoadedConfig> {
  return (await import('../config/reading-thread.ts')).loadInThread(request);
}

function notKept(reason: string, options: ErrorOptions): GridError {
  return new GridError('CONFIG_NOT_KEPT', { reason }, options);
}

/** Throws the error for a text that the record has rejected for this reason. */
function refuse(cause: unknown): never {
  throw notKept(reasonOf(cause), { cause });
}

function withText(
  before: readonly AddedConfig[],
  text: string,
  isWan = false,
): readonly AddedConfig[] {
  const length = before.reduce((sum, each) => sum + each.text.length, text.length);
  const added: AddedConfig = { text, ...(isWan ? { isWan } : {}), isReloaded: false };
  if (length <= ADDED_LENGTH_MAX) return [...before, added];
  throw configFault(
    `Cannot add to the configuration: with this text, the added texts would have more than ${ADDED_LENGTH_MAX} characters`,
  );
}

/** Returns the texts without the last one that equals `text`. */
function withoutLast(before: readonly AddedConfig[], text: string): readonly AddedConfig[] {
  const last = before.map((each) => each.text).lastIndexOf(text);
  return before.filter((_, at) => at !== last);
}

/** Returns whether the setting is 0 for a configured map or queue that omits it. */
function isFilled(key: SettingKey): key is FilledKey {
  return FILLED.has(key);
}

type FilledKey = 'mapTimeToLiveSeconds' | 'mapMaxIdleSeconds' | 'queueMaxSizes';
const FILLED: ReadonlySet<SettingKey> = new Set<FilledKey>([
  'mapTimeToLiveSeconds',
  'mapMaxIdleSeconds',
  'queueMaxSizes',
]);

/** Maximum number of pattern comparisons; beyond it a setting counts as changed. */
const PATTERNS_COMPARED_MAX = 1_000_000;

/** Returns whether the setting has another effect for any name. 0 equals no configuration. */
async function isChanged(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): Promise<boolean> {
  const slices = new Slices();
  const ruleBefore = byName(before);
  const ruleAfter = byName(after);
  const patternCount = [before, after].flatMap((names) =>
    [...names.keys()].filter(isPattern),
  ).length;
  let compared = 0;
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const pause = slices.pause();
    if (pause !== undefined) await pause;
    if (before.get(name) === after.get(name)) continue;
    compared += 1 + patternCount;
    const bytes = Buffer.from(name);
    const isSame = (ruleBefore(bytes) ?? 0) === (ruleAfter(bytes) ?? 0);
    if (!isSame || compared > PATTERNS_COMPARED_MAX) return true;
  }
  return false;
}

/**
 * Removes the publisher from each added text that has it. A text that then adds nothing is dropped,
 * unless it is the first one that names the replication, as later texts may refer to that.
 * `isConfigured`: whether the replication is in the configuration itself.
 */
function withoutAddedPublisher(
  texts: readonly AddedConfig[],
  replication: string,
  publisherId: string,
  isConfigured: boolean,
): AddedConfig[] {
  let isNamed = isConfigured;
  return texts.flatMap((added) => {
    if (added.isWan !== true) return [added];
    const text = withoutPublisher(added.text, replication, publisherId);
    const { name, isEmpty } = replicationIn(text);
    if (name !== replication) return [added];
    if (isEmpty && isNamed) return [];
    isNamed = true;
    return [{ ...added, text }];
  });
}

async function changedKeys<Key extends string>(
  keys: readonly Key[],
  before: Readonly<Record<Key, unknown>>,
  after: Readonly<Record<Key, unknown>>,
): Promise<Key[]> {
  const changed: Key[] = [];
  for (const key of keys) {
    if (!(await isDeepEqualInSlices(before[key], after[key]))) changed.push(key);
  }
  return changed;
}
