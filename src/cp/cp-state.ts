/**
 * Sessions and locks of the groups, as entries that are changed by conditional sets, so that all
 * members on servers see one state. A session is an entry with a time to live: it has ended once it is
 * absent. A lock is an entry as long as it is held; one whose session has ended is free.
 *
 * Fences. Whoever takes a lock first claims its entry, and then takes the next number. So a later
 * holder has a later number, whatever the order of the claims. Numbers are at least the time of the
 * second in which they are taken, in microseconds: they also rise if the store has lost the last ones.
 */
import type { EntryCondition } from '../engine/condition.ts';
import type { Version } from '../engine/version.ts';
import type { CpGroup } from './cp-groups.ts';
import type { CpEntry, CpStore } from './cp-store.ts';

/** The last fence, and the last id of a session. */
const LAST_FENCE = 'fence';
const LAST_SESSION = 'session';

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
export interface HeldLock {
  readonly fence: number;
  readonly session: number;
}

/** A lock that a session has asked for and has. */
export interface TakenLock extends HeldLock {
  /** Whether the call has taken it; otherwise the session had it before. */
  readonly isNew: boolean;
}

/** A lock is held by another session. */
export const HELD = 'held';
/** There is no such session. */
export const NO_SESSION = 'no session';

/** The stored form of a session. */
type StoredSession = Omit<CpSession, 'id' | 'expirationTime'>;

interface StateOptions {
  readonly sessionTimeToLiveSeconds: number;
  /** Returns the time, in ms since 1970. */
  readonly wall: () => number;
}

export class CpState {
  readonly #store: CpStore;
  readonly #options: StateOptions;

  constructor(store: CpStore, options: StateOptions) {
    this.#store = store;
    this.#options = options;
  }

