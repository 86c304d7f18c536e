/**
 * The groups of the CP subsystem: one entry with all of them, which is changed by conditional sets. The
 * group METADATA always exists, has the id 0 and no locks. Ids only rise.
 * Tested by cp-state.spec.ts.
 */
import { GridError } from '../base/errors.ts';
import type { Version } from '../engine/version.ts';
import type { CpStore } from './cp-store.ts';

/** Maximum number of groups, without METADATA. */
export const GROUPS_MAX = 1000;
export const METADATA = 'METADATA';
const KEY = 'groups';

export interface CpGroup {
  /** One character per byte. */
  readonly name: string;
  readonly id: number;
}

/** The groups without METADATA, by id. */
interface Registry {
  readonly lastId: number;
  readonly groups: readonly CpGroup[];
}

const NO_GROUPS: Registry = { lastId: 0, groups: [] };

export class CpGroups {
  readonly #store: CpStore;
  /** The registry that was read last, and its version. */
  #read: Registry = NO_GROUPS;
  #version: Version | undefined;

  constructor(store: CpStore) {
    this.#store = store;
  }

  /** Number of groups at the last use, with METADATA. */
  get count(): number {
    return this.#read.groups.length + 1;
  }

  /** Whether groups have been read or changed. */
  get wasUsed(): boolean {
    return this.#version !== undefined;
  }

  async all(): Promise<readonly CpGroup[]> {
    await this.#load();
    return [{ name: METADATA, id: 0 }, ...this.#read.groups];
  }

  /** Returns the group of this name; undefined if there is none. METADATA is none here. */
  async find(name: string): Promise<CpGroup | undefined> {
    await this.#load();
    return this.#read.groups.find((group) => group.name === name);
  }

  /** Returns the group of this name, which is created if there is none. */
  async open(name: string): Promise<CpGroup> {
    for (;;) {
      const found = await this.find(name);
      if (found !== undefined) return found;
      const { lastId, groups } = this.#read;
      if (groups.length >= GROUPS_MAX) throw new GridError('CP_GROUPS_MAX', { max: GROUPS_MAX });
      const group = { name, id: lastId + 1 };
      if (await this.#change({ lastId: group.id, groups: [...groups, group] })) return group;
    }
  }

  /** Removes the group. Returns it; undefined if there was none. */
  async remove(name: string): Promise<CpGroup | undefined> {
    for (;;) {
      const found = await this.find(name);
      if (found === undefined) return undefined;
      const { lastId, groups } = this.#read;
      if (await this.#change({ lastId, groups: groups.filter((each) => each !== found) }))
        return found;
    }
  }

  /** Removes all groups but METADATA. */
  async removeAll(): Promise<void> {
    for (;;) {
      await this.#load();
      const { lastId, groups } = this.#read;
      if (groups.length === 0 || (await this.#change({ lastId, groups: [] }))) return;
    }
  }

  /** Stores a change of the registry that was read last; false if it has changed since. */
  async #change(registry: Registry): Promise<boolean> {
    const version = this.#version;
    const condition = version === undefined ? { isPresent: false } : { oneOf: [version] };
    return (await this.#store.set(KEY, JSON.stringify(registry), condition)) !== undefined;
  }

  async #load(): Promise<void> {
    const entry = await this.#store.get(KEY);
    if (entry !== undefined && this.#version?.is(entry.version)) return;
    this.#version = entry?.version;
    this.#read = entry === undefined ? NO_GROUPS : (JSON.parse(entry.text) as Registry);
  }
}
