/**
 * Covers src/cluster. Random rounds of one cluster: members join, leave, die, are stopped and
 * resumed; lines to the store are cut or slow; results are lost; the store is unreachable; its
 * clock jumps; states change; data changes. Meanwhile no change may take effect in a PASSIVE
 * cluster. At the end, after all faults, the members must have equal views. CLUSTER_SEED repeats a
 * run, with CLUSTER_ROUNDS of them.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import type { Random } from '../../bench/harness.ts';
import { License } from '../../src/cluster/license.ts';
import { TRANSITION_MS } from '../../src/cluster/state-changes.ts';
import { ClusterWorld, LEASE_MS, type TestMember } from './cluster-world.ts';

const SEED = Number(process.env.CLUSTER_SEED ?? randomInt(1_000_000_000));
const ROUNDS = Number(process.env.CLUSTER_ROUNDS ?? 3);
const EVENTS = 150;
const MEMBERS_MAX = 6;
const STATES = ['PASSIVE', 'ACTIVE', 'PASSIVE', 'ACTIVE', 'FROZEN', 'NO_MIGRATION'] as const;

class Round {
  readonly #random: Random;
  readonly #world: ClusterWorld;
  /** Members that have neither left nor died. */
  #present: TestMember[] = [];
  readonly outcomes = new Map<string, number>();

  constructor(seed: number) {
    this.#world = new ClusterWorld(seed);
    this.#random = this.#world.world.random;
  }

  async run(): Promise<void> {
    for (let at = 0; at < 3; at++) this.#come();
    await this.#world.pass(2000);
    for (let at = 0; at < EVENTS; at++) {
      this.#event();
      await this.#passChanging(this.#random.below(10) === 0 ? 9000 : 400);
    }
    await this.#settle();
    this.#check();
  }

  /** Advances the time while each member changes data. */
  async #passChanging(ms: number): Promise<void> {
    for (let leftMs = this.#random.below(ms); leftMs > 0; leftMs -= 100) {
      for (const { engine } of this.#present) engine.change();
      await this.#world.pass(Math.min(100, leftMs));
    }
  }

  #event(): void {
    const member = this.#present[this.#random.below(this.#present.length)];
    const event = this.#random.below(16);
    if (member === undefined || event === 0) this.#come();
    else if (event === 1) this.#go(member, () => void member.cluster.leave());
    else if (event === 2) this.#go(member, () => member.kill());
    else if (event <= 4) member.stop();
    else if (event <= 5) this.#resume();
    else if (event === 6 || this.#world.isStoreAway)
      this.#world.isStoreAway = this.#random.below(3) === 0;
    else if (event <= 9) this.#disturbLine(member);
    else if (event === 10) this.#disturbEngine(member);
    else if (event === 11) void this.#setLicense(member);
    else if (event === 12 && this.#random.below(4) === 0) this.#jump();
    else void this.#changeState(member);
  }

  /**
   * Resumes all members: pending changes proceed, and new ones begin before any timer or result.
   */
  #resume(): void {
    for (const each of this.#present) each.resume();
  }

  #come(): void {
    if (this.#present.length >= MEMBERS_MAX) return;
    const member = this.#world.add({ aheadMs: this.#random.below(20_000) });
    member.engine.sendDelayMs = 50;
    this.#present.push(member);
    void member.start();
  }

  #go(member: TestMember, end: () => void): void {
    this.#present = this.#present.filter((each) => each !== member);
    end();
  }

  #jump(): void {
    this.#world.skewMs += this.#random.below(20_000) - 10_000;
  }

  #disturbLine({ line }: TestMember): void {
    const what = this.#random.below(4);
    if (what === 0) line.isCut = this.#random.below(2) === 0;
    else if (what === 1) line.delayMs = 2 + this.#random.below(600);
    else if (what === 2) line.answersLost = this.#random.below(3);
    else line.hasHints = !line.hasHints;
  }

  #disturbEngine({ engine }: TestMember): void {
    engine.sendDelayMs = this.#random.below(500);
    engine.answerDelayMs = this.#random.below(10) === 0 ? 70_000 : this.#random.below(2000);
  }

  async #setLicense({ cluster }: TestMember): Promise<void> {
    const key = Buffer.from(String(this.#random.next()));
    await this.#note(new License(cluster.record).set(key), 'license');
  }

  async #changeState({ cluster }: TestMember): Promise<void> {
    const state = STATES[this.#random.below(STATES.length)] ?? 'ACTIVE';
    await this.#note(cluster.changeState(state), 'state');
  }

  async #note(change: Promise<void>, what: string): Promise<void> {
    const outcome = await change.then(
      () => 'DONE',
      ({ code }) => code,
    );
    const name = `${what} ${outcome}`;
    this.outcomes.set(name, (this.outcomes.get(name) ?? 0) + 1);
  }

  /** Ends all faults; dead members remain dead, and get no result. */
  async #settle(): Promise<void> {
    this.#world.isStoreAway = false;
    for (const member of this.#present) {
      Object.assign(member.line, { isCut: false, delayMs: 2, answersLost: 0, hasHints: true });
      Object.assign(member.engine, { sendDelayMs: 0, answerDelayMs: 10 });
      member.resume();
    }
    await this.#world.pass(2 * TRANSITION_MS + LEASE_MS);
    const [member] = this.#present.filter(({ cluster }) => cluster.joinNumber > 0);
    if (member === undefined || member.cluster.state === 'ACTIVE') return;
    const opened = member.cluster.changeState('ACTIVE');
    await Promise.all([opened, this.#world.pass(5000)]);
  }

  #check(): void {
    const [first] = this.#present;
    if (first === undefined) return;
    const known = ({ cluster }: TestMember) => ({
      members: cluster.members.map(({ localMember: _, ...fields }) => fields),
      state: cluster.state,
      values: cluster.record.values,
      isReady: cluster.isReady,
      acceptsWrites: cluster.acceptsWrites,
    });
    for (const member of this.#present) {
      const { members, state, isReady, acceptsWrites } = known(member);
      assert.deepEqual([state, isReady, acceptsWrites], ['ACTIVE', true, true]);
      assert.deepEqual(known(member), known(first));
      assert.equal(members.length, this.#present.length);
      assert.equal(member.engine.change(), true);
      const [own] = member.cluster.members.filter(({ localMember }) => localMember);
      assert.equal(own?.uuid, member.uuid);
    }
    const numbers = members(this.#present, first).map(({ cluster }) => cluster.joinNumber);
    assert.deepEqual(
      numbers,
      [...numbers].sort((a, b) => a - b),
    );
  }
}

/** Returns the members in the order that one of them reports. */
function members(present: readonly TestMember[], by: TestMember): TestMember[] {
  return by.cluster.members.flatMap(({ uuid }) => present.filter((each) => each.uuid === uuid));
}

for (let seed = SEED; seed < SEED + ROUNDS; seed++) {
  test(`a cluster with random members settles (seed ${seed})`, async (context) => {
    const round = new Round(seed);
    await round.run();
    context.diagnostic([...round.outcomes].map(([name, count]) => `${name} ${count}`).join(', '));
  });
}
