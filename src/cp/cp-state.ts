/**
 * Sessions and locks of the groups, as entries that are changed by conditional sets, so that all
 * members on servers see one state. A session is an entry with a time to live: it has ended once it is
 * absent. A lock is an entry as long as it is held; one whose session has ended is free.
 *
 * Fences. Whoever takes a lock first claims its entry, and then takes the next number. So a later
 * holder has a later number, whatever the order of the claims. A claim that is not followed by a number
 * ends by itself. There is no claim if nothing comes between the two; then the lock is written at once
 * if it has no entry.
 *
 * A request that finds its session's own lock writes the entry anew. So whoever took the lock for a
 * request that has ended meanwhile can give it back only if no other request of the session has it.
 * Tested by cp-state.spec.ts.
 */
import type { Span } from '../base/span.ts';
import type { EntryCondition } from '../engine/condition.ts';
import type { Lifetime } from '../engine/engine.ts';
import type { Version } from '../engine/version.ts';
import { spanOf } from './byte-text.ts';
import type { CpGroup } from './cp-groups.ts';
import { CpNumbers } from './cp-numbers.ts';
import type { CpEntry, CpStore } from './cp-store.ts';
import { Fences } from './fences.ts';
import {
  groupIdIn,
  type HeldLock,
  heldIn,
  LOCK,
  LockEntries,
  lockKey,
  SESSION,
  sessionKey,
} from './lock-entries.ts';
import { HELD, type LockReceiver, LockWork, NO_SESSION, RELEASED, TAKEN } from './lock-work.ts';
import { promised, type Steps } from './steps.ts';

/** The key of the last id of a session. */
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

/** A lock that a session has asked for and has. */
export interface TakenLock extends HeldLock {
  /** Whether the call has taken it; otherwise the session had it before. */
  readonly isNew: boolean;
  /** The version of its entry. */
  readonly version: Version;
}

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
  readonly #sessionIds: CpNumbers;
  readonly #lockParts: ConstructorParameters<typeof LockWork>[0];

  constructor(store: CpStore, options: StateOptions) {
    this.#store = store;
    this.#options = options;
    const timeToLiveMs = options.sessionTimeToLiveSeconds * 1000;
    this.#lifetime = { timeToLiveMs, maxIdleSeconds: 0 };
    this.#sessionIds = new CpNumbers(store, LAST_SESSION, options.wall);
    this.#lockParts = {
      entries: new LockEntries(store.engine),
      isUninterrupted: options.isUninterrupted,
      fences: new Fences(store, !options.isUninterrupted, options.wall),
    };
  }

  *openSession(group: CpGroup, endpoint: string, endpointName: string): Steps<CpSession> {
    for (;;) {
      const id = yield* this.#sessionIds.take(1);
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

  /** Returns the work of a call that takes or releases a lock; see LockWork. */
  lockWork(group: CpGroup, name: Span, session: number, to: LockReceiver): LockWork {
    return new LockWork(this.#lockParts, group, name, session, to);
  }

  /** Takes the lock, as LockWork.take does. */
  lock(
    group: CpGroup,
    name: string,
    session: number,
    mayTake: boolean,
  ): Promise<TakenLock | typeof HELD | typeof NO_SESSION> {
    return new Promise((resolve, reject) => {
      this.lockWork(group, spanOf(name), session, {
        onLock(outcome, { fence, isNew, version }) {
          if (outcome === TAKEN) resolve({ fence, session, isNew, version });
          else resolve(outcome === HELD ? HELD : NO_SESSION);
        },
        onFault: reject,
      }).take(mayTake);
    });
  }

  /** Releases the lock. Resolves with whether the session held it. */
  release(group: CpGroup, name: string, session: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const onLock: LockReceiver['onLock'] = (outcome) => resolve(outcome === RELEASED);
      this.lockWork(group, spanOf(name), session, { onLock, onFault: reject }).release();
    });
  }

  /** Frees a lock that has been taken, unless it has changed or its session has asked for it again. */
  *giveBack(group: CpGroup, name: string, { version }: TakenLock): Steps<void> {
    yield* this.#store.delete(lockKey(group, name), { oneOf: [version] });
  }

  /** Returns the lock if it is held. */
  *holder(group: CpGroup, name: string): Steps<HeldLock | undefined> {
    const entry = yield* this.#store.get(lockKey(group, name));
    if (entry === undefined) return undefined;
    const held = heldIn(spanOf(entry.text));
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
      const { session } = heldIn(spanOf(entry.text));
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
}
