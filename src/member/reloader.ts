/**
 * The configuration in force: what a reload, an added text, an added or removed WAN publisher, or
 * another member's addition makes of it. Settings that may change at run time are applied; changes
 * of others are logged by name. An invalid configuration changes nothing. Changes are made one
 * after the other.
 */

import type { ReloadOutcome } from '../administration/configuration-actions.ts';
import { GridError, OutcomeUnknown, reasonOf } from '../base/errors.ts';
import { SerialQueue } from '../base/serial-queue.ts';
import { isDeepEqualInSlices, Slices } from '../base/slices.ts';
import {
  type AddedConfig,
  changeRecord,
  type SharedRecord,
  type SharedValues,
} from '../cluster/shared-record.ts';
import { ConfigFault, configFault, linesOf } from '../config/finding.ts';
import { byName, isPattern } from '../config/name-lookup.ts';
import { pathOf } from '../config/setting.ts';
import type { SecurityConfig } from '../security/security-config.ts';
import { SECURITY_PATHS } from '../security/security-settings.ts';
import type { RefusedConfig } from '../surface/administrative-call.ts';
import type { Log } from '../telemetry/log.ts';
import { WAN_PLACES, type WanConfig } from '../wan/wan-config.ts';
import {
  addWanText,
  replicationIn,
  type WanAddition,
  withoutPublisher,
  withoutWanPublisher,
} from '../wan/wan-json.ts';
import type { Config } from './config.ts';
import { type ConfigRequest, type LoadedConfig, refusedFault } from './load.ts';
import { isFilled, isReloadable, SETTING_KEYS, SETTINGS, type SettingKey } from './settings.ts';
import {
  addConfigText,
  addedText,
  type ConfigUpdate,
  type HashPassword,
  shownNames,
  withNames,
} from './update.ts';

/**
 * Prepares a change of the configuration in all parts of the member. Rejects, before any change,
 * with GridError. `rereads`: files that the settings name are read again. The returned function
 * makes the change.
 */
type PrepareChange = (config: Config, rereads: boolean) => Promise<() => void>;

interface ReloaderParts {
  readonly change: PrepareChange;
  readonly log: Log;
  /** Reads the sources of the configuration again. */
  readonly load: () => Promise<LoadedConfig>;
  /** Stores the texts added to the configuration. */
  readonly record: SharedRecord;
  readonly hashPassword: HashPassword;
  /**
   * Drops what waits on the servers for WAN publishers that the configuration does not have. Called
   * when no member marks changes for them. Never rejects.
   */
  readonly dropRemoved?: () => Promise<void>;
  /** Reads an added text; by default on a thread, as clients are served meanwhile. */
  readonly readText?: (request: ConfigRequest) => Promise<LoadedConfig>;
}

export class Reloader {
  readonly #change: PrepareChange;
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
  /** The record's WAN replications that this member has applied. */
  #appliedWan: readonly string[] = [];
  readonly #dropRemoved: () => Promise<void>;
  readonly #hashPassword: HashPassword;
  readonly #queue = new SerialQueue();

  constructor(config: Config, parts: ReloaderParts) {
    this.#config = config;
    this.#configuredWan = config;
    this.#record = parts.record;
    this.#change = parts.change;
    this.#log = parts.log;
    this.#load = parts.load;
    this.#readText = parts.readText ?? readInThread;
    this.#hashPassword = parts.hashPassword;
    this.#dropRemoved = parts.dropRemoved ?? (async () => {});
  }

  reload(): Promise<ReloadOutcome> {
    return this.#queue.run(() => this.#reload());
  }

