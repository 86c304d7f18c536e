/**
 * Covers src/wan/map-sync.ts and src/wan/sync-lanes.ts. Synchronisations after, during and before
 * removals and overwrites at the target, under each policy. A sync restores entries removed by
 * clients of the target, except under LatestUpdate, and does not change entries that the policy
 * retains. A removal at the source during a sync is not undone.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LATEST_UPDATE, PASS_THROUGH, PUT_IF_ABSENT } from '../../src/engine/merge-policy.ts';
import { CLEAR, DELETE, SET } from '../../src/engine/mutation.ts';
import type { WanPublisherOptions } from '../../src/wan/wan-config.ts';
import { MERGE_POLICIES } from '../../src/wan/wan-settings.ts';
import { type Member, Network, OPTIONS, shaped } from './members.ts';

const REMOVALS = ['deletes', 'a clear', 'both', 'expiry'] as const;
const KEYS = 8;
const keyOf = (index: number): string => `k${index}`;

/** A chain: the source, its target, and the target of the target. */
class Chain {
  readonly network = new Network();
  readonly source: Member;
  readonly target: Member;
  readonly third: Member;

  constructor(policy: number, options: Partial<WanPublisherOptions> = {}) {
    const own = { ...OPTIONS, consistencyCheckStrategy: 'MERKLE_TREES' as const, ...options };
    const members = shaped(this.network, 'chain', [0, 0, 0], own);
    for (const member of members) member.policy = policy;
    [this.source, this.target, this.third] = members as [Member, Member, Member];
  }

  async pass(ms = 500): Promise<void> {
    for (let passed = 0; passed < ms; passed += 20) {
      for (const member of [this.source, this.target, this.third]) member.sync();
      await this.network.pass(20, 10);
    }
  }

  /** Returns the status of a task of the source at its end. */
  ended(uuid: string) {
    return this.source.ended(uuid, () => this.pass(20));
  }

  async sync() {
    const uuid = this.source.replications.synchronise('r', '', Buffer.from('m'));
    const status = await this.ended(uuid);
    assert.equal(status.stage, 'FINISHED', status.message);
    await this.pass();
    return status;
  }

  async check() {
    return await this.ended(this.source.replications.check('r', '', Buffer.from('m')));
  }
}

function fill(member: Member, value: string): void {
  for (let index = 0; index < KEYS; index++) member.engine.change(SET, 'm', keyOf(index), value);
}

function count(member: Member, value?: string): number {
  const all = member.engine.contents();
  return value === undefined
    ? all.length
    : all.filter((text) => text.includes(` = ${value} at`)).length;
}

for (const [policy, name] of MERGE_POLICIES.entries()) {
  const restores = policy !== LATEST_UPDATE;

  describe(`a sync under ${name}`, () => {
    // The others differ from PassThrough only if there is an entry.
    const isWhole = policy === PASS_THROUGH || policy === LATEST_UPDATE;
    for (const removal of isWhole ? REMOVALS : (['both'] as const)) {
      for (const isDelta of [false, true]) {
        const kind = isDelta ? 'delta sync' : 'sync';
        it(`restores entries that ${removal} removed at the target: ${kind}, and a restart`, async () => {
          const chain = new Chain(policy);
          const { source, target, third } = chain;
          fill(source, 'v');
          await chain.pass();
          assert.deepEqual([count(target), count(third)], [KEYS, KEYS]);
          if (isDelta) assert.equal((await chain.check()).entriesToSync, 0);
          await chain.pass();
          if (removal !== 'a clear' && removal !== 'expiry') {
            for (let index = 0; index < KEYS; index++) {
              target.engine.change(DELETE, 'm', keyOf(index));
            }
          }
          if (removal === 'a clear' || removal === 'both') {
            target.engine.change(SET, 'm', 'k0', 'q');
            target.engine.change(CLEAR, 'm', '');
          }
          if (removal === 'expiry') {
            for (let index = 0; index < KEYS; index++) {
              target.engine.change(SET, 'm', keyOf(index), 'short', 50);
            }
          }
          await chain.pass();
          assert.equal(count(target), 0);
          target.restart();
          await chain.pass();
          const status = await chain.sync();
          // The tombstone of an expired entry has the entry's version, which is later than the
          // source's.
          assert.equal(count(target), restores ? KEYS : 0);
          assert.equal(count(third), restores ? KEYS : 0);
          assert.equal(status.entriesNotTaken, restores ? 0 : KEYS);
          const { differentLeaves, entriesToSync } = await chain.check();
          assert.equal((differentLeaves ?? 0) > 0, !restores);
          assert.equal((entriesToSync ?? 0) >= KEYS, !restores);
          // Restored entries can be changed and deleted as before.
          source.engine.change(SET, 'm', 'k0', 'again');
          source.engine.change(DELETE, 'm', 'k1');
          await chain.pass();
          for (const member of [target, third]) {
            assert.equal(count(member, 'again'), policy === PUT_IF_ABSENT ? 0 : 1);
            assert.ok(!member.places.includes('m/k1'));
          }
        });
      }
    }

    it('follows the table of the policies if the target has written meanwhile', async () => {
      const chain = new Chain(policy);
      const { source, target, third } = chain;
      fill(source, 'v');
      await chain.pass();
      fill(target, 'own');
      await chain.pass();
      const { entriesNotTaken } = await chain.sync();
      const isKept = policy === PUT_IF_ABSENT || policy === LATEST_UPDATE;
      assert.equal(count(target, 'own'), isKept ? KEYS : 0);
      // Under PutIfAbsent it still has its earlier entries.
      assert.equal(count(third, 'own'), policy === LATEST_UPDATE ? KEYS : 0);
      assert.equal(entriesNotTaken, isKept ? KEYS : 0);
      const lines = source.log.lines.filter((line) =>
        line.includes(`did not take ${KEYS} entries`),
      );
      assert.equal(lines.length, isKept ? 1 : 0);
      assert.equal((await chain.check()).differentLeaves === 0, !isKept);
    });

    it('does not undo removals by the source during it, or by the target after its beginning', async () => {
      for (const operation of [DELETE, CLEAR] as const) {
        const chain = new Chain(policy, { batchSize: 2 });
        const { source, target, third } = chain;
        fill(source, 'v');
        await chain.pass(2000);
        target.engine.change(CLEAR, 'm', '');
        await chain.pass();
        const uuid = source.replications.synchronise('r', '', Buffer.from('m'));
        for (let index = 0; index < KEYS; index++) {
          await chain.pass(10);
          source.engine.change(operation, 'm', operation === CLEAR ? '' : keyOf(index));
        }
        assert.equal((await chain.ended(uuid)).stage, 'FINISHED');
        await chain.pass(2000);
        assert.deepEqual([count(source), count(target), count(third)], [0, 0, 0]);
        // The source's removal is later than the entries that an earlier sync has read.
        source.restart();
        await chain.pass(2000);
        assert.deepEqual([count(source), count(target), count(third)], [0, 0, 0]);
      }
    });
  });
}

describe('a sync whose batches arrive twice', () => {
  it('counts each entry that was not accepted once', async () => {
    const chain = new Chain(LATEST_UPDATE, { batchSize: 3 });
    const { source, target } = chain;
    fill(source, 'v');
    await chain.pass(2000);
    fill(target, 'own');
    chain.network.fate = () => ({ arrivals: [1, 3], answerMs: 20 });
    assert.equal((await chain.sync()).entriesNotTaken, KEYS);
    assert.equal((await chain.sync()).entriesNotTaken, KEYS);
  });
});
