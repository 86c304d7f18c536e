/**
 * 10 * SOAK_SIZE sets, overwrites, deletes and clears at full speed (100,000), replicated to
 * another cluster. Both clusters are equal within 5 s after the last change, or within 15 s after
 * the return of a target that was down for 20 s; also with a pause, and if one of two endpoints
 * fails permanently. No event is dropped. SOAK_SEED repeats a run.
 */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CuttingProxy } from '../peers/cutting-proxy.ts';
import { MapLoad, sameContents } from './wan/map-load.ts';
import { replicating, WanProcess } from './wan/wan-process.ts';

const COUNT = 10 * Number(process.env.SOAK_SIZE ?? 10_000);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const EQUAL_MS = 5000;
const DOWN_MS = 20_000;
const EQUAL_AGAIN_MS = 15_000;
const PAUSE_MS = 3000;

for (const policy of ['PassThrough', 'LatestUpdate']) {
  describe(`${COUNT} changes under ${policy}, seed ${SEED}`, () => {
    async function pair(hasProxy = false) {
      const target = await WanProcess.started({ name: 'target', sync: 'interval' });
      const proxy = hasProxy ? await CuttingProxy.start(target.port) : undefined;
      after(() => proxy?.stop());
      const ports = proxy === undefined ? [target.port] : [proxy.port, target.port];
      const grid = replicating([ports], policy);
      return { source: await WanProcess.started({ name: 'source', grid }), target, proxy };
    }

    /** Runs the load. Calls `halfway` when half of its changes are acknowledged. */
    async function changes(source: WanProcess, halfway: () => void): Promise<MapLoad> {
      const load = new MapLoad({ name: 'a', seed: SEED });
      let isHalf = false;
      await load.run(source.port, () => {
        if (!isHalf && load.acknowledged >= COUNT / 2) {
          isHalf = true;
          halfway();
        }
        return load.acknowledged >= COUNT;
      });
      return load;
    }

    /** Asserts that both members become equal within `withinMs` after `sinceMs`. */
    async function assertEqual(
      source: WanProcess,
      target: WanProcess,
      load: MapLoad,
      sinceMs: number,
      withinMs: number,
    ): Promise<string> {
      await source.awaitEmpty(Math.max(0, sinceMs + withinMs - performance.now()));
      const tookMs = performance.now() - sinceMs;
      load.check(await sameContents([source.port, target.port], load.maps, [load]));
      const { eventsDropped, eventsRejected, eventsSent } = await source.publisher();
      assert.deepEqual([eventsDropped, eventsRejected], [0, 0]);
      return `${load.acknowledged} changes, ${eventsSent} events sent, equal after ${tookMs.toFixed(0)} ms`;
    }

    it('reach the target within 5 s', async (context) => {
      const { source, target } = await pair();
      const load = await changes(source, () => {});
      context.diagnostic(await assertEqual(source, target, load, load.lastMs, EQUAL_MS));
    });

    it('reach the target within 5 s after a pause of the publisher', async (context) => {
      const { source, target } = await pair();
      let pausing: Promise<void> | undefined;
      const load = await changes(source, () => {
        pausing = source.call('pausePublisher');
      });
      await pausing;
      await sleep(PAUSE_MS);
      assert.ok((await source.publisher()).queueSize > 0);
      await source.call('resumePublisher');
      context.diagnostic(await assertEqual(source, target, load, performance.now(), EQUAL_MS));
    });

    it('reach a target that was down for 20 s within 15 s of its return', async (context) => {
      const { source, target } = await pair();
      let down: Promise<void> | undefined;
      const load = await changes(source, () => {
        down = target.kill().then(() => sleep(DOWN_MS));
      });
      await down;
      await target.start();
      context.diagnostic(
        await assertEqual(source, target, load, performance.now(), EQUAL_AGAIN_MS),
      );
    });

    it('reach the target within 5 s if one of two endpoints fails permanently', async (context) => {
      const { source, target, proxy } = await pair(true);
      const load = await changes(source, () => proxy?.stop());
      context.diagnostic(await assertEqual(source, target, load, load.lastMs, EQUAL_MS));
    });
  });
}
