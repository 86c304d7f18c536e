/**
 * Sessions and locks of the groups, as entries that are changed by conditional sets, so that all
 * members on servers see one state. A session is an entry with a time to live: it has ended once it is
 * absent. A lock is an entry as long as it is held; one whose session has ended is free.
 *
 * Fences. Whoever takes a lock first claims its entry, and then takes the next number. So a later
 * holder has a later number, whatever the order of the claims. A claim that is not followed by a number
 * ends by itself. There is no claim if nothing comes between the two. Numbers are at least the time of
 * the second in which they are taken, in microseconds: they also rise if the store has lost the last ones.
 *
 * A request that finds its session's own lock writes the entry anew. So whoever took the lock for a
 * request that has ended meanwhile can give it back only if no other request of the session has it.
 * Tested by cp-state.spec.ts.
 */
import type { EntryCondition } from '../engine/condition.ts';
import type { Lifetime } from '../engine/engine.ts';
import type { Version } from '../engine/version.ts';
import type { CpGroup } from './cp-groups.ts';
import type { CpEntry, CpStore } from './cp-store.ts';
import { promised, type Steps } from './steps.ts';

/** The last fence, and the last id of a session. */
const LAST_FENCE = 'fence';
const LAST_SESSION = 'session';
/** Lifetime of a claim of a lock, in ms. */
const CLAIM_MS = 10_000;

export interface CpSession {
  readonly id: number;
  /** In ms since 1970. */
  readonly creationTime: number;
  readonly expirationTime: number;
  /** Number of heartbeats. */
  readonly version: number;
  /** Address of the client that created it. */
  readonly endpoint: string;
  /** One character per byte. */
  readonly endpointName: string;
}

/** A lock that is held. */
interface HeldLock {
  readonly fence: number;
  readonly session: number;
}

/** A lock that a session has asked for and has. */
export interface TakenLock extends HeldLock {
  /** Whether the call has taken it; otherwise the session had it before. */
  readonly isNew: boolean;
  /** The version of its entry. */
  readonly version: Version;
}

/** A lock is held by another session. */
export const HELD = 'held';
/** There is no such session. */
export const NO_SESSION = 'no session';

/** The stored form of a session. */
type StoredSession = Omit<CpSession, 'id' | 'expirationTime'>;

interface StateOptions {
  /** Whether the engine responds during each call, so that nothing comes between the steps of a work. */
  readonly isUninterrupted: boolean;
  readonly sessionTimeToLiveSeconds: number;
  /** Returns the time, in ms since 1970. */
  readonly wall: () => number;
}

export class CpState {
  readonly #store: CpStore;
  readonly #options: StateOptions;
  /** Lifetime of a session. */
  readonly #lifetime: Lifetime;

  constructor(store: CpStore, options: StateOptions) {
    this.#store = store;
    this.#options = options;
    const timeToLiveMs = options.sessionTimeToLiveSeconds * 1000;
    this.#lifetime = { timeToLiveMs, maxIdleSeconds: 0 };
  }

