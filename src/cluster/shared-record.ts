/**
 * The record that the members of a cluster share: its values outlive the members and are changed by
 * compare-and-set, so that of two changes at once each sees the other's. LocalRecord is the record of a
 * single member, which a store keeps; StoredRecord that of several.
 */
import { type GridError, reasonOf } from '../base/errors.ts';
import { InTurn } from '../base/in-turn.ts';
import type { SettledState } from './cluster.ts';

export interface SharedValues {
  readonly state: SettledState;
  /** `major.minor`. */
  readonly version: string;
  /** SHA-256 of the license key, in hexadecimal digits; undefined until one is set. */
  readonly licenseKeyHash: string | undefined;
  /** The additions to the configuration, in order. */
  readonly addedConfigs: readonly AddedConfig[];
  /** The list of the TCP-IP join; undefined until it is changed: then the configured one counts. */
  readonly tcpIpMembers: readonly string[] | undefined;
}

export interface AddedConfig {
  /** A configuration, or with `isWan` the JSON of a WAN replication. */
  readonly text: string;
  readonly isWan?: true;
  /**
   * Whether the configuration was reloaded since: then only the maps and queues of the text count, and
   * its WAN replication.
   */
  readonly isReloaded: boolean;
}

export interface SharedRecord {
  readonly values: SharedValues;
  /** Another one after each change of the values. */
  readonly revision: number;
  /** Whether other members change it, too. */
  readonly isShared: boolean;
  /**
   * Makes the change where the record still has the revision. Resolves with whether it had, once the
   * change would survive a crash. Rejects with the store's error; the values then stay, and after an
   * OutcomeUnknown the next start decides.
   */
  compareAndSet(revision: number, change: Partial<SharedValues>): Promise<boolean>;
  /** Calls each listener after each change of the values, by any member. */
  onChange(listener: (values: SharedValues) => void): void;
}

/** Makes the error of a change that the record has rejected for that reason. */
type Refuse = (reason: string, options: ErrorOptions) => GridError;

/**
 * Changes the values by what `changeOf` makes of the present ones, however often others change them
 * meanwhile. Rejects with the error of `refuse` where the record rejects, and as `changeOf` throws.
 */
export async function changeRecord(
  record: SharedRecord,
  changeOf: (values: SharedValues) => Partial<SharedValues>,
  refuse: Refuse,
): Promise<void> {
  for (let isMade = false; !isMade; ) {
    const making = record.compareAndSet(record.revision, changeOf(record.values));
    isMade = await making.catch((cause: unknown) => {
      throw refuse(reasonOf(cause), { cause });
    });
  }
}

/** Resolves once the values would survive a crash, but for the list of the TCP-IP join. */
type SaveValues = (values: SharedValues) => Promise<void>;

export class LocalRecord implements SharedRecord {
  readonly isShared = false;
  #values: SharedValues;
  #revision = 0;
  readonly #save: SaveValues;
  readonly #changes = new InTurn();
  readonly #listeners: ((values: SharedValues) => void)[] = [];

  /** `version`: that of the cluster. Where nothing saves the values, each start has these. */
  constructor(version: string, save: SaveValues = () => Promise.resolve()) {
    this.#values = {
      ...{ state: 'ACTIVE', version, licenseKeyHash: undefined, addedConfigs: [] },
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

  /** Takes the values that a store has kept; called before the first change. */
  restore(kept: Partial<SharedValues>): void {
    this.#settle({ ...this.#values, ...kept });
  }

  onChange(listener: (values: SharedValues) => void): void {
    this.#listeners.push(listener);
  }

  #settle(values: SharedValues): void {
    this.#values = values;
    this.#revision++;
    for (const listener of this.#listeners) listener(values);
  }
}

/** The list of the TCP-IP join stays as long as the process, as it does nothing. */
function isSaved(change: Partial<SharedValues>): boolean {
  return Object.keys(change).some((name) => name !== 'tcpIpMembers');
}
