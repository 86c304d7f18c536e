/**
 * Hostile messages to a member over HTTP: random bytes, messages that inflate to far more than they
 * declare, and SOAK_CASES / 10 batches with wrong content and a correct checksum. All that are not
 * valid by chance get 4xx, and the process does not grow. spec/soak/wan.soak.ts has more of these
 * batches, without the process, and events with hostile content.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { Random } from '../../bench/harness.ts';
import { BATCH, HEAD_BYTES, sealPlain } from '../../src/wan/message-format.ts';
import { RawClient, requestBytes } from '../integration/client.ts';
import { generator } from '../wan/members.ts';
import { batchOf, CHANGES, headOf, resealed, wrongBatch } from '../wan/messages.ts';
import { WanProcess } from './wan/wan-process.ts';

const CASES = Number(process.env.SOAK_CASES ?? 100_000) / 10;
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const CONNECTIONS = 32;
const BOMBS = 300;
const BOMB_BYTES = 2 ** 28;
/**
 * Maximum growth of resident memory, in MiB: the 64 MiB that are inflated at a time, and garbage
 * that is not yet collected.
 */
const GROWTH_MIB_MAX = 200;

describe(`A member that receives hostile messages, seed ${SEED}`, () => {
  /** Sends the messages over several connections. Returns their statuses, in order. */
  async function sendAll(member: WanProcess, messages: Iterable<Buffer>): Promise<number[]> {
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

  it('refuses messages that inflate to more than they declare, without growing', async (context) => {
    const member = await WanProcess.started({ name: 'target' });
    const beforeMib = member.residentMib;
    const bomb = deflateRawSync(Buffer.alloc(BOMB_BYTES));
    const declaring = (length: number): Buffer => {
      const bytes = Buffer.concat([Buffer.alloc(HEAD_BYTES), bomb]);
      const message = sealPlain(bytes, headOf(BATCH));
      message[21] = 1;
      message.writeUInt32LE(length, 24);
      return resealed(message);
    };
    const bombs = [10, 4_000_000, 10_000_000, 2 ** 28, 2 ** 32 - 1].map(declaring);
    const messages = Array.from({ length: BOMBS }, (_, index) => bombs[index % bombs.length]!);
    let mostMib = 0;
    const watching = setInterval(() => {
      mostMib = Math.max(mostMib, member.residentMib);
    }, 20);
    const statuses = await sendAll(member, messages).finally(() => clearInterval(watching));
    assert.deepEqual(new Set(statuses), new Set([400, 413]));
    context.diagnostic(`${beforeMib.toFixed(0)} MiB resident, then ${mostMib.toFixed(0)} MiB`);
    assert.ok(mostMib - beforeMib < GROWTH_MIB_MAX, `${(mostMib - beforeMib).toFixed(0)} MiB more`);
  });

  it(`survives ${CASES} batches with wrong content and a correct checksum`, async (context) => {
    const member = await WanProcess.started({ name: 'target' });
    const random = generator(SEED);
    const batch = batchOf(CHANGES, await member.dataSet());
    function* wrongBatches(): Iterable<Buffer> {
      for (let count = 0; count < CASES; count++) yield wrongBatch(batch, random);
    }
    const beforeMib = member.residentMib;
    const statuses = await sendAll(member, wrongBatches());
    const counts = new Map<number, number>();
    for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
    const counted = [...counts].map(([status, count]) => `${count} times ${status}`).join(', ');
    const grownMib = member.residentMib - beforeMib;
    context.diagnostic(`${counted}; ${grownMib.toFixed(0)} MiB more resident`);
    for (const status of counts.keys()) assert.ok([200, 400, 403, 409].includes(status), counted);
    assert.ok(grownMib < GROWTH_MIB_MAX, `${grownMib.toFixed(0)} MiB more`);
  });

  it('refuses random bytes and continues to serve', async () => {
    const member = await WanProcess.started({ name: 'target' });
    const random = new Random(SEED);
    const messages = Array.from({ length: 2000 }, () => random.bytes(random.below(3000)));
    assert.deepEqual(new Set(await sendAll(member, messages)), new Set([400]));
    const client = new RawClient(member.port);
    assert.equal((await client.request('POST', 'maps/m/k', Buffer.from('v'))).status, 200);
    client.destroy();
  });
});