  async openSession(group: CpGroup, endpoint: string, endpointName: string): Promise<CpSession> {
    const id = await this.#next(LAST_SESSION);
    const stored = { creationTime: this.#options.wall(), version: 0, endpoint, endpointName };
    await this.#setSession(sessionKey(group, id), stored, { isPresent: false });
    return { id, ...stored, expirationTime: stored.creationTime + this.#lifetime.timeToLiveMs };
  }

  async sessions(group: CpGroup): Promise<readonly CpSession[]> {
    const found: CpSession[] = [];
    const prefix = sessionKey(group, '');
    await this.#store.entries(prefix, (key, entry) => {
      found.push(this.#sessionIn(Number(key.slice(prefix.length)), entry));
    });
    return found.sort((a, b) => a.id - b.id);
  }

  /** Begins the session's time anew. Returns whether there is such a session. */
  async heartbeat(group: CpGroup, id: number): Promise<boolean> {
    const key = sessionKey(group, id);
    for (;;) {
      const entry = await this.#store.get(key);
      if (entry === undefined) return false;
      const stored = JSON.parse(entry.text) as StoredSession;
      const next = { ...stored, version: stored.version + 1 };
      const version = await this.#setSession(key, next, { oneOf: [entry.version] });
      if (version !== undefined) return true;
    }
  }

  /** Ends the session, and with it its locks. Returns whether there was such a session. */
  async closeSession(group: CpGroup, id: number): Promise<boolean> {
    return await this.#store.delete(sessionKey(group, id), { isPresent: true });
  }

  async hasSession(group: CpGroup, id: number): Promise<boolean> {
    return (await this.#store.get(sessionKey(group, id))) !== undefined;
  }

  /**
   * Takes the lock for the session if it is free. Its holder gets its fence again. `mayTake`: whether it
   * may be taken; otherwise it counts as held.
   */
  async lock(
    group: CpGroup,
    name: string,
    session: number,
    mayTake: boolean,
  ): Promise<TakenLock | typeof HELD | typeof NO_SESSION> {
    const key = lockKey(group, name);
    for (;;) {
      if (!(await this.hasSession(group, session))) return NO_SESSION;
      const entry = await this.#store.get(key);
      const held = entry && lockIn(entry);
      const isOwn = held?.session === session;
      if (isOwn && held.fence > 0) return { ...held, isNew: false };
      if (!isOwn && held !== undefined && (await this.hasSession(group, held.session))) return HELD;
      if (!isOwn && !mayTake) return HELD;
      const claim = isOwn ? entry?.version : await this.#claim(key, session, entry?.version);
      const fence = claim && (await this.#finish(key, session, claim));
      if (fence !== undefined) return { fence, session, isNew: true };
    }
  }

  /** Releases the lock. Returns whether the session held it. */
  async release(group: CpGroup, name: string, session: number): Promise<boolean> {
    const key = lockKey(group, name);
    for (;;) {
      const entry = await this.#store.get(key);
      if (entry === undefined || lockIn(entry).session !== session) return false;
      if (!(await this.hasSession(group, session))) return false;
      if (await this.#store.delete(key, { oneOf: [entry.version] })) return true;
    }
  }

  /** Returns the lock if it is held. */
  async holder(group: CpGroup, name: string): Promise<HeldLock | undefined> {
    const entry = await this.#store.get(lockKey(group, name));
    if (entry === undefined) return undefined;
    const held = lockIn(entry);
    return held.fence > 0 && (await this.hasSession(group, held.session)) ? held : undefined;
  }

  /**
   * Removes entries in steps: those of groups that are not among these, and locks whose sessions have
   * ended.
   */
  async sweep(groups: readonly CpGroup[]): Promise<void> {
    const ids = new Set(groups.map(({ id }) => id));
    const ended: [key: string, version: Version][] = [];
    const locks: [key: string, group: CpGroup, entry: CpEntry][] = [];
    for (const kind of [SESSION, LOCK]) {
      await this.#store.entries(kind, (key, entry) => {
        const id = Number(/^.(\d+)\//.exec(key)?.[1]);
        if (!ids.has(id)) ended.push([key, entry.version]);
        else if (kind === LOCK) locks.push([key, { id, name: '' }, entry]);
      });
    }
    for (const [key, group, entry] of locks) {
      if (!(await this.hasSession(group, lockIn(entry).session))) ended.push([key, entry.version]);
    }
    for (const [key, version] of ended) await this.#store.delete(key, { oneOf: [version] });
  }

  get #lifetime() {
    const timeToLiveMs = this.#options.sessionTimeToLiveSeconds * 1000;
    return { timeToLiveMs, maxIdleSeconds: 0 };
  }

  async #setSession(
    key: string,
    session: StoredSession,
    condition: EntryCondition,
  ): Promise<Version | undefined> {
    return await this.#store.set(key, JSON.stringify(session), condition, this.#lifetime);
  }

  #sessionIn(id: number, { text, timeToLiveMs }: CpEntry): CpSession {
    const stored = JSON.parse(text) as StoredSession;
    return { id, ...stored, expirationTime: Math.round(this.#options.wall() + timeToLiveMs) };
  }

  /** Claims the entry of a lock, and returns its version; undefined if it has changed. */
  async #claim(
    key: string,
    session: number,
    version: Version | undefined,
  ): Promise<Version | undefined> {
    const condition = version === undefined ? { isPresent: false } : { oneOf: [version] };
    return await this.#store.set(key, `${session} 0`, condition);
  }

  /** Takes a fence for a claim of this version, and returns it; undefined if the entry has changed. */
  async #finish(key: string, session: number, claim: Version): Promise<number | undefined> {
    const fence = await this.#next(LAST_FENCE);
    const version = await this.#store.set(key, `${session} ${fence}`, { oneOf: [claim] });
    return version && fence;
  }

  /** Returns the next number. */
  async #next(key: string): Promise<number> {
    const floor = Math.floor(this.#options.wall() / 1000) * 1_000_000;
    const sum = await this.#store.add(key, 1);
    return sum >= floor ? sum : await this.#store.add(key, floor - sum);
  }
}

const SESSION = 's';
const LOCK = 'l';

function sessionKey({ id }: CpGroup, session: number | ''): string {
  return `${SESSION}${id}/${session}`;
}

function lockKey({ id }: CpGroup, name: string): string {
  return `${LOCK}${id}/${name}`;
}

/** A fence of 0: the lock is claimed, and has no fence yet. */
function lockIn({ text }: CpEntry): HeldLock {
  const [session = 0, fence = 0] = text.split(' ').map(Number);
  return { session, fence };
}
