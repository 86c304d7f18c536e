/**
 * Covers src/cp/lock-work.ts, lock-entries.ts, fences.ts and cp-numbers.ts: random calls on an engine that
 * responds at once, compared with a model, and the operations that they need.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { Span } from '../../src/base/span.ts';
import { CpState } from '../../src/cp/cp-state.ts';
import { CpStore, type StoreEngine } from '../../src/cp/cp-store.ts';
import {
  HELD,
  type LockOutcome,
  type LockWork,
  NO_SESSION,
  NOT_HELD,
  RELEASED,
  TAKEN,
} from '../../src/cp/lock-work.ts';
import { perform, type Steps } from '../../src/cp/steps.ts';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import { DISCONNECTED, type OperationResult, UNREACHABLE } from '../../src/engine/engine.ts';
import { FakeClock } from '../fake-clock.ts';

const SESSION_SECONDS = 20;
const GROUPS = [1, 2].map((id) => ({ id, name: `g${id}` }));
/** Names of one byte, of the maximum length, and with bytes that are not UTF-8. */
const NAMES = ['a', 'b', 'n'.repeat(255), '\xff/ \0'].map((name) => Buffer.from(name, 'latin1'));
const FAILED = 'failed';

type Outcome = LockOutcome | typeof FAILED;

interface Taken {
  readonly session: number;
  readonly fence: number;
}

/** The state of a member, whose engine responds during each call. */
class Subject {
  readonly clock = new FakeClock();
  readonly operations: string[] = [];
  /** Whether the next changes fail without being done. */
  isBroken = false;
  state: CpState;
  readonly #engine = new EmbeddedEngine({
    ...{ partitionCount: 3, clock: this.clock, queueCapacity: () => 1, acknowledgesAll: true },
  });

  constructor() {
    this.state = this.restart();
  }

  /** Returns the state as a member that has just started sees it. */
  restart(): CpState {
    this.state = new CpState(new CpStore(this.#observed(), this.clock), {
      isUninterrupted: true,
      sessionTimeToLiveSeconds: SESSION_SECONDS,
      wall: () => this.clock.wall(),
    });
    return this.state;
  }

  now<Result>(steps: Steps<Result>): Result {
    let found: { readonly result: Result } | undefined;
    perform(
      steps,
      (result) => {
        found = { result };
      },
      (error) => {
        throw error;
      },
    );
    assert.ok(found !== undefined, 'the engine responds at once');
    return found.result;
  }

  /** Returns the end of a call that has ended during it. */
  call(
    group: number,
    name: Buffer,
    session: number,
    begin: (work: LockWork) => void,
  ): { readonly outcome: Outcome; readonly fence: number; readonly isNew: boolean } {
    const ends: Outcome[] = [];
    const work = this.state.lockWork(GROUPS[group]!, Span.of(name), session, {
      onLock: (outcome) => ends.push(outcome),
      onFault: () => ends.push(FAILED),
    });
    begin(work);
    assert.equal(ends.length, 1);
    return { outcome: ends[0]!, fence: work.fence, isNew: work.isNew };
  }

  #observed(): StoreEngine {
    const engine = this.#engine;
    const { operations } = this;
    const change = (name: string, to: { onResult(answer: OperationResult): void }) => {
      operations.push(name);
      if (!this.isBroken) return false;
      to.onResult({ outcome: UNREACHABLE, reason: DISCONNECTED } as OperationResult);
      return true;
    };
    return {
      get(map, key, to) {
        operations.push('get');
        engine.get(map, key, to);
      },
      set(map, key, value, type, life, condition, to) {
        if (!change('set', to)) engine.set(map, key, value, type, life, condition, to);
      },
      add(map, key, by, life, to) {
        if (!change('add', to)) engine.add(map, key, by, life, to);
      },
      delete(map, key, condition, to) {
        if (!change('delete', to)) engine.delete(map, key, condition, to);
      },
      entries: (map, prefix, place, count, to) => engine.entries(map, prefix, place, count, to),
    };
  }
}

/** What must be true of the sessions and locks of a subject. */
class Model {
  readonly #clock: FakeClock;
  /** The ends of sessions, in ms. */
  readonly ends = new Map<number, number>();
  readonly locks = new Map<string, Taken>();
  lastFence = 0;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  isLive(session: number): boolean {
    return (this.ends.get(session) ?? 0) > this.#clock.now();
  }

