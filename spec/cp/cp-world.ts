/**
 * Members that share one store of the CP subsystem, in a world of its own. The store's engine is late and
 * unordered, and may fail: an operation is then not done, or it is unknown whether it is done, and it may
 * be done later. Every change of a lock is checked where it takes effect: fences rise, and a holder whose
 * session is live is never replaced by another session.
 */
import assert from 'node:assert/strict';
import { RESERVED_MAP } from '../../src/base/reserved-map.ts';
import { Span } from '../../src/base/span.ts';
import { CpGroups } from '../../src/cp/cp-groups.ts';
import { CpState } from '../../src/cp/cp-state.ts';
import { CpStore } from '../../src/cp/cp-store.ts';
import { LockWaits } from '../../src/cp/lock-wait.ts';
import { promised, type Steps } from '../../src/cp/steps.ts';
import type { Condition } from '../../src/engine/condition.ts';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import {
  APPLIED,
  DISCONNECTED,
  type Engine,
  FOUND,
  type OperationResult,
  type Receiver,
  UNKNOWN,
  UNREACHABLE,
} from '../../src/engine/engine.ts';
import { Version } from '../../src/engine/version.ts';
import { LateEngine } from '../engine/late-engine.ts';
import { LateResult } from '../engine/late-result.ts';
import { World } from '../world/world.ts';

const PARTITION_COUNT = 7;
export const SESSION_SECONDS = 20;
/** Maximum delay of an operation whose outcome is unknown, in ms. */
const LATE_MS_MAX = 5000;

type StoreEngine = ConstructorParameters<typeof CpStore>[0];

interface Member {
  readonly groups: Promised<CpGroups>;
  readonly state: Promised<CpState>;
  readonly waits: LockWaits;
}

/** An object whose work in steps is a promise. */
type Promised<Type> = {
  readonly [Name in keyof Type]: Type[Name] extends (...values: infer Values) => Steps<infer Result>
    ? (...values: Values) => Promise<Result>
    : Type[Name];
};

export class CpWorld {
  readonly world: World;
  readonly members: Member[] = [];
  readonly engine: Engine;
  /** One in this number of operations fails; 0: none. */
  faultShare = 0;
  /** Returns whether the next operation fails. */
  onOperation = () => this.faultShare > 0 && this.world.random.below(this.faultShare) === 0;
  readonly #stored: EmbeddedEngine;
  /** The largest fence of each lock, by key. */
  readonly #fences = new Map<string, number>();

