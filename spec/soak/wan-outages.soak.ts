/**
 * Ten times SOAK_SIZE sets, overwrites, deletes and clears at full speed (100,000), which go to another
 * cluster: 5 s after the last one both have the same, and 15 s after the target was down for 20 s; also with
 * a pause, and where one of two endpoints dies for good. Nothing is dropped. SOAK_SEED repeats a run.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { MapLoad, sameContents } from './wan/map-load.ts';
import { Relay } from './wan/relay.ts';
import { endAll, replicating, WanProcess } from './wan/wan-process.ts';

const COUNT = 10 * Number(process.env.SOAK_SIZE ?? 10_000);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const EQUAL_MS = 5000;
const DOWN_MS = 20_000;
const EQUAL_AGAIN_MS = 15_000;
const PAUSE_MS = 3000;

const FOLDER = mkdtempSync(join(tmpdir(), 'wan-outages-'));
after(() => rmSync(FOLDER, { recursive: true }));

for (const policy of ['PassThrough', 'LatestUpdate']) {
  describe(`${COUNT} changes under ${policy}, seed ${SEED}`, () => {
    const members: WanProcess[] = [];
    let relay: Relay | undefined;

    afterEach(async () => {
      relay?.close();
      await endAll(members.splice(0));
    });

    async function pair(isRelayed = false): Promise<readonly [WanProcess, WanProcess]> {
      const folder = mkdtempSync(join(FOLDER, 'pair-'));
      const target = await WanProcess.started({ folder, name: 'target', sync: 'interval' });
      members.push(target);
      if (isRelayed) relay = await Relay.to(target.port);
      const ports = relay === undefined ? [target.port] : [relay.port, target.port];
      const grid = replicating(ports, policy);
      const source = await WanProcess.started({ folder, name: 'source', grid });
      members.push(source);
      return [source, target];
    }

    /** Runs the load; calls `halfway` when half of it is answered. Resolves with the load and its end. */
    async function changes(source: WanProcess, halfway: () => void): Promise<MapLoad> {
      const load = new MapLoad({ name: 'a', seed: SEED });
      let isHalf = false;
      await load.run(source.port, () => {
        if (!isHalf && load.answered >= COUNT / 2) {
          isHalf = true;
          halfway();
        }
        return load.answered >= COUNT;
      });
      return load;
    }

    /** Both must have the same before `withinMs` have passed since `sinceMs`. */
    async function areEqual(
      source: WanProcess,
      target: WanProcess,
      load: MapLoad,
      sinceMs: number,
      withinMs: number,
    ): Promise<string> {
      await source.isEmptied(Math.max(0, sinceMs + withinMs - performance.now()));
      const tookMs = performance.now() - sinceMs;
      load.check(await sameContents([source.port, target.port], load.maps, [load]));
      const { eventsDropped, eventsRejected, eventsSent } = await source.publisher();
      assert.deepEqual([eventsDropped, eventsRejected], [0, 0]);
      return `${load.answered} answered, ${eventsSent} sent, equal after ${tookMs.toFixed(0)} ms`;
    }

    it('are at the other member 5 s later', async (context) => {
      const [source, target] = await pair();
      const load = await changes(source, () => {});
      context.diagnostic(await areEqual(source, target, load, load.lastMs, EQUAL_MS));
    });

    it('are there 5 s later with a pause in the middle', async (context) => {
      const [source, target] = await pair();
      let pausing: Promise<void> | undefined;
      const load = await changes(source, () => {
        pausing = source.call('pausePublisher');
      });
      await pausing;
      await sleep(PAUSE_MS);
      assert.ok((await source.publisher()).queueSize > 0);
      await source.call('resumePublisher');
      context.diagnostic(await areEqual(source, target, load, performance.now(), EQUAL_MS));
    });

    it('are there 15 s after a target that was down for 20 s is back', async (context) => {
      const [source, target] = await pair();
      let down: Promise<void> | undefined;
      const load = await changes(source, () => {
        down = target.kill().then(() => sleep(DOWN_MS));
      });
      await down;
      await target.start();
      context.diagnostic(await areEqual(source, target, load, performance.now(), EQUAL_AGAIN_MS));
    });

    it('are there 5 s later where one of two endpoints dies for good', async (context) => {
      const [source, target] = await pair(true);
      const load = await changes(source, () => relay?.close());
      context.diagnostic(await areEqual(source, target, load, load.lastMs, EQUAL_MS));
    });
  });
}