  renew(session: number): void {
    this.ends.set(session, this.#clock.now() + SESSION_SECONDS * 1000);
  }

  holder(lock: string): Taken | undefined {
    const taken = this.locks.get(lock);
    return taken !== undefined && this.isLive(taken.session) ? taken : undefined;
  }

  take(lock: string, session: number, mayTake: boolean): LockOutcome {
    if (!this.isLive(session)) return NO_SESSION;
    const holder = this.holder(lock);
    if (holder?.session === session) return TAKEN;
    return holder !== undefined || !mayTake ? HELD : TAKEN;
  }
}

function runRandomly(seed: number): void {
  const random = new Random(seed);
  const subject = new Subject();
  const { clock } = subject;
  const model = new Model(clock);
  const sessions: { readonly id: number; readonly group: number }[] = [];
  for (let count = 0; count < 600; count++) {
    if (random.below(4) === 0) clock.advance(random.below(4000));
    if (random.below(40) === 0) subject.restart();
    subject.isBroken = random.below(12) === 0;
    const kind = random.below(20);
    if (kind === 0 || sessions.length === 0) {
      subject.isBroken = false;
      const group = random.below(GROUPS.length);
      const { id } = subject.now(subject.state.openSession(GROUPS[group]!, 'here', 'one'));
      assert.ok(!model.ends.has(id));
      model.renew(id);
      sessions.push({ id, group });
      continue;
    }
    const { id, group } = sessions[Math.max(0, sessions.length - 1 - random.below(5))]!;
    const name = NAMES[random.below(NAMES.length)]!;
    const lock = `${group}/${name.toString('latin1')}`;
    const holder = model.holder(lock);
    if (kind === 1) {
      subject.isBroken = false;
      const isThere = subject.now(subject.state.closeSession(GROUPS[group]!, id));
      assert.equal(isThere, model.isLive(id));
      model.ends.delete(id);
    } else if (kind < 4) {
      subject.isBroken = false;
      assert.equal(subject.now(subject.state.heartbeat(GROUPS[group]!, id)), model.isLive(id));
      if (model.isLive(id)) model.renew(id);
    } else if (kind < 13) {
      const mayTake = random.below(5) > 0;
      const wanted = model.take(lock, id, mayTake);
      const { outcome, fence, isNew } = subject.call(group, name, id, (work) => work.take(mayTake));
      if (outcome === FAILED) assert.ok(subject.isBroken && wanted !== NO_SESSION);
      else assert.equal(outcome, wanted);
      if (outcome !== TAKEN) continue;
      assert.equal(isNew, holder === undefined);
      if (holder !== undefined) assert.equal(fence, holder.fence);
      else {
        assert.ok(fence > model.lastFence && Number.isSafeInteger(fence));
        assert.ok(fence >= Math.floor(clock.wall() / 1000) * 1_000_000, 'at least the time');
        model.lastFence = fence;
        model.locks.set(lock, { session: id, fence });
      }
    } else {
      const { outcome } = subject.call(group, name, id, (work) => work.release());
      if (outcome === FAILED) assert.ok(subject.isBroken && holder?.session === id);
      else assert.equal(outcome, holder?.session === id ? RELEASED : NOT_HELD);
      if (outcome === RELEASED) model.locks.delete(lock);
    }
    const found = subject.now(subject.state.holder(GROUPS[group]!, name.toString('latin1')));
    assert.deepEqual(found, model.holder(lock));
  }
}

describe('LockWork', () => {
  it('does at once what a model does, also with changes that fail, and after restarts', () => {
    const first = Number(process.env.SEED ?? 1);
    for (let seed = first; seed < first + Number(process.env.SOAK_SIZE ?? 20); seed++) {
      try {
        runRandomly(seed);
      } catch (error) {
        assert.fail(`seed ${seed}: ${(error as Error).stack}`);
      }
    }
  });

  it('needs five operations of the engine to take a free lock and to release it', () => {
    const subject = new Subject();
    const { operations } = subject;
    const [name] = NAMES as [Buffer];
    const { id } = subject.now(subject.state.openSession(GROUPS[0]!, 'here', 'one'));
    const work = [(each: LockWork) => each.take(true), (each: LockWork) => each.release()];
    for (const each of work) subject.call(0, name, id, each);
    operations.splice(0);
    for (const each of work) subject.call(0, name, id, each);
    assert.deepEqual(operations, ['get', 'set', 'get', 'get', 'delete']);
  });
});