  *openSession(group: CpGroup, endpoint: string, endpointName: string): Steps<CpSession> {
    for (;;) {
      const id = yield* this.#next(LAST_SESSION);
      const creationTime = this.#options.wall();
      const stored = { creationTime, version: 0, endpoint, endpointName };
      const key = sessionKey(group, id);
      if ((yield* this.#setSession(key, stored, { isPresent: false })) === undefined) continue;
      return { id, ...stored, expirationTime: creationTime + this.#lifetime.timeToLiveMs };
    }
  }

  async sessions(group: CpGroup): Promise<readonly CpSession[]> {
    // A list may pass an entry twice.
    const found = new Map<number, CpSession>();
    const prefix = sessionKey(group, '');
    await this.#store.entries(prefix, (key, entry) => {
      const id = Number(key.slice(prefix.length));
      found.set(id, this.#sessionIn(id, entry));
    });
    return [...found.values()].sort((a, b) => a.id - b.id);
  }

  /** Begins the session's time anew. Returns whether there is such a session. */
  *heartbeat(group: CpGroup, id: number): Steps<boolean> {
    const key = sessionKey(group, id);
    for (;;) {
      const entry = yield* this.#store.get(key);
      if (entry === undefined) return false;
      const stored = JSON.parse(entry.text) as StoredSession;
      const next = { ...stored, version: stored.version + 1 };
      const version = yield* this.#setSession(key, next, { oneOf: [entry.version] });
      if (version !== undefined) return true;
    }
  }

  /** Ends the session, and with it its locks. Returns whether there was such a session. */
  closeSession(group: CpGroup, id: number): Steps<boolean> {
    return this.#store.delete(sessionKey(group, id), { isPresent: true });
  }

  hasSession(group: CpGroup, id: number): Steps<boolean> {
    return this.#store.has(sessionKey(group, id));
  }

  /**
   * Takes the lock for the session if it is free. Its holder gets its fence again. `mayTake`: whether it
   * may be taken; otherwise it counts as held.
   */
  *lock(
    group: CpGroup,
    name: string,
    session: number,
    mayTake: boolean,
  ): Steps<TakenLock | typeof HELD | typeof NO_SESSION> {
    const key = lockKey(group, name);
    for (;;) {
      if (!(yield* this.hasSession(group, session))) return NO_SESSION;
      const entry = yield* this.#store.get(key);
      const held = entry && lockIn(entry);
      const isOwn = held?.session === session;
      if (!isOwn && held !== undefined && (yield* this.hasSession(group, held.session)))
        return HELD;
      if (!isOwn && !mayTake) return HELD;
      const taken =
        entry !== undefined && isOwn && held.fence > 0
          ? yield* this.#confirm(key, entry)
          : yield* this.#take(key, session, entry, isOwn);
      if (taken !== undefined) return taken;
    }
  }

  /** Frees a lock that has been taken, unless it has changed or its session has asked for it again. */
  *giveBack(group: CpGroup, name: string, { version }: TakenLock): Steps<void> {
    yield* this.#store.delete(lockKey(group, name), { oneOf: [version] });
  }

  /** Releases the lock. Returns whether the session held it. */
  *release(group: CpGroup, name: string, session: number): Steps<boolean> {
    const key = lockKey(group, name);
    for (;;) {
      const entry = yield* this.#store.get(key);
      if (entry === undefined || lockIn(entry).session !== session) return false;
      if (!(yield* this.hasSession(group, session))) return false;
      if (yield* this.#store.delete(key, { oneOf: [entry.version] })) return true;
    }
  }

  /** Returns the lock if it is held. */
  *holder(group: CpGroup, name: string): Steps<HeldLock | undefined> {
    const entry = yield* this.#store.get(lockKey(group, name));
    if (entry === undefined) return undefined;
    const held = lockIn(entry);
    return held.fence > 0 && (yield* this.hasSession(group, held.session)) ? held : undefined;
  }

  /** Removes entries in steps: those of removed groups, and locks whose sessions have ended. */
  async sweep(isRemoved: (groupId: number) => boolean): Promise<void> {
    const live = new Set<string>();
    await this.#removeThose(SESSION, async (key) => {
      live.add(key);
      return isRemoved(groupIdIn(key));
    });
    await this.#removeThose(LOCK, async (key, entry) => {
      const group = { id: groupIdIn(key), name: '' };
      if (isRemoved(group.id)) return true;
      const { session } = lockIn(entry);
      if (live.has(sessionKey(group, session))) return false;
      // The session may have been opened since the sessions were listed.
      return !(await promised(this.hasSession(group, session)));
    });
  }

  /** Removes entries of a kind, unless they change meanwhile. */
  async #removeThose(
    kind: string,
    isOver: (key: string, entry: CpEntry) => Promise<boolean>,
  ): Promise<void> {
    await this.#store.entries(kind, async (key, entry) => {
      if (await isOver(key, entry))
        await promised(this.#store.delete(key, { oneOf: [entry.version] }));
    });
  }

  #setSession(
    key: string,
    session: StoredSession,
    condition: EntryCondition,
  ): Steps<Version | undefined> {
    return this.#store.set(key, JSON.stringify(session), condition, this.#lifetime);
  }

  #sessionIn(id: number, { text, timeToLiveMs }: CpEntry): CpSession {
    const stored = JSON.parse(text) as StoredSession;
    return { id, ...stored, expirationTime: Math.round(this.#options.wall() + timeToLiveMs) };
  }

  /** Writes the entry of a lock that is held as it is; undefined if it has changed. */
  *#confirm(key: string, { text, version: read }: CpEntry): Steps<TakenLock | undefined> {
    const version = yield* this.#store.set(key, text, { oneOf: [read] });
    return version && { ...lockIn({ text }), isNew: false, version };
  }

  /**
   * Claims the entry of a lock, unless it is the session's claim, and takes a fence for it. Undefined if
   * the entry has changed.
   */
  *#take(
    key: string,
    session: number,
    entry: CpEntry | undefined,
    isClaimed: boolean,
  ): Steps<TakenLock | undefined> {
    let condition: EntryCondition =
      entry === undefined ? { isPresent: false } : { oneOf: [entry.version] };
    if (!isClaimed && !this.#options.isUninterrupted) {
      const claim = yield* this.#store.set(key, `${session} 0`, condition, CLAIM_LIFETIME);
      if (claim === undefined) return undefined;
      condition = { oneOf: [claim] };
    }
    const fence = yield* this.#next(LAST_FENCE);
    const version = yield* this.#store.set(key, `${session} ${fence}`, condition);
    return version && { fence, session, isNew: true, version };
  }

  /** Returns the next number. */
  *#next(key: string): Steps<number> {
    const floor = Math.floor(this.#options.wall() / 1000) * 1_000_000;
    for (;;) {
      const { sum, version } = yield* this.#store.increment(key);
      if (sum >= floor || (yield* this.#raise(key, floor, version))) return Math.max(sum, floor);
    }
  }

  /**
   * Raises a number to the floor; false if another caller has done so. It adds nothing meanwhile, so of
   * several callers one succeeds. A sum of their differences would be far beyond the floor.
   */
  *#raise(key: string, floor: number, added: Version): Steps<boolean> {
    for (let version: Version | undefined = added; version !== undefined; ) {
      if (yield* this.#store.set(key, `${floor}`, { oneOf: [version] })) return true;
      const entry = yield* this.#store.get(key);
      version = entry !== undefined && Number(entry.text) < floor ? entry.version : undefined;
    }
    return false;
  }
}

const CLAIM_LIFETIME = { timeToLiveMs: CLAIM_MS, maxIdleSeconds: 0 };
const SESSION = 's';
const LOCK = 'l';

function sessionKey({ id }: CpGroup, session: number | ''): string {
  return `${SESSION}${id}/${session}`;
}

function lockKey({ id }: CpGroup, name: string): string {
  return `${LOCK}${id}/${name}`;
}

/** Returns the id of the group of an entry of a session or a lock. */
function groupIdIn(key: string): number {
  return Number(key.slice(1, key.indexOf('/')));
}

/** A fence of 0: the lock is claimed, and has no fence yet. */
function lockIn({ text }: Pick<CpEntry, 'text'>): HeldLock {
  const space = text.indexOf(' ');
  return { session: Number(text.slice(0, space)), fence: Number(text.slice(space + 1)) };
}
