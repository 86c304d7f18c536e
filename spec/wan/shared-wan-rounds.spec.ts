/**
 * Covers src/wan/shared-wan.ts. Random rounds of a cluster on servers: members start, leave, die, are
 * stopped and resumed; lines to the store are cut or slow; results are lost; publishers are added and
 * removed. Meanwhile every member that accepts changes has the publishers whose addition was confirmed,
 * and none whose removal was. WAN_SEED repeats a run, with WAN_ROUNDS of them.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { before, test } from 'node:test';
import type { Random } from '../../bench/harness.ts';
import { LEASE_MS } from '../cluster/cluster-world.ts';
import { fileOf, type SharedMember, SharedWorld } from './shared-members.ts';

const SEED = Number(process.env.WAN_SEED ?? randomInt(1_000_000_000));
const ROUNDS = Number(process.env.WAN_ROUNDS ?? 3);
const EVENTS = 100;
const MEMBERS_MAX = 5;
const IDS = ['a', 'b', 'c'];
/** Interval between two checks, in ms. */
const CHECK_MS = 5;

class Round {
  readonly #world: SharedWorld;
  readonly #random: Random;
  /** Members that have neither left nor died. */
  #present: SharedMember[] = [];
  /** Publishers that every member must have, and must not have. */
  readonly #added = new Set<string>();
  readonly #removed = new Set(IDS);
  /** Publishers of a call that is in progress. */
  readonly #busy = new Set<string>();
  readonly outcomes = new Map<string, number>();

  constructor(seed: number) {
    this.#world = new SharedWorld(seed);
    this.#random = this.#world.world.random;
  }

  async run(): Promise<void> {
    for (let at = 0; at < 3; at++) await this.#come();
    for (let at = 0; at < EVENTS; at++) {
      await this.#event();
      await this.#pass(this.#random.below(this.#random.below(8) === 0 ? 9000 : 500));
    }
    await this.#settle();
  }

  async #pass(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= CHECK_MS) {
      await this.#world.pass(Math.min(CHECK_MS, leftMs));
      for (const member of this.#present) this.#check(member);
    }
  }

  #check({ node: { clock, cluster, address }, wan }: SharedMember): void {
    if (!cluster.isStarted || !clock.isRunning || !cluster.acceptsWrites) return;
    const ids = wan.running!.publishers().map(({ wanPublisherId }) => wanPublisherId);
    for (const id of this.#added) assert.ok(ids.includes(id), `${address} lacks ${id}`);
    for (const id of this.#removed) assert.ok(!ids.includes(id), `${address} still has ${id}`);
  }

  async #event(): Promise<void> {
    const member = this.#present[this.#random.below(this.#present.length)];
    const event = this.#random.below(14);
    if (member === undefined || event === 0) await this.#come();
    else if (event === 1) this.#go(member, () => void member.node.cluster.leave());
    else if (event === 2) {
      this.#go(member, () => {
        member.node.kill();
        member.engine.isKilled = true;
      });
    } else if (event === 3) member.node.stop();
    else if (event <= 5) for (const { node } of this.#present) node.resume();
    else if (event <= 7) this.#disturbLine(member);
    else if (event === 8) member.blocked = this.#world.world.sleep(this.#random.below(4000));
    else void this.#call(member);
  }

  async #come(): Promise<void> {
    if (this.#present.length >= MEMBERS_MAX) return;
    const member = await this.#world.join(fileOf('m'));
    this.#present.push(member);
    member.joined.catch((error) => assert.fail(error));
  }

  #go(member: SharedMember, end: () => void): void {
    this.#present = this.#present.filter((each) => each !== member);
    end();
  }

  #disturbLine({ node: { line } }: SharedMember): void {
    const what = this.#random.below(4);
    if (what === 0) line.isCut = this.#random.below(2) === 0;
    else if (what === 1) line.delayMs = 2 + this.#random.below(600);
    else if (what === 2) line.answersLost = this.#random.below(3);
    else line.hasHints = !line.hasHints;
  }

  /** Adds or removes a publisher. If the outcome is unknown, both states are allowed. */
  async #call({ node, reloader }: SharedMember): Promise<void> {
    const id = IDS[this.#random.below(IDS.length)]!;
    if (this.#busy.has(id) || !node.cluster.isStarted) return;
    this.#busy.add(id);
    const isAddition = this.#random.below(2) === 0;
    const publisher = { publisherId: id, targetEndpoints: '127.0.0.1:1' };
    const call = { ...publisher, initialPublisherState: 'PAUSED' };
    this.#added.delete(id);
    this.#removed.delete(id);
    const outcome = isAddition
      ? await reloader.addWan(JSON.stringify({ name: 'r', batchPublishers: [call] }))
      : await reloader.removeWan('r', id);
    const refusal = outcome !== undefined && 'faults' in outcome ? outcome.refusal?.code : 'DONE';
    if (refusal === 'DONE') (isAddition ? this.#added : this.#removed).add(id);
    this.#busy.delete(id);
    const name = `${isAddition ? 'add' : 'remove'} ${refusal}`;
    this.outcomes.set(name, (this.outcomes.get(name) ?? 0) + 1);
  }

  /** Ends all faults. In the end all members have the same publishers, those of the record. */
  async #settle(): Promise<void> {
    if (this.#present.length === 0) await this.#come();
    for (const { node } of this.#present) {
      Object.assign(node.line, { isCut: false, delayMs: 2, answersLost: 0, hasHints: true });
      node.resume();
    }
    await this.#pass(2 * LEASE_MS);
    const lists = this.#present.map(({ wan }) =>
      wan.running!.publishers().map(({ wanPublisherId }) => wanPublisherId),
    );
    for (const [at, { node }] of this.#present.entries()) {
      assert.ok(node.cluster.isReady && node.cluster.acceptsWrites, node.reported.join());
      assert.deepEqual(lists[at]!.toSorted(), lists[0]!.toSorted());
    }
  }
}

// The modules are loaded in real time.
before(() => import('../../src/wan/server-replications.ts'));

for (let seed = SEED; seed < SEED + ROUNDS; seed++) {
  test(`members act on additions and removals that are confirmed (seed ${seed})`, async (context) => {
    const round = new Round(seed);
    await round.run();
    context.diagnostic([...round.outcomes].map(([name, count]) => `${name} ${count}`).join(', '));
  });
}
