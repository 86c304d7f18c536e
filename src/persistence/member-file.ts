/**
 * The checked file `member` has the values of a member that outlive it. It is small, and written anew at
 * each change. Fields that this version does not know stay in it.
 */
import { InTurn } from '../base/in-turn.ts';
import type { AddedConfig } from '../cluster/shared-record.ts';
import { readCheckedFile, writeCheckedFile } from './checked-file.ts';
import { DamagedData } from './damage.ts';
import type { Storage } from './storage.ts';

export const MEMBER = 'member';

export interface MemberValues {
  /** Kept through restarts. */
  readonly uuid?: string;
  /** The last state that the cluster was changed to. */
  readonly clusterState?: string;
  readonly clusterVersion?: string;
  /** SHA-256 of the license key, in hexadecimal digits. */
  readonly licenseKeyHash?: string;
  /** The additions to the configuration, in order. */
  readonly addedConfigs?: readonly AddedConfig[];
}

/** Undefined where there is no readable file. Rejects as checkFormat throws. */
export async function readMember(storage: Storage): Promise<MemberValues | undefined> {
  if (!(await storage.list()).includes(MEMBER)) return undefined;
  try {
    return (await readCheckedFile(storage, MEMBER)) as MemberValues;
  } catch (error) {
    if (error instanceof DamagedData) return undefined;
    throw error;
  }
}

/** The loss where the file is damaged or missing, as a part of messages. */
export const LOST_MEMBER =
  "the cluster's state and version, the license and the additions to the configuration are lost; " +
  'the defaults apply';

export class MemberFile {
  readonly #storage: Storage;
  /** Notes in the manifest that there is a file. */
  readonly #onMade: () => Promise<void>;
  /** Whether there is a file. */
  isThere = false;
  /** Whether the manifest notes it. */
  #isNoted = false;
  #values: MemberValues = {};
  readonly #changes = new InTurn();

  constructor(storage: Storage, onMade: () => Promise<void> = async () => {}) {
    this.#storage = storage;
    this.#onMade = onMade;
  }

  get values(): MemberValues {
    return this.#values;
  }

  /** Reads the file, if any. Rejects as readCheckedFile does, and where an expected file is missing. */
  async load(isExpected = false): Promise<void> {
    const names = await this.#storage.list();
    this.isThere = names.includes(MEMBER);
    if (!this.isThere && isExpected) {
      throw new DamagedData(
        this.#storage,
        MEMBER,
        0,
        'is missing, although there was one: reading ends',
      );
    }
    this.#isNoted = isExpected;
    if (!this.isThere) return;
    this.#values = (await readCheckedFile(this.#storage, MEMBER)) as MemberValues;
  }

  /** Resolves once the change is durable; where it rejects, the old values count. */
  save(change: MemberValues): Promise<void> {
    return this.#changes.run(async () => {
      const values = { ...this.#values, ...change };
      await writeCheckedFile(this.#storage, MEMBER, values);
      this.#values = values;
      this.isThere = true;
      if (this.#isNoted) return;
      // The change counts even if the note fails; the next change notes it then.
      this.#isNoted = await this.#onMade().then(
        () => true,
        () => false,
      );
    });
  }
}
