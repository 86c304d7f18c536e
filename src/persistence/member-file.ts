/**
 * The checked file `member` contains the values of a member that survive restarts. It is small and
 * is rewritten at each change. Unknown fields are preserved. Tested by log-end.spec.ts.
 */
import { SerialQueue } from '../base/serial-queue.ts';
import type { AddedConfig } from '../cluster/shared-record.ts';
import { readCheckedFile, writeCheckedFile } from './checked-file.ts';
import { DamagedData } from './damage.ts';
import type { Storage } from './storage.ts';

export const MEMBER = 'member';

export interface MemberValues {
  /** The UUID of the member. */
  readonly uuid?: string;
  /** The last state to which the cluster was changed. */
  readonly clusterState?: string;
  readonly clusterVersion?: string;
  /** SHA-256 of the license key, in hexadecimal digits. */
  readonly licenseKeyHash?: string;
  /** The additions to the configuration, in order. */
  readonly addedConfigs?: readonly AddedConfig[];
}

/**
 * Reads the file. Resolves with undefined if it is missing or unreadable. Rejects as checkFormat
 * throws.
 */
export async function readMember(storage: Storage): Promise<MemberValues | undefined> {
  if (!(await storage.list()).includes(MEMBER)) return undefined;
  try {
    return await readMemberFile(storage);
  } catch (error) {
    if (error instanceof DamagedData) return undefined;
    throw error;
  }
}

/** Reads the file. Rejects as readCheckedFile does. */
export async function readMemberFile(storage: Storage): Promise<MemberValues> {
  return await readCheckedFile(storage, MEMBER, ({ addedConfigs, ...texts }: MemberValues) => {
    const isText = Object.values(texts).every((value) => typeof value === 'string');
    return isText && (addedConfigs === undefined || Array.isArray(addedConfigs));
  });
}

/** The effect of a damaged or missing file, as a part of messages. */
export const MEMBER_LOSS =
  "the cluster's state and version, the license and the additions to the configuration are lost; " +
  'the defaults apply';

export class MemberFile {
  readonly #storage: Storage;
  /** Records in the manifest that the file exists. */
  readonly #onCreated: () => Promise<void>;
  /** Whether the file exists. */
  exists = false;
  /** Whether the manifest records that the file exists. */
  #isRecorded = false;
  #values: MemberValues = {};
  readonly #changes = new SerialQueue();

  constructor(storage: Storage, onMade: () => Promise<void> = async () => {}) {
    this.#storage = storage;
    this.#onCreated = onMade;
  }

  get values(): MemberValues {
    return this.#values;
  }

  /**
   * Reads the file, if it exists. Rejects as readCheckedFile does, or if an expected file is
   * missing.
   */
  async load(isExpected = false): Promise<void> {
    const names = await this.#storage.list();
    this.exists = names.includes(MEMBER);
    if (!this.exists && isExpected) {
      throw new DamagedData(
        this.#storage,
        MEMBER,
        0,
        'is missing, although the manifest refers to it: reading stopped',
      );
    }
    this.#isRecorded = isExpected;
    if (!this.exists) return;
    this.#values = await readMemberFile(this.#storage);
  }

  /** Saves a change. Resolves once it is durable; if it rejects, the old values remain valid. */
  save(change: MemberValues): Promise<void> {
    return this.#changes.run(async () => {
      const values = { ...this.#values, ...change };
      await writeCheckedFile(this.#storage, MEMBER, values);
      this.#values = values;
      this.exists = true;
      if (this.#isRecorded) return;
      // The change is valid even if recording it in the manifest fails; the next change retries
      // that.
      this.#isRecorded = await this.#onCreated().then(
        () => true,
        () => false,
      );
    });
  }
}
