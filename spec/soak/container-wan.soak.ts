/**
 * Members with the defaults in containers of 256, 512 and 1,024 MiB, with 1, 2 and 8 publishers
 * whose targets are down. Clients write values of 30 kB and of 100 bytes for SOAK_SECONDS, with a
 * kill -9 in between. The system kills no member, every refusal is a 503, and once the target of
 * the first publisher is up, it receives all events in its queue. The third of 8 publishers has a
 * live target, which receives every change: it refuses changes while its queue is full. Needs root
 * and control groups.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { RawClient } from '../integration/client.ts';
import { serveWith } from '../integration/member-process.ts';
import { ControlGroup } from './control-group.ts';

const SECONDS = Number(process.env.SOAK_SECONDS ?? 10);
const SIZES_MIB = (process.env.SOAK_SIZES_MIB ?? '256,512,1024').split(',').map(Number);
const PUBLISHERS = (process.env.SOAK_PUBLISHERS ?? '1,2,8').split(',').map(Number);
const LENGTHS = [30_000, 100];
const KEYS = 5000;
const WRITERS = 4;
/** Index of the publisher whose target is live, if there are that many. */
const LIVE = 2;
const COUNT_DIGITS = 12;
const MIB = 1_048_576;
/** Changes that a live publisher lets through at least: it sends its share of the queues once a second. */
const ACCEPTED_MIN = 500;
const DELIVERY_MS = 120_000;

interface Status {
  readonly queueSize: number;
  readonly queueBytes: number;
  readonly eventsDropped: number;
}

/** Returns status, length and beginning of the value of each key. */
async function entriesOf(port: number): Promise<readonly string[]> {
  const client = new RawClient(port);
  const entries: string[] = [];
  for (let key = 0; key < KEYS; key++) {
    const { status, body } = await client.request('GET', `maps/m/k${key}`);
    entries.push(`${status} ${body.length} ${body.toString('latin1', 0, COUNT_DIGITS)}`);
  }
  client.destroy();
  return entries;
}

async function publishersOf(port: number): Promise<readonly Status[]> {
  const client = new RawClient(port);
  const { body } = await client.request('GET', 'wan/publishers');
  client.destroy();
  return (JSON.parse(body.toString()) as { publishers: readonly Status[] }).publishers;
}

interface Writes {
  accepted: number;
  refused: number;
}

/** Writes until `endMs`, each value with another number, and counts in `writes`. */
async function write(port: number, length: number, endMs: number, writes: Writes): Promise<void> {
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    const client = new RawClient(port);
    const value = Buffer.alloc(length, 'v');
    for (let count = writer; Date.now() < endMs; count += WRITERS) {
      value.write(`${count}`.padStart(COUNT_DIGITS), 'latin1');
      const { status } = await client.request('POST', `maps/m/k${count % KEYS}`, value);
      assert.ok(status === 200 || status === 503, `${status}`);
      if (status === 503) writes.refused++;
      else writes.accepted++;
    }
    client.destroy();
  });
  await Promise.all(writers);
}

for (const mib of SIZES_MIB) {
  for (const count of PUBLISHERS) {
    for (const length of LENGTHS) {
      test(`A member in ${mib} MiB with ${count} publishers to dead targets and values of ${length} bytes is not killed`, async () => {
        const group = new ControlGroup(`gridnode-wan-${process.pid}`, mib * MIB);
        const directory = mkdtempSync(join(tmpdir(), 'container-wan-'));
        const target = await freePort();
        const liveTarget = count > LIVE && (await freePort());
        const publishers = Array.from({ length: count }, (_, index) => {
          const isLive = liveTarget && index === LIVE;
          const port = isLive ? liveTarget : index === 0 ? target : 1;
          const whenFull = isLive ? 'THROW_EXCEPTION' : 'DISCARD_AFTER_MUTATION';
          return `        p${index}: {cluster-name: dev, target-endpoints: "127.0.0.1:${port}", discovery-period-seconds: 1, queue-capacity: 1000000, queue-full-behavior: ${whenFull}}\n`;
        });
        const file = join(directory, 'source.yaml');
        writeFileSync(
          file,
          `grid:\n  wan-replication:\n    w:\n      batch-publisher:\n${publishers.join('')}  map: {m: {wan-replication-ref: {w: }}}\n`,
        );
        const members: Awaited<ReturnType<typeof serveWith>>[] = [];
        const start = async (runner: readonly string[], ...flags: string[]) => {
          const groups = ['--enable-group', 'DATA', '--enable-group', 'WAN'];
          const member = await serveWith({ runner, isBuilt: true }, ...groups, ...flags);
          members.push(member);
          return member;
        };
        try {
          const data = ['--config', file, '--data-dir', join(directory, 'data')];
          const live = liveTarget && (await start([], '--port', `${liveTarget}`));
          let source = await start(group.runner, ...data);
          const writes = { accepted: 0, refused: 0 };
          await write(source.port, length, Date.now() + SECONDS * 500, writes);
          source.child.kill('SIGKILL');
          await source.exited;
          source = await start(group.runner, ...data);
          await write(source.port, length, Date.now() + SECONDS * 500, writes);
          const before = await publishersOf(source.port);
          assert.equal(group.killed, 0);
          if (live) {
            while ((await publishersOf(source.port))[LIVE]!.queueSize > 0) await sleep(100);
            assert.equal((await publishersOf(source.port))[LIVE]!.eventsDropped, 0);
            assert.deepEqual(await entriesOf(live.port), await entriesOf(source.port));
            assert.ok(writes.accepted > ACCEPTED_MIN, `${writes.accepted}`);
          }
          await start([], '--port', `${target}`);
          const endMs = Date.now() + DELIVERY_MS;
          while ((await publishersOf(source.port))[0]!.queueSize > 0) {
            assert.ok(Date.now() < endMs, 'the queue was not delivered');
            await sleep(100);
          }
          assert.equal(group.killed, 0);
          const bytes = before.reduce((sum, { queueBytes }) => sum + queueBytes, 0);
          console.info(
            `${mib} MiB, ${count} publishers, ${length} bytes: ${writes.accepted} accepted, ${writes.refused} refused, ${Math.round(bytes / MIB)} MiB queued, ${Math.round(group.peakBytes / MIB)} MiB at most`,
          );
        } finally {
          for (const { child } of members) child.kill('SIGKILL');
          await Promise.all(members.map(({ exited }) => exited));
          group.remove();
          rmSync(directory, { recursive: true });
        }
      });
    }
  }
}
