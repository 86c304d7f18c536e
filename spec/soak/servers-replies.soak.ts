/**
 * A member whose server is behind a proxy that swallows or doubles one reply in SOAK_REPLIES
 * (10,000) for SOAK_SECONDS (10), and occasionally delays all replies. A wrong response is received
 * at most one second after such a fault, the connection with the fault is closed, and a delay
 * closes no connection. SOAK_SEED repeats the choices of a run.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { freePort } from '../free-port.ts';
import { EngineServer } from '../peers/engine-server.ts';
import { FaultClient } from './servers/fault-client.ts';
import { FaultMember } from './servers/fault-member.ts';
import { ReplyProxy } from './servers/reply-proxy.ts';

const SECONDS = Number(process.env.SOAK_SECONDS ?? 10);
const REPLIES_PER_FAULT = Number(process.env.SOAK_REPLIES ?? 10_000);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const CLIENTS = 32;
/** Pause of a client after each response, in ms: few faults are less than a second apart. */
const PAUSE_MS = 8;
const RESPONSE_MS_MAX = 15_000;
/**
 * Interval between two delays, and duration of a delay, in ms: shorter than a member waits for a
 * reply.
 */
const DELAY_INTERVAL_MS = 7000;
const DELAY_MS = 1500;
/**
 * Maximum time from a fault to a wrong response, in ms: an ECHO is sent every second; the rest is a
 * margin for a busy machine.
 */
const WRONG_MS_MAX = 1000 + 500;
/**
 * Maximum time from a fault to the end of its connection, in ms: a member closes a connection whose
 * reply is 5 s late, such as one on which it waits for only one reply.
 */
const SURVIVAL_MS_MAX = 5000 + 1000;

/** A response that does not belong to its request. */
interface Wrong {
  readonly at: number;
  readonly text: string;
}

test(`A member detects that one reply in ${REPLIES_PER_FAULT} is swallowed or doubled, seed ${SEED}`, {
  timeout: SECONDS * 1000 + 120_000,
}, async () => {
  const server = await EngineServer.start();
  const random = new Random(SEED);
  const repliesPerFault = REPLIES_PER_FAULT;
  const proxy = await ReplyProxy.start({ serverPort: server.port, random, repliesPerFault });
  const url = `redis://127.0.0.1:${proxy.port}`;
  const member = new FaultMember({ host: '127.0.0.1', runner: [] }, await freePort(), [
    '--enable-group',
    'DATA',
    '--engine',
    url,
  ]);
  try {
    await member.start();
    const wrong: Wrong[] = [];
    const statuses = new Map<number, number>();
    let isEnding = false;
    const clients = Array.from({ length: CLIENTS }, (_, index) =>
      runClient(member.port, index, () => isEnding, wrong, statuses),
    );
    const endsAt = performance.now() + SECONDS * 1000;
    let delayedCount = 0;
    let lostByDelay = 0;
    while (performance.now() < endsAt) {
      await sleep(Math.min(DELAY_INTERVAL_MS, endsAt - performance.now()));
      lostByDelay += await proxy.delay(DELAY_MS);
      delayedCount++;
    }
    isEnding = true;
    await Promise.all(clients);
    await sleep(SURVIVAL_MS_MAX);
    report(proxy, wrong, statuses, delayedCount);
    assert.equal(lostByDelay, 0, 'a delay closed connections');
    const faultTimes = proxy.faults.map(({ at }) => at);
    const late = wrong.filter(({ at }) => sinceFault(faultTimes, at) > WRONG_MS_MAX);
    assert.deepEqual(late.slice(0, 5), [], 'wrong responses long after a fault');
    const surviving = proxy.faults.filter(
      ({ at, endedAt }) => endedAt === undefined || endedAt - at > SURVIVAL_MS_MAX,
    );
    assert.deepEqual(surviving, [], 'connections remained open after a fault');
    assert.deepEqual(member.problems, []);
  } finally {
    await member.kill();
    proxy.stop();
    await server.stop();
  }
});

/** Returns the time since the last fault before `at`, in ms; Infinity without a fault. */
function sinceFault(faultTimes: readonly number[], at: number): number {
  return at - (faultTimes.findLast((time) => time <= at) ?? Number.NEGATIVE_INFINITY);
}

/**
 * Sets and gets an entry, and offers and polls an item, repeatedly. Each value begins with the name
 * of its key or queue.
 */
async function runClient(
  port: number,
  index: number,
  isEnding: () => boolean,
  wrong: Wrong[],
  statuses: Map<number, number>,
): Promise<void> {
  const client = new FaultClient('127.0.0.1', port, RESPONSE_MS_MAX);
  const name = `name-${index}-${'.'.repeat(index)}`;
  for (let number = 0; !isEnding(); number++) {
    const value = Buffer.from(`${name} ${number}`);
    for (const [method, path, body] of [
      ['POST', `maps/m/${name}`, value],
      ['GET', `maps/m/${name}`, undefined],
      ['POST', `queues/${name}`, value],
      ['DELETE', `queues/${name}/0`, undefined],
    ] as const) {
      const response = await client.request(method, path, body);
      const at = performance.now();
      if (typeof response !== 'string') {
        const { status } = response;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        const isOther =
          status === 200 && body === undefined && !`${response.body}`.startsWith(`${name} `);
        const isMissing = status === 204 && method === 'GET' && number > 0;
        if (isOther || isMissing || ![200, 204, 503].includes(status)) {
          wrong.push({ at, text: `${method} ${path}: ${status} ${response.body}` });
        }
      }
      await sleep(PAUSE_MS);
    }
  }
  client.end();
}

function report(
  { faults, replyCount }: ReplyProxy,
  wrong: readonly Wrong[],
  statuses: ReadonlyMap<number, number>,
  delays: number,
): void {
  const times = faults.map(({ at }) => at);
  const lastWrongMs = Math.max(0, ...wrong.map(({ at }) => sinceFault(times, at)));
  const survivalMs = Math.max(0, ...faults.map(({ at, endedAt = Infinity }) => endedAt - at));
  console.log(
    JSON.stringify({
      replies: replyCount,
      swallowed: faults.filter(({ kind }) => kind === 'swallowed').length,
      doubled: faults.filter(({ kind }) => kind === 'doubled').length,
      delays,
      wrong: wrong.length,
      lastWrongMs: Math.round(lastWrongMs),
      survivalMs: Math.round(survivalMs),
      statuses: Object.fromEntries(statuses),
    }),
  );
}
