/**
 * What belongs to the member and outlives it, in the checked file `member`: small, and written anew at
 * each change. Fields that this version does not know stay as they are.
 */
import { InTurn } from '../base/in-turn.ts';
import { readCheckedFile, writeCheckedFile } from './checked-file.ts';
import { DamagedData } from './damage.ts';
import type { Storage } from './storage.ts';

export const MEMBER = 'member';

export interface MemberRecord {
  /** Kept through restarts. */
  readonly uuid?: string;
  /** The last state that the cluster was changed to. */
  readonly clusterState?: string;
  readonly clusterVersion?: string;
  /** SHA-256 of the license key, in hexadecimal digits. */
  readonly licenseKeyHash?: string;
  /** What was added to the configuration, in order. */
  readonly addedConfigs?: readonly AddedConfig[];
}

export interface AddedConfig {
  readonly text: string;
  /** Whether the configuration was read again since, so that only maps and queues of it count. */
  readonly isReloaded: boolean;
}

/** Undefined where there is none that could be read. Rejects with GridError DATA_FORMAT_NEWER. */
export async function readMember(storage: Storage): Promise<MemberRecord | undefined> {
  if (!(await storage.list()).includes(MEMBER)) return undefined;
  try {
    return (await readCheckedFile(storage, MEMBER)) as MemberRecord;
  } catch (error) {
    if (error instanceof DamagedData) return undefined;
    throw error;
  }
}

/** What a directory has lost whose file is damaged or gone. */
export const LOST_MEMBER =
  "the cluster's state and version, the license and what was added to the configuration are lost; " +
  'the defaults stand in for them';

export class MemberFile {
  readonly #storage: Storage;
  /** Notes in the manifest that the file is there. */
  readonly #onMade: () => Promise<void>;
  /** Whether there is a file. */
  isThere = false;
  /** Whether the manifest says so. */
  #isNoted = false;
  #record: MemberRecord = {};
  readonly #changes = new InTurn();

  constructor(storage: Storage, onMade: () => Promise<void> = async () => {}) {
    this.#storage = storage;
    this.#onMade = onMade;
  }

  get record(): MemberRecord {
    return this.#record;
  }

  /** Reads what is there. Rejects as readCheckedFile does, and where nothing is and `isExpected`. */
  async load(isExpected = false): Promise<void> {
    const names = await this.#storage.list();
    this.isThere = names.includes(MEMBER);
    if (!this.isThere && isExpected) {
      throw new DamagedData(this.#storage, MEMBER, 0, 'is missing: it was there, and ends');
    }
    this.#isNoted = isExpected;
    if (!this.isThere) return;
    this.#record = (await readCheckedFile(this.#storage, MEMBER)) as MemberRecord;
  }

  /** Resolves once the change would be there after a crash; otherwise the old values count. */
  save(change: MemberRecord): Promise<void> {
    return this.#changes.run(async () => {
      const record = { ...this.#record, ...change };
      await writeCheckedFile(this.#storage, MEMBER, record);
      this.#record = record;
      this.isThere = true;
      if (this.#isNoted) return;
      // Where that fails the change stands all the same, and the next one tries again.
      this.#isNoted = await this.#onMade().then(
        () => true,
        () => false,
      );
    });
  }
}
