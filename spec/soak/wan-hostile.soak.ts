/**
 * Hostile messages to a member over HTTP: batches with a flipped bit or a cut at each byte,
 * SOAK_CASES / 10 batches with wrong content and a correct checksum, random bytes, and messages
 * that inflate to far more than they declare. Also SOAK_CASES * 10 events with hostile content
 * types, keys and names (1,000,000 by default). All messages that are not valid by chance get 4xx,
 * and the process does not grow.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { Random } from '../../bench/harness.ts';
import { DELETE, type Mutation, SET } from '../../src/engine/mutation.ts';
import { BATCH, HEAD_BYTES, sealDeflated, sealPlain } from '../../src/wan/message-format.ts';
import { RawClient, requestBytes } from '../integration/client.ts';
import { sendHostileEvents } from '../wan/hostile-events.ts';
import { batchOf, changeOf, headOf, resealed } from '../wan/messages.ts';
import { WanProcess } from './wan/wan-process.ts';

const CASES = Number(process.env.SOAK_CASES ?? 100_000) / 10;
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const EVENTS = CASES * 100;
const CONNECTIONS = 32;
const BOMBS = 300;
const BOMB_BYTES = 2 ** 28;
/**
 * Maximum growth of resident memory, in MiB: the 64 MiB that are inflated at a time, and garbage
 * that is not yet collected.
 */
const GROWTH_MIB_MAX = 200;

describe(`A member that receives hostile messages, seed ${SEED}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'wan-hostile-'));
  let member: WanProcess;
  let dataSet: Buffer;

  before(async () => {
    member = await WanProcess.started({ folder, name: 'target' });
    dataSet = await member.dataSet();
  });
  after(async () => {
    await member.kill();
    rmSync(folder, { recursive: true });
  });

  /** Sends the messages over several connections. Returns their statuses, in order. */
  async function sendAll(messages: Iterable<Buffer>): Promise<number[]> {
    const statuses: number[] = [];
    const remaining = messages[Symbol.iterator]();
    let count = 0;
    const senders = Array.from({ length: CONNECTIONS }, async () => {
      const client = new RawClient(member.port);
      for (let next = remaining.next(); !next.done; next = remaining.next()) {
        const index = count++;
        client.send(requestBytes('POST', 'wan/receive', next.value));
        const response = await client.response();
        assert.ok(response !== undefined, `message ${index} got no response`);
        statuses[index] = response.status;
      }
      client.destroy();
    });
    await Promise.all(senders);
    return statuses;
  }

  /** Returns the status of a GET of the key that the batches set. */
  async function statusOfKey(): Promise<number> {
    const client = new RawClient(member.port);
    const { status } = await client.request('GET', 'maps/map/a');
    client.destroy();
    return status;
  }

  it('refuses batches with a flipped bit or a cut', async () => {
    for (const isCompressed of [false, true]) {
      const message = await (isCompressed ? sealDeflated : sealPlain)(
        batchOf(changes(), dataSet),
        headOf(BATCH),
      );
      const wrong = [...message].flatMap((byte, at) => {
        const flipped = [...Array(8).keys()].map((bit) => {
          const copy = Buffer.from(message);
          copy[at] = byte ^ (1 << bit);
          return copy;
        });
        return [...flipped, message.subarray(0, at)];
      });
      assert.deepEqual(new Set(await sendAll(wrong)), new Set([400]));
    }
    assert.equal(await statusOfKey(), 204);
    const right = sealPlain(batchOf(changes(), dataSet), headOf(BATCH));
    assert.deepEqual(await sendAll([right]), [200]);
    assert.equal(await statusOfKey(), 200);
  });

  it('refuses messages that inflate to more than they declare, without growing', async (context) => {
    const beforeMib = member.residentMib;
    const bomb = deflateRawSync(Buffer.alloc(BOMB_BYTES));
    const declaring = (length: number): Buffer => {
      const bytes = Buffer.concat([Buffer.alloc(HEAD_BYTES), bomb]);
      const message = sealPlain(bytes, headOf(BATCH));
      message[6] = 1;
      message.writeUInt32LE(length, 16);
      return resealed(message);
    };
    const bombs = [10, 4_000_000, 10_000_000, 2 ** 28, 2 ** 32 - 1].map(declaring);
    const messages = Array.from({ length: BOMBS }, (_, index) => bombs[index % bombs.length]!);
    let mostMib = 0;
    const watching = setInterval(() => {
      mostMib = Math.max(mostMib, member.residentMib);
    }, 20);
    const statuses = await sendAll(messages).finally(() => clearInterval(watching));
    assert.deepEqual(new Set(statuses), new Set([400, 413]));
    context.diagnostic(`${beforeMib.toFixed(0)} MiB resident, then ${mostMib.toFixed(0)} MiB`);
    assert.ok(mostMib - beforeMib < GROWTH_MIB_MAX, `${(mostMib - beforeMib).toFixed(0)} MiB more`);
  });

  it(`survives ${CASES} batches with wrong content and a correct checksum`, async (context) => {
    const random = new Random(SEED);
    const batch = batchOf(changes(), dataSet);
    function* wrongBatches(): Iterable<Buffer> {
      for (let count = 0; count < CASES; count++) {
        const wrong = Buffer.from(batch);
        for (let flips = 1 + random.below(3); flips > 0; flips--) {
          wrong[HEAD_BYTES + random.below(wrong.length - HEAD_BYTES)] = random.below(256);
        }
        yield sealPlain(wrong, headOf(BATCH));
      }
    }
    const beforeMib = member.residentMib;
    const statuses = await sendAll(wrongBatches());
    const counts = new Map<number, number>();
    for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
    const counted = [...counts].map(([status, count]) => `${count} times ${status}`).join(', ');
    context.diagnostic(
      `${counted}; ${(member.residentMib - beforeMib).toFixed(0)} MiB more resident`,
    );
    for (const status of counts.keys()) assert.ok([200, 400, 403, 409].includes(status), counted);
    assert.ok(member.residentMib - beforeMib < GROWTH_MIB_MAX);
  });

  it(`rejects those of ${EVENTS} events that no client could have written`, async (context) => {
    const rejected = await sendHostileEvents(EVENTS, SEED);
    context.diagnostic(`${rejected} rejected`);
  });

  it('refuses random bytes and continues to serve', async () => {
    const random = new Random(SEED);
    const messages = Array.from({ length: 2000 }, () => random.bytes(random.below(3000)));
    assert.deepEqual(new Set(await sendAll(messages)), new Set([400]));
    const client = new RawClient(member.port);
    assert.equal((await client.request('POST', 'maps/m/k', Buffer.from('v'))).status, 200);
    client.destroy();
  });
});

/** Returns a set of `a`, which does not expire, and a delete of `b`. */
function changes(): readonly Mutation[] {
  const set = changeOf(SET, 'a', 'x'.repeat(40));
  set.expiryMs = 0;
  return [set, changeOf(DELETE, 'b', '')];
}
