/**
 * The record that the members of a cluster share. Its values outlive the members and are changed by
 * compare-and-set, so that neither of two concurrent changes overwrites the other. LocalRecord is
 * the record of a single member, which a store persists; StoredRecord is that of several members.
 */
import { type GridError, reasonOf } from '../base/errors.ts';
import { SerialQueue } from '../base/serial-queue.ts';
import type { SettledState } from './cluster.ts';
import type { SharedTask } from './shared-task.ts';

export interface SharedValues {
  readonly state: SettledState;
  /** `major.minor`. */
  readonly version: string;
  /** SHA-256 of the license key as hexadecimal digits; undefined until a key is set. */
  readonly licenseKeyHash: string | undefined;
  /** Texts added to the configuration, in order. */
  readonly addedConfigs: readonly AddedConfig[];
  /**
   * Member list of the TCP-IP join; undefined until it is changed: then the configured list
   * applies.
   */
  readonly tcpIpMembers: readonly string[] | undefined;
  /**
   * Uuid of the data set of several members, by which WAN replication knows it; undefined until a
   * member needs it. That of a single member is its own uuid.
   */
  readonly dataSetId?: string | undefined;
  /** The epoch in which these members send the changes of the data set (../wan/message-format.ts). */
  readonly wanEpoch?: number | undefined;
  /** The synchronisations and checks of these members, oldest first. */
  readonly wanTasks?: readonly SharedTask[] | undefined;
  /** Number of walks over partitions that synchronisations have begun in the epoch or before. */
  readonly wanWalks?: number | undefined;
}

export interface AddedConfig {
  /** A configuration; with `isWan`, the JSON of a WAN replication. */
  readonly text: string;
  readonly isWan?: true;
  /**
   * Whether the configuration was reloaded since: then only the maps, the queues and the WAN
   * replication of the text apply.
   */
  readonly isReloaded: boolean;
}

export interface SharedRecord {
  readonly values: SharedValues;
  /** A number that differs after each change of the values. */
  readonly revision: number;
  /** Whether other members also change the record. */
  readonly isShared: boolean;
  /**
   * Makes the change if the record still has the revision. Resolves, once the change would survive
   * a crash, with whether it was made. Rejects with the store's error; the values then remain, and
   * after an OutcomeUnknown the next start determines them.
   */
  compareAndSet(revision: number, change: Partial<SharedValues>): Promise<boolean>;
  /**
   * Registers a listener that is called after each change of the values, by any member. The member
   * acts on the values once the promises of all listeners resolve with true.
   */
  onChange(listener: RecordListener): void;
  /**
   * Resolves with whether every member of the cluster has read the current values; with false if that
   * is not known after the time in which a silent member is removed.
   */
  allConfirmed(): Promise<boolean>;
  /** Resolves with whether every member acts on the current values, as allConfirmed does. */
  allApplied(): Promise<boolean>;
  /** Addresses of the members that are not known to act on the current values. */
  readonly unapplied: readonly string[];
}

export type RecordListener = (values: SharedValues) => Promise<boolean> | undefined;

/** Makes the error for a change that the record has rejected for this reason. */
type Refuse = (reason: string, options: ErrorOptions) => GridError;

/**
 * Applies the change that `changeOf` returns for the current values, if any, and repeats this as often
 * as others change the values meanwhile. Rejects with the error of `refuse` if the record rejects, and
 * with an error that `changeOf` throws.
 */
export async function changeRecord(
  record: SharedRecord,
  changeOf: (values: SharedValues) => Partial<SharedValues> | undefined,
  refuse: Refuse,
): Promise<void> {
  for (let isMade = false; !isMade; ) {
    const { revision } = record;
    const change = changeOf(record.values);
    if (change === undefined) return;
    const making = record.compareAndSet(revision, change);
    isMade = await making.catch((cause: unknown) => {
      throw refuse(reasonOf(cause), { cause });
    });
  }
}

/** Resolves once the values would survive a crash, except the list of the TCP-IP join. */
type SaveValues = (values: SharedValues) => Promise<void>;

export class LocalRecord implements SharedRecord {
  readonly isShared = false;
  readonly unapplied = [];
  #values: SharedValues;
  #revision = 0;
  readonly #save: SaveValues;
  readonly #changes = new SerialQueue();
  readonly #listeners: RecordListener[] = [];

  /** `version` is that of the cluster. Without `save`, each start begins with these values. */
  constructor(version: string, save: SaveValues = () => Promise.resolve()) {
    this.#values = {
      state: 'ACTIVE',
      version,
      licenseKeyHash: undefined,
      addedConfigs: [],
      tcpIpMembers: undefined,
    };
    this.#save = save;
  }

  get values(): SharedValues {
    return this.#values;
  }

  get revision(): number {
    return this.#revision;
  }

  compareAndSet(revision: number, change: Partial<SharedValues>): Promise<boolean> {
    return this.#changes.run(async () => {
      if (revision !== this.#revision) return false;
      const values = { ...this.#values, ...change };
      if (isSaved(change)) await this.#save(values);
      this.#settle(values);
      return true;
    });
  }

  /** Sets the values that a store has persisted; called before the first change. */
  restore(stored: Partial<SharedValues>): void {
    this.#settle({ ...this.#values, ...stored });
  }

  onChange(listener: RecordListener): void {
    this.#listeners.push(listener);
  }

  async allConfirmed(): Promise<boolean> {
    return true;
  }

  async allApplied(): Promise<boolean> {
    return true;
  }

  #settle(values: SharedValues): void {
    this.#values = values;
    this.#revision++;
    for (const listener of this.#listeners) void listener(values);
  }
}

/** The list of the TCP-IP join has no effect, so it lasts only as long as the process. */
function isSaved(change: Partial<SharedValues>): boolean {
  return Object.keys(change).some((name) => name !== 'tcpIpMembers');
}
