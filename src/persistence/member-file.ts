/**
 * What belongs to the member and outlives it, in the checked file `member`: small, and written anew at
 * each change. Fields that this version does not know stay as they are.
 */
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

export class MemberFile {
  readonly #storage: Storage;
  #record: MemberRecord = {};
  /** Changes are written one after the other. */
  #last: Promise<void> = Promise.resolve();

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  get record(): MemberRecord {
    return this.#record;
  }

  /** Reads what is there, if anything. Rejects as readCheckedFile does. */
  async load(): Promise<void> {
    const names = await this.#storage.list();
    if (!names.includes(MEMBER)) return;
    this.#record = (await readCheckedFile(this.#storage, MEMBER)) as MemberRecord;
  }

  /** Resolves once the change would be there after a crash; otherwise the old values count. */
  save(change: MemberRecord): Promise<void> {
    const saving = this.#last.then(async () => {
      const record = { ...this.#record, ...change };
      await writeCheckedFile(this.#storage, MEMBER, record);
      this.#record = record;
    });
    this.#last = saving.catch(() => {});
    return saving;
  }
}
