/**
 * 100 * SOAK_SIZE changes of 100 bytes (1,000,000) that wait in the queue of a paused publisher
 * reach the target within 10 s after the publisher is resumed.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { fill } from '../../bench/load/fill.ts';
import { KEY, keyOf } from '../../bench/load/request.ts';
import { RawClient } from '../integration/client.ts';
import { replicating, WanProcess } from './wan/wan-process.ts';

const COUNT = 100 * Number(process.env.SOAK_SIZE ?? 10_000);
const DELIVERY_MS = 10_000;
const VALUE = 'v'.repeat(100);

for (const compression of ['none', 'deflate']) {
  it(`${COUNT} queued changes reach the target within 10 s, compression ${compression}`, async (context) => {
    const target = await WanProcess.started({ name: 'target' });
    const grid = replicating([[target.port]], 'PassThrough', {
      'initial-publisher-state': 'PAUSED',
      'queue-bytes-max': '1g',
      compression,
    });
    Object.assign(grid, { wan: { 'queue-bytes-max': '1g' } });
    const source = await WanProcess.started({ name: 'source', grid });
    const request =
      `POST /grid/rest/maps/own-m/${KEY} HTTP/1.1\r\nHost: 127.0.0.1\r\n` +
      `Content-Length: ${VALUE.length}\r\n\r\n${VALUE}`;
    await fill(source.port, { request, answer: 'HTTP/1.1 200 OK\r\n' }, 0, COUNT);
    assert.equal((await source.publisher()).queueSize, COUNT);
    const { queueBytes } = await source.publisher();
    const sourceMs = source.cpuMs;
    const targetMs = target.cpuMs;
    const beginMs = performance.now();
    await source.call('resumePublisher');
    await source.awaitEmpty(6 * DELIVERY_MS);
    const tookMs = performance.now() - beginMs;
    context.diagnostic(
      `${(tookMs / 1000).toFixed(2)} s; ${((source.cpuMs - sourceMs) / 1000).toFixed(2)} s of the source's ` +
        `processor, ${((target.cpuMs - targetMs) / 1000).toFixed(2)} s of the target's; queue of ` +
        `${(queueBytes / 2 ** 20).toFixed(0)} MiB, ${source.residentMib.toFixed(0)} and ` +
        `${target.residentMib.toFixed(0)} MiB resident`,
    );
    const { eventsSent, eventsDropped } = await source.publisher();
    assert.deepEqual([eventsSent, eventsDropped], [COUNT, 0]);
    const reader = new RawClient(target.port);
    for (const index of [0, 1, COUNT >> 1, COUNT - 1]) {
      const { body } = await reader.request('GET', `maps/own-m/${keyOf(index)}`);
      assert.equal(body.toString(), VALUE);
    }
    reader.destroy();
    assert.ok(tookMs <= DELIVERY_MS, `${tookMs.toFixed(0)} ms`);
  });
}
