/**
 * The entries of sessions and locks in the reserved map: the bytes of their keys, and of the values of
 * locks. An operation passes its receiver to the engine. The memory of keys and values is reused, as the
 * engine copies them if it responds later. Tested by lock-work.spec.ts.
 */
import assert from 'node:assert';
import { copySpan, ViewedBytes } from '../base/copy-bytes.ts';
import { RESERVED_MAP } from '../base/reserved-map.ts';
import { NO_SPAN, Span } from '../base/span.ts';
import type { EntryCondition } from '../engine/condition.ts';
import { NATURAL_BYTES_MAX, naturalIn, writeNatural } from '../engine/decimal.ts';
import type { Lifetime, Receiver } from '../engine/engine.ts';
import { Version } from '../engine/version.ts';
import type { CpGroup } from './cp-groups.ts';
import type { StoreEngine } from './cp-store.ts';

/** Maximum length of the name of a group, a lock or a session, in bytes. */
export const NAME_BYTES_MAX = 255;
/** First characters of the keys of sessions and of locks. */
export const SESSION = 's';
export const LOCK = 'l';

/** A lock that is held. */
export interface HeldLock {
  /** 0: the lock is claimed, and has no fence yet. */
  readonly fence: number;
  readonly session: number;
}

/** Returns the lock in the value of its entry. */
export function heldIn({ bytes, start, end }: Span): HeldLock {
  let space = start;
  while (space < end && bytes[space] !== SPACE) space++;
  return {
    session: naturalIn(bytes, start, space),
    fence: naturalIn(bytes, space + 1, end),
  };
}

export function sessionKey({ id }: CpGroup, session: number | ''): string {
  return `${SESSION}${id}/${session}`;
}

export function lockKey({ id }: CpGroup, name: string): string {
  return `${LOCK}${id}/${name}`;
}

/** Returns the id of the group of an entry of a session or a lock. */
export function groupIdIn(key: string): number {
  return Number(key.slice(1, key.indexOf('/')));
}

export class LockEntries {
  readonly #engine: StoreEngine;
  readonly #keyBytes = new ViewedBytes(2 + NATURAL_BYTES_MAX + NAME_BYTES_MAX);
  readonly #valueBytes = new ViewedBytes(2 * NATURAL_BYTES_MAX + 1);
  readonly #key = new Span();
  readonly #value = new Span();
  readonly #expected = new Version();
  readonly #isExpected: EntryCondition = { oneOf: [this.#expected] };

  constructor(engine: StoreEngine) {
    this.#engine = engine;
  }

  findSession(group: CpGroup, session: number, to: Receiver): void {
    const { bytes } = this.#keyBytes;
    const end = writeNatural(session, bytes, this.#beginKey(LETTER_S, group));
    this.#engine.get(RESERVED_MAP, this.#keyUpTo(end), to);
  }

  findLock(group: CpGroup, name: Span, to: Receiver): void {
    this.#engine.get(RESERVED_MAP, this.#lockKey(group, name), to);
  }

  /** Writes the entry of a lock if it has this version; none: if there is no entry. */
  setLock(
    group: CpGroup,
    name: Span,
    { session, fence }: HeldLock,
    version: Version,
    lifetime: Lifetime,
    to: Receiver,
  ): void {
    const { bytes, view } = this.#valueBytes;
    const space = writeNatural(session, bytes, 0);
    bytes[space] = SPACE;
    const value = this.#value.setViewed(bytes, view, 0, writeNatural(fence, bytes, space + 1));
    const key = this.#lockKey(group, name);
    const condition = version.isNone ? IS_ABSENT : this.#isVersion(version);
    this.#engine.set(RESERVED_MAP, key, value, NO_SPAN, lifetime, condition, to);
  }

  /** Removes the entry of a lock if it has this version. */
  deleteLock(group: CpGroup, name: Span, version: Version, to: Receiver): void {
    const key = this.#lockKey(group, name);
    this.#engine.delete(RESERVED_MAP, key, this.#isVersion(version), to);
  }

  #isVersion(version: Version): EntryCondition {
    this.#expected.copyFrom(version);
    return this.#isExpected;
  }

  #lockKey(group: CpGroup, name: Span): Span {
    const { length } = name;
    if (length > NAME_BYTES_MAX) assert.fail('the name of a lock is not too long');
    const start = this.#beginKey(LETTER_L, group);
    copySpan(this.#keyBytes, start, name);
    return this.#keyUpTo(start + length);
  }

  /** Writes the beginning of a key, and returns the offset after it. */
  #beginKey(letter: number, { id }: CpGroup): number {
    const { bytes } = this.#keyBytes;
    bytes[0] = letter;
    const slash = writeNatural(id, bytes, 1);
    bytes[slash] = SLASH;
    return slash + 1;
  }

  #keyUpTo(end: number): Span {
    const { bytes, view } = this.#keyBytes;
    return this.#key.setViewed(bytes, view, 0, end);
  }
}

const IS_ABSENT: EntryCondition = { isPresent: false };
const LETTER_S = SESSION.charCodeAt(0);
const LETTER_L = LOCK.charCodeAt(0);
const SPACE = 0x20;
const SLASH = 0x2f;