  /**
   * Adds the new items of a configuration text. They remain until the next reload; added maps and
   * queues remain until the member ends, or longer if it persists them. If the text has references,
   * resolves once every member acts on them.
   */
  async add(text: string): Promise<ConfigUpdate | RefusedConfig> {
    const update = await this.#inTurn(() => this.#add(text), NOT_ADDED);
    if ('faults' in update || !update.hasReferences) return update;
    return (await this.#unconfirmed(NOT_ADDED)) ?? update;
  }

  /**
   * Adds the new publishers of a WAN replication, given as JSON. They remain until the member ends,
   * or longer if it persists them. Resolves once every member acts on that.
   */
  async addWan(text: string): Promise<WanAddition<Config> | RefusedConfig> {
    const addition = await this.#inTurn(() => this.#addWan(text), NOT_ADDED_WAN);
    if ('faults' in addition) return addition;
    return (await this.#unconfirmed(NOT_ADDED_WAN)) ?? addition;
  }

  /** Removes an added publisher permanently. Resolves with undefined on success, as `addWan` does. */
  async removeWan(replication: string, publisherId: string): Promise<RefusedConfig | undefined> {
    const work = () => this.#removeWan(replication, publisherId);
    const refused =
      (await this.#inTurn(work, NOT_REMOVED)) ?? (await this.#unconfirmed(NOT_REMOVED));
    if (refused === undefined) await this.#dropInTurn();
    else if (refused.refusal?.code === 'CONFIG_UNCONFIRMED') void this.#dropLater();
    return refused;
  }

  /**
   * Adds the record's texts; called before the member serves. From then on, texts that other
   * members add are also added here. `isFirst`: no other member runs. Rejects with GridError
   * CONFIG_NOT_APPLIED if this member cannot act on what other members do.
   */
  async restore(isFirst = false): Promise<void> {
    const catchUp = () => this.#queue.run(() => this.#catchUp());
    if (this.#record.isShared) this.#record.onChange(catchUp);
    const isApplied = await catchUp();
    if (!isApplied && this.#record.isShared) throw new GridError('CONFIG_NOT_APPLIED', {});
    if (isFirst) void this.#dropInTurn();
  }

  /** Resolves with the refusal if not every member acts on the configuration. */
  async #unconfirmed(failure: Failure): Promise<RefusedConfig | undefined> {
    if (await this.#record.allApplied()) return undefined;
    const cause = new OutcomeUnknown(new Error('not every member acts on it'));
    const members = this.#record.unapplied.slice(0, SHOWN_MAX).join(', ') || 'unknown members';
    return this.#failed(new GridError('CONFIG_UNCONFIRMED', { members }, { cause }), failure);
  }

  /** No publisher is added meanwhile: this member acts on no change while its queue waits. */
  async #dropInTurn(): Promise<void> {
    await this.#queue.run(this.#dropRemoved);
  }

  async #dropLater(): Promise<void> {
    for (let tries = 0; tries < DROP_TRIES; tries++) {
      if (await this.#record.allApplied()) return await this.#dropInTurn();
    }
  }

  /** Does the work after all earlier work. Resolves with the reason if it rejects. */
  #inTurn<Result>(work: () => Promise<Result>, failure: Failure): Promise<Result | RefusedConfig> {
    return this.#queue.run(work).catch((error) => this.#failed(error, failure));
  }

  /**
   * Puts the record's WAN replications into force, and adds those texts of the record that this
   * member has not applied. Resolves with whether the member marks the same changes as others.
   */
  async #catchUp(): Promise<boolean> {
    const { addedConfigs } = this.#record.values;
    let isApplied = await this.#applyWan(addedConfigs);
    const seen = new Map<string, number>();
    for (const added of addedConfigs) {
      if (added.isWan) continue;
      const count = (seen.get(added.text) ?? 0) + 1;
      if (count > (this.#appliedTexts.get(added.text) ?? 0)) {
        const isAdded = await this.#addStored(added);
        const isNeeded = added.text.includes(REFERENCE);
        isApplied &&= isAdded || !isNeeded;
        // A text with references is tried again after the next change of the record.
        if (!isAdded && isNeeded) continue;
      }
      seen.set(added.text, count);
    }
    this.#appliedTexts.clear();
    for (const [text, count] of seen) this.#appliedTexts.set(text, count);
    return isApplied;
  }

  async #applyWan(added: readonly AddedConfig[]): Promise<boolean> {
    const texts = added.filter(({ isWan }) => isWan).map(({ text }) => text);
    const { length } = texts;
    const isKnown = (text: string, at: number): boolean => text === this.#appliedWan[at];
    if (length === this.#appliedWan.length && texts.every(isKnown)) return true;
    let config = { ...this.#config, wanReplications: this.#configuredWan.wanReplications };
    let isApplied = true;
    for (const text of texts) {
      try {
        config = addWanText(config, text).config;
      } catch (error) {
        this.#logFailure(error, NOT_ADDED_WAN);
        isApplied = false;
      }
    }
    try {
      await this.#put(config, false);
      if (isApplied) this.#appliedWan = texts;
      return isApplied;
    } catch (error) {
      this.#logFailure(error, NOT_ADDED_WAN);
      return false;
    }
  }

  /** Resolves with whether the text was added. */
  async #addStored({ text, isReloaded }: AddedConfig): Promise<boolean> {
    const { isShared } = this.#record;
    try {
      const { config } = await addConfigText(this.#config, text, this.#readText, isShared);
      await this.#put(isReloaded ? withNames(this.#config, config) : config, !isReloaded);
      return true;
    } catch (error) {
      this.#logFailure(error, NOT_ADDED);
      return false;
    }
  }

  async #addWan(text: string): Promise<WanAddition<Config>> {
    const record = this.#record;
    for (;;) {
      const { revision } = record;
      if (record.isShared) await this.#catchUp();
      const addition = addWanText(this.#config, text);
      const { config, addedPublisherIds, ignoredPublisherIds } = addition;
      const isNew = config.wanReplications.size > this.#config.wanReplications.size;
      if (addedPublisherIds.length === 0 && !isNew) {
        if (await this.#isCurrent(revision)) return addition;
        continue;
      }
      const keep = () => this.#keep(revision, text, true);
      if (!(await this.#put(config, false, keep))) continue;
      this.#log.info({ addedPublisherIds, ignoredPublisherIds }, 'WAN replication added');
      return addition;
    }
  }

  async #removeWan(replication: string, publisherId: string): Promise<undefined> {
    if (this.#record.isShared) await this.#catchUp();
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
    const config = withoutWanPublisher(this.#config, replication, publisherId);
    await this.#put(config, false, () =>
      this.#changeAdded((before) =>
        withoutAddedPublisher(before, replication, publisherId, isConfigured),
      ),
    );
    this.#log.info({ replication, publisherId }, 'WAN publisher removed');
  }

  /**
   * Puts the configuration into force once `keep` resolves, or does nothing if it resolves with
   * false. Resolves with whether it did.
   */
  async #put(
    config: Config,
    rereads: boolean,
    keep: () => Promise<unknown> = async () => {},
  ): Promise<boolean> {
    const change = await this.#change(config, rereads);
    if ((await keep()) === false) return false;
    change();
    this.#config = config;
    return true;
  }

  async #add(text: string): Promise<ConfigUpdate> {
    const record = this.#record;
    for (;;) {
      const { revision } = record;
      if (record.isShared) await this.#catchUp();
      const update = await addConfigText(this.#config, text, this.#readText);
      const { added, ignored } = update;
      const keep = async (): Promise<boolean> => {
        if (added.length === 0) return !update.hasReferences || (await this.#isCurrent(revision));
        // Passwords are hashed before other members and their store see them.
        const storedText = record.isShared ? await addedText(update, this.#hashPassword) : text;
        if (!(await this.#keep(revision, storedText))) return false;
        this.#appliedTexts.set(storedText, (this.#appliedTexts.get(storedText) ?? 0) + 1);
        return true;
      };
      if (!(await this.#put(update.config, true, keep))) continue;
      this.#log.info(
        { ...shownNames('added', added), ...shownNames('ignored', ignored) },
        'configuration added',
      );
      return update;
    }
  }

  /**
   * Adds a text to the record. Resolves with false if the record has another revision. Rejects with
   * ConfigFault or GridError CONFIG_NOT_KEPT.
   */
  async #keep(revision: number, text: string, isWan = false): Promise<boolean> {
    const addedConfigs = withText(this.#record.values.addedConfigs, text, isWan);
    return await this.#setRecord(revision, { addedConfigs });
  }

  /**
   * Resolves with whether the record still has the revision: another member may have removed what a
   * call would add. Rejects as `#keep` does.
   */
  async #isCurrent(revision: number): Promise<boolean> {
    return !this.#record.isShared || (await this.#setRecord(revision, {}));
  }

  async #setRecord(revision: number, change: Partial<SharedValues>): Promise<boolean> {
    try {
      return await this.#record.compareAndSet(revision, change);
    } catch (cause) {
      throw notKept(reasonOf(cause), { cause });
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
      const { config, outcome } = await this.#reloaded(loaded);
      const { isShared, values } = this.#record;
      await this.#put(config, true, async () => {
        // A reload affects this member only; others, and members that join later, keep the added
        // texts.
        if (isShared || values.addedConfigs.every(({ isReloaded }) => isReloaded)) return;
        await this.#changeAdded((before) => before.map((each) => ({ ...each, isReloaded: true })));
      });
      for (const warning of linesOf(findings, 'warning')) this.#log.warn(warning);
      if (outcome.unapplied.length > 0) {
        this.#log.warn({ settings: outcome.unapplied }, 'not changed: needs a restart');
      }
      this.#log.info({ changed: outcome.applied }, 'reloaded');
      return outcome;
    } catch (error) {
      return { applied: [], unapplied: [], faults: this.#logFailure(error, NOT_RELOADED) };
    }
  }

  #failed(error: unknown, what: Failure): RefusedConfig {
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

  /**
   * Returns the configuration in force with the changes of the loaded one that may be made at run
   * time, and which these are.
   */
  async #reloaded(
    loaded: Config,
  ): Promise<{ readonly config: Config; readonly outcome: ReloadOutcome }> {
    const before = this.#config;
    const changed: SettingKey[] = [];
    for (const key of await changedKeys(SETTING_KEYS, before, loaded)) {
      if (!isFilled(key) || (await isChanged(before[key], loaded[key]))) changed.push(key);
    }
    // Security cannot be turned on or off: users could then log in nowhere, or every login would
    // fail.
    const isSwitched = loaded.security.isEnabled !== before.security.isEnabled;
    const security = isSwitched ? before.security : loaded.security;
    const changedParts = await changedKeys(SECURITY_KEYS, before.security, security);
    // TLS cannot be turned on or off; only its files can change.
    const isTaken = (key: SettingKey): boolean =>
      isReloadable(key) && (loaded[key] === undefined) === (before[key] === undefined);
    const applied = changed.filter(isTaken);
    const unapplied = changed.filter((key) => !isTaken(key));
    const appliedValues = Object.fromEntries(applied.map((key) => [key, loaded[key]]));
    const outcome = {
      applied: [
        ...applied.map((key) => pathOf(SETTINGS[key])),
        ...changedParts.map((part) => SECURITY_PATHS[part]),
      ],
      unapplied: [
        ...unapplied.map((key) => pathOf(SETTINGS[key])),
        ...(isSwitched ? [SECURITY_PATHS.isEnabled] : []),
        ...(await changedKeys(WAN_KEYS, this.#configuredWan, loaded)).map((key) => WAN_PLACES[key]),
      ],
      faults: [],
    };
    return { config: { ...before, ...appliedValues, security, sources: loaded.sources }, outcome };
  }
}

/**
 * Maximum length of the added texts, in characters. Each addition writes all of them again, and all
 * their names are in one table, which doubles in a single step.
 */
const ADDED_LENGTH_MAX = 2 * 1024 * 1024;
/** The name of a map's reference in every added text of other members, which is JSON. */
const REFERENCE = '"wan-replication-ref"';
/** Maximum number of members that an error names. */
const SHOWN_MAX = 10;
/** Number of times that all members are waited for to act on a removal. */
const DROP_TRIES = 100;

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
  'CONFIG_UNCONFIRMED',
  'WAN_PUBLISHERS_MAX',
  'WAN_UNKNOWN',
  'WAN_CONFIGURED',
]);
const WAN_KEYS = Object.keys(WAN_PLACES) as (keyof WanConfig)[];
const SECURITY_KEYS = Object.keys(SECURITY_PATHS) as (keyof SecurityConfig)[];

async function readInThread(request: ConfigRequest): Promise<LoadedConfig> {
  return (await import('./reading-thread.ts')).loadInThread(request);
}

function notKept(reason: string, options: ErrorOptions): GridError {
  return new GridError('CONFIG_NOT_KEPT', { reason }, options);
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
