/**
 * The groups of the CP subsystem: one entry with all of them, which is changed by conditional sets. The
 * group METADATA always exists, has the id 0 and no locks. Ids only rise.
 * Tested by cp-state.spec.ts.
 */
import { GridError } from '../base/errors.ts';
import type { Version } from '../engine/version.ts';
import type { CpStore } from './cp-store.ts';
import type { Steps } from './steps.ts';

/** Maximum number of groups, without METADATA. */
const GROUPS_MAX = 1000;
export const METADATA = 'METADATA';
const KEY = 'groups';

export interface CpGroup {
  /** One character per byte. */
  readonly name: string;
  readonly id: number;
}

/** The groups without METADATA, by id, and the largest id that was ever given. */
interface Registry {
  readonly lastId: number;
  readonly groups: readonly CpGroup[];
}

const NO_GROUPS: Registry = { lastId: 0, groups: [] };

/** A registry as it was read. It is replaced as a whole, so a change never mixes two of them. */
interface StoredRegistry extends Registry {
  readonly byName: ReadonlyMap<string, CpGroup>;
  readonly version: Version | undefined;
}

export class CpGroups {
  readonly #store: CpStore;
  readonly #isShared: boolean;
  /** Number of changes that were begun and ended, and that number when the groups were read last. */
  #changeCount = 0;
  #readCount = -1;
  /** The registry that was read last. */
  #read: StoredRegistry | undefined;

  /** `isShared`: whether others change the groups too; otherwise they are read once. */
  constructor(store: CpStore, isShared: boolean) {
    this.#store = store;
    this.#isShared = isShared;
  }

  /** Number of groups at the last use, with METADATA. */
  get count(): number {
    return (this.#read?.groups.length ?? 0) + 1;
  }

  /** Whether there were groups besides METADATA, as of the last use. */
  get wereUsed(): boolean {
    return this.#read !== undefined && this.#read.lastId > 0;
  }

  *all(): Steps<readonly CpGroup[]> {
    return [{ name: METADATA, id: 0 }, ...(yield* this.#load()).groups];
  }

  /** Returns a function that returns whether the group of an id has been removed by now. */
  *removed(): Steps<(id: number) => boolean> {
    const { lastId, groups } = yield* this.#load();
    const ids = new Set(groups.map(({ id }) => id));
    // A larger id is that of a group made since.
    return (id) => id <= lastId && !ids.has(id);
  }

  /** Returns the group of this name as `find` does, if that needs no step; otherwise undefined. */
  findNow(name: string): CpGroup | undefined {
    const known = this.#known();
    return known?.byName.get(name);
  }

  /** Returns the group of this name; undefined if it does not exist, and for METADATA. */
  *find(name: string): Steps<CpGroup | undefined> {
    return (yield* this.#load()).byName.get(name);
  }

  /** Returns the group of this name, which is created if there is none. */
  *open(name: string): Steps<CpGroup> {
    for (;;) {
      const registry = yield* this.#load();
      const found = registry.byName.get(name);
      if (found !== undefined) return found;
      const { lastId, groups } = registry;
      if (groups.length >= GROUPS_MAX) throw new GridError('CP_GROUPS_MAX', { max: GROUPS_MAX });
      const group = { name, id: lastId + 1 };
      const next = { lastId: group.id, groups: [...groups, group] };
      if (yield* this.#replace(registry, next)) return group;
    }
  }

  /** Removes the group. Returns it; undefined if there was none. */
  *remove(name: string): Steps<CpGroup | undefined> {
    for (;;) {
      const registry = yield* this.#load();
      const found = registry.byName.get(name);
      if (found === undefined) return undefined;
      const { lastId, groups } = registry;
      const left = groups.filter((each) => each !== found);
      if (yield* this.#replace(registry, { lastId, groups: left })) return found;
    }
  }

  /** Removes all groups but METADATA. */
  *removeAll(): Steps<void> {
    for (;;) {
      const registry = yield* this.#load();
      const { lastId, groups } = registry;
      if (groups.length === 0) return;
      if (yield* this.#replace(registry, { lastId, groups: [] })) return;
    }
  }

  /** Stores a registry in place of one that was read; false if that has changed since. */
  *#replace({ version }: StoredRegistry, next: Registry): Steps<boolean> {
    const condition = version === undefined ? { isPresent: false } : { oneOf: [version] };
    this.#changeCount++;
    try {
      return (yield* this.#store.set(KEY, JSON.stringify(next), condition)) !== undefined;
    } finally {
      this.#changeCount++;
    }
  }

  /** Returns the groups if they have not changed since they were read. */
  #known(): StoredRegistry | undefined {
    return this.#isShared || this.#readCount !== this.#changeCount ? undefined : this.#read;
  }

  *#load(): Steps<StoredRegistry> {
    const known = this.#known();
    if (known !== undefined) return known;
    const last = this.#read;
    const changeCount = this.#changeCount;
    const entry = yield* this.#store.get(KEY);
    this.#readCount = changeCount;
    if (entry !== undefined && last?.version?.is(entry.version)) return last;
    const registry = entry === undefined ? NO_GROUPS : (JSON.parse(entry.text) as Registry);
    const byName = new Map(registry.groups.map((group) => [group.name, group]));
    const read = { ...registry, byName, version: entry?.version };
    this.#read = read;
    return read;
  }
}