  private constructor(seed: number) {
    this.world = new World(seed);
    const { clock, random } = this.world;
    const partitionCount = PARTITION_COUNT;
    const queueCapacity = () => 1;
    this.#stored = new EmbeddedEngine({
      ...{ partitionCount, clock, queueCapacity, acknowledgesAll: true },
    });
    this.engine = new LateEngine(this.#checked(), {
      ...{ clock, random, partitionCount, isOrdered: false },
    });
  }

  static async open(seed: number, memberCount: number): Promise<CpWorld> {
    const opened = new CpWorld(seed);
    await opened.engine.open();
    while (opened.members.length < memberCount) opened.#addMember(memberCount);
    return opened;
  }

  /** Returns the text of an entry now; undefined if there is none. */
  textOf(key: string): string | undefined {
    let found: string | undefined;
    this.#stored.get(RESERVED_MAP, Span.of(Buffer.from(key, 'latin1')), {
      onResult({ outcome, value }) {
        if (outcome === FOUND) found = value.toBuffer().toString('latin1');
      },
    });
    return found;
  }

  /** Returns the store as a further member sees it. */
  store(): CpStore {
    return new CpStore(this.#faulty(), this.world.clock);
  }

  #addMember(memberCount: number): void {
    const { clock } = this.world;
    const store = this.store();
    const options = {
      isUninterrupted: false,
      sessionTimeToLiveSeconds: SESSION_SECONDS,
      wall: () => clock.wall(),
    };
    const state = new CpState(store, options);
    const waits = new LockWaits(state, clock);
    const groups = new CpGroups(store, memberCount > 1);
    this.members.push({ groups: promising(groups), state: promising(state), waits });
  }

  /** The stored engine, which checks the changes of locks. */
  #checked(): EmbeddedEngine {
    const stored = this.#stored;
    const set: Engine['set'] = (map, key, value, type, lifetime, condition, receiver) => {
      const name = key.toBuffer().toString('latin1');
      const text = value.toBuffer().toString('latin1');
      const before = this.textOf(name);
      const onResult = (answer: OperationResult) => {
        if (answer.outcome === APPLIED && name.startsWith('l')) this.#onLock(name, before, text);
        receiver.onResult(answer);
      };
      stored.set(map, key, value, type, lifetime, condition, { onResult });
    };
    return new Proxy(stored, {
      get(target, name) {
        if (name === 'set') return set;
        const value = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  #onLock(key: string, before: string | undefined, text: string): void {
    const group = /^l(\d+)/.exec(key)?.[1];
    const [session, fence = 0] = text.split(' ').map(Number);
    const [holder, heldFence = 0] = before?.split(' ').map(Number) ?? [];
    if (holder !== undefined && holder !== session)
      assert.equal(this.textOf(`s${group}/${holder}`), undefined, `${key}: two live holders`);
    if (fence === 0 || text === before) return;
    assert.ok(Number.isSafeInteger(fence));
    assert.equal(heldFence, 0, `${key}: a fence without a claim`);
    assert.ok(fence > (this.#fences.get(key) ?? 0), `${key}: ${fence} after a later fence`);
    this.#fences.set(key, fence);
  }

  /**
   * The late engine, which fails from time to time. What an operation has been passed is valid only during
   * its call, so it is copied for one that is done later.
   */
  #faulty(): StoreEngine {
    const { engine } = this;
    const run = (to: Receiver, work: (to: Receiver) => void) => {
      const { clock, random } = this.world;
      if (!this.onOperation()) return work(to);
      const answer = new LateResult({ pinCount: 0 });
      const isUnknown = random.below(2) === 0;
      if (isUnknown && random.below(2) === 0) {
        const later = () => work({ onResult: () => {} });
        clock.after(random.below(LATE_MS_MAX), later);
      }
      if (isUnknown) answer.set(UNKNOWN);
      else answer.set(UNREACHABLE, DISCONNECTED);
      clock.endOfTurn(() => answer.give(to));
    };
    return {
      get: (map, key, to) => {
        const ownKey = Span.of(key.toBuffer());
        run(to, (own) => engine.get(map, ownKey, own));
      },
      set: (map, key, value, type, life, condition, to) => {
        const [ownKey, ownValue] = [key, value].map((span) => Span.of(span.toBuffer()));
        const met = copyOf(condition);
        run(to, (own) => engine.set(map, ownKey!, ownValue!, type, life, met, own));
      },
      add: (map, key, by, life, to) => {
        const ownKey = Span.of(key.toBuffer());
        run(to, (own) => engine.add(map, ownKey, by, life, own));
      },
      delete: (map, key, condition, to) => {
        const ownKey = Span.of(key.toBuffer());
        const met = copyOf(condition);
        run(to, (own) => engine.delete(map, ownKey, met, own));
      },
      entries: (map, prefix, place, count, to) => engine.entries(map, prefix, place, count, to),
    };
  }
}

function copyOf(condition: Condition): Condition {
  const oneOf = condition?.oneOf?.map((version) => new Version().copyFrom(version));
  return oneOf === undefined ? condition : { ...condition, oneOf };
}

function promising<Type extends object>(work: Type): Promised<Type> {
  const get = (target: Type, name: string | symbol) => {
    const value = Reflect.get(target, name, target);
    if (typeof value !== 'function') return value;
    return (...values: unknown[]) => {
      const result = value.apply(target, values);
      return Symbol.iterator in result ? promised(result) : result;
    };
  };
  return new Proxy(work, { get }) as Promised<Type>;
}
