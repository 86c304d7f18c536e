/**
 * A list of 100 * SOAK_SIZE entries that a client reads slowly, while the entries are overwritten, deleted
 * and added. Each entry that exists throughout is listed exactly once, no other more than once, and the
 * list takes at most 16 MiB of memory. The longest turns with and without the list are reported.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { programWords } from '../../bench/load/program.ts';
import { ServerProcess } from '../../bench/load/server-process.ts';
import { RawClient, requestBytes } from '../integration/client.ts';

const COUNT = 100 * Number(process.env.SOAK_SIZE ?? 10_000);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const VALUE = Buffer.alloc(100, 'v');
const PIPELINE = 200;
/** Every third entry is deleted or set anew, the others are overwritten. */
const UNSTEADY = 3;
const MIB_MAX = 16;
/** Changes before the list, for the memory that they take by themselves. */
const WARM_MS = 5000;
/** Time that the client waits after each part of the list, in ms. */
const PAUSE_MS = 5;

/** Sends the requests in pipelines, and asserts that each is done. */
async function send(client: RawClient, requests: readonly Buffer[]): Promise<void> {
  client.send(Buffer.concat(requests));
  for (const _ of requests) assert.equal((await client.response())?.status, 200);
}

function setting(number: number): Buffer {
  return requestBytes('POST', `maps/m/${number}`, VALUE);
}

function randomChange(random: Random): Buffer {
  const number = random.below(COUNT);
  if (number % UNSTEADY > 0) return setting(number);
  return random.below(2) === 0 ? requestBytes('DELETE', `maps/m/${number}`) : setting(number);
}

/** Reads a list slowly. Returns how often each number was listed. */
async function readSlowly(port: number): Promise<Uint8Array> {
  const counts = new Uint8Array(COUNT);
  const request = get({ host: '127.0.0.1', port, path: '/grid/v1/maps/m/entries' });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  assert.equal(response.statusCode, 200);
  let rest = '';
  for await (const chunk of response) {
    const lines = `${rest}${chunk}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { key, value, cursor } = JSON.parse(line);
      if (key === undefined) assert.equal(cursor, null);
      else {
        assert.equal(value.length, VALUE.length);
        counts[Number(key)]!++;
      }
    }
    await sleep(PAUSE_MS);
  }
  return counts;
}

/** Returns the longest turn since the last call, in ms. */
async function longestTurn(port: number): Promise<number> {
  const client = new RawClient(port);
  client.send('GET /grid/metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
  const text = (await client.response())?.body.toString() ?? '';
  return 1000 * Number(/^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text)?.[1]);
}

test(`A list of ${COUNT} entries that change (seed ${SEED})`, async (context) => {
  const random = new Random(SEED);
  const flags = ['--port', '0', '--enable-group', 'DATA', '--enable-group', 'CLUSTER_READ'];
  const server = new ServerProcess('gridnode', [
    ...programWords('bin/gridnode'),
    'serve',
    ...flags,
  ]);
  try {
    await server.serving();
    const client = new RawClient(server.port);
    for (let number = 0; number < COUNT; number += PIPELINE) {
      const end = Math.min(number + PIPELINE, COUNT);
      await send(
        client,
        Array.from({ length: end - number }, (_, add) => setting(number + add)),
      );
    }
    let isOver = false;
    let changes = 0;
    let highest = 0;
    const changing = (async () => {
      while (!isOver) {
        await send(
          client,
          Array.from({ length: PIPELINE }, () => randomChange(random)),
        );
        changes += PIPELINE;
        highest = Math.max(highest, server.residentMib() ?? 0);
      }
    })();
    await longestTurn(server.port);
    await sleep(WARM_MS);
    const before = { highest, turn: await longestTurn(server.port) };
    const counts = await readSlowly(server.port);
    const turn = await longestTurn(server.port);
    const more = highest - before.highest;
    isOver = true;
    await changing;
    for (const [number, count] of counts.entries()) {
      const isRight = number % UNSTEADY > 0 ? count === 1 : count <= 1;
      assert.ok(isRight, `${number} is listed ${count} times`);
    }
    assert.ok(more <= MIB_MAX, `${more.toFixed(1)} MiB more`);
    const turns = `longest turn ${turn.toFixed(1)} ms, ${before.turn.toFixed(1)} ms before`;
    context.diagnostic(`${changes} changes, ${more.toFixed(1)} MiB more, ${turns}`);
  } finally {
    await server.stop();
  }
});
