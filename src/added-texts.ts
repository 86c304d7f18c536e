/**
 * The texts that were added to the configuration, in the order added: the record of the cluster keeps them,
 * and each member has them once. A text that was added twice is there twice.
 */
import { GridError, reasonOf } from './base/errors.ts';
import { type AddedConfig, changeRecord, type SharedRecord } from './cluster/shared-record.ts';
import { configFault } from './config/config-fault.ts';

/**
 * Limit of the added texts, in characters. All of them are written again with each new one, and the
 * names of all are in one table, which doubles in a single step.
 */
const ADDED_LENGTH_MAX = 2 * 1024 * 1024;

export class AddedTexts {
  readonly #record: SharedRecord;
  /** The record's texts that this member has, with how often each. */
  readonly #known = new Map<string, number>();

  constructor(record: SharedRecord) {
    this.#record = record;
  }

  /** Whether other members add texts, too. */
  get isShared(): boolean {
    return this.#record.isShared;
  }

  /** Another one after each change of the record. */
  get revision(): number {
    return this.#record.revision;
  }

  /** Calls the listener after each change of the record. */
  onChange(listener: () => void): void {
    this.#record.onChange(listener);
  }

  /** Awaits `add` for each text of the record that this member does not have. */
  async catchUp(add: (added: AddedConfig) => Promise<void>): Promise<void> {
    const { addedConfigs } = this.#record.values;
    const seen = new Map<string, number>();
    for (const added of addedConfigs) {
      const count = (seen.get(added.text) ?? 0) + 1;
      seen.set(added.text, count);
      if (count > (this.#known.get(added.text) ?? 0)) await add(added);
    }
    this.#known.clear();
    for (const [text, count] of seen) this.#known.set(text, count);
  }

  /**
   * Appends a text that this member has, where the record still has that revision; resolves with whether it
   * had. Rejects with ConfigFault beyond the limit, or with GridError CONFIG_NOT_KEPT.
   */
  async append(text: string, revision: number): Promise<boolean> {
    const addedConfigs = withText(this.#record.values.addedConfigs, text);
    const keeping = this.#record.compareAndSet(revision, { addedConfigs });
    const isKept = await keeping.catch((cause: unknown) => {
      throw notKept(reasonOf(cause), { cause });
    });
    if (isKept) this.#known.set(text, (this.#known.get(text) ?? 0) + 1);
    return isKept;
  }

  /** Removes the last of the texts that is this one. Rejects with GridError CONFIG_NOT_KEPT. */
  async remove(text: string): Promise<void> {
    await this.#change((before) => {
      const last = before.map((each) => each.text).lastIndexOf(text);
      return before.filter((_, at) => at !== last);
    });
  }

  /**
   * The configuration was reloaded: only the maps and queues of the texts count. Rejects with GridError
   * CONFIG_NOT_KEPT.
   */
  async markReloaded(): Promise<void> {
    // A reload is of one member: the others have what was added, and who comes later has it, too.
    const { isShared, values } = this.#record;
    if (isShared || values.addedConfigs.every(({ isReloaded }) => isReloaded)) return;
    await this.#change((before) => before.map(({ text }) => ({ text, isReloaded: true })));
  }

  async #change(change: (before: readonly AddedConfig[]) => readonly AddedConfig[]): Promise<void> {
    await changeRecord(
      this.#record,
      ({ addedConfigs }) => ({ addedConfigs: change(addedConfigs) }),
      notKept,
    );
  }
}

function withText(before: readonly AddedConfig[], text: string): readonly AddedConfig[] {
  const length = before.reduce((sum, each) => sum + each.text.length, text.length);
  if (length <= ADDED_LENGTH_MAX) return [...before, { text, isReloaded: false }];
  throw configFault(
    `Cannot add to the configuration: with this text, the added texts have more than ${ADDED_LENGTH_MAX} characters`,
  );
}

function notKept(reason: string, options: ErrorOptions): GridError {
  return new GridError('CONFIG_NOT_KEPT', { reason }, options);
}
