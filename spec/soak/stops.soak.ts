/**
 * SOAK_SIZE stops of a member that persists its data, while clients write and take, a WAN publisher
 * sends and a backup is made. A stop answers every request that it has received; afterwards nothing
 * listens, no lock remains, and the backup is complete or absent. The next start has every change
 * that was answered, and in the end the target has them, too.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as passed } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { DirectoryLock } from '../../src/persistence/directory-lock.ts';
import { freePort } from '../free-port.ts';
import { RawClient } from '../integration/client.ts';
import { sendingTo, soon, wanMember } from '../integration/wan-members.ts';

const SIZE = Number(process.env.SOAK_SIZE ?? 100);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
/** Stops of a member before its data is removed: a longer log makes later starts slow. */
const STOPS_MAX = 100;
const CLIENTS = 4;
const KEYS_PER_CLIENT = 50;
/** Maximum time under load before a stop, in ms. */
const LOAD_MS = 60;
const root = mkdtempSync(join(tmpdir(), 'gridnode-stops-'));
after(() => rmSync(root, { recursive: true, force: true }));

/** A client that writes its own keys, one request at a time, until its connection ends. */
class Writer {
  /** Answered values by key. */
  readonly confirmed = new Map<string, string>();
  /** The key and value of a request without a response. */
  open: readonly [key: string, value: string] | undefined;
  readonly #number: number;
  #count = 0;

  constructor(number: number) {
    this.#number = number;
  }

  async run(port: number): Promise<void> {
    const client = new RawClient(port);
    for (;;) {
      const key = `c${this.#number}-${this.#count % KEYS_PER_CLIENT}`;
      const value = `v${this.#count++}`;
      this.open = [key, value];
      const response = await client
        .request('POST', `maps/m/${key}`, Buffer.from(value))
        .catch(() => undefined);
      if (response === undefined) break;
      assert.equal(response.status, 200);
      this.confirmed.set(key, value);
      this.open = undefined;
    }
    client.socket.destroy();
  }
}

/** Stops a member so often. Returns the number of complete backups, and the time of all stops in ms. */
async function stops(count: number, random: Random) {
  const target = await wanMember();
  const backups = join(root, 'backups');
  const dataDirectory = join(root, 'data');
  const port = await freePort();
  const grid = {
    ...sendingTo([target.port], { 'queue-capacity': 1_000_000 }),
    persistence: {
      ...{ enabled: true, 'base-dir': dataDirectory, 'backup-dir': backups, sync: 'interval' },
    },
  };
  const writers = Array.from({ length: CLIENTS }, (_, index) => new Writer(index));
  let completeCount = 0;
  let stopMs = 0;
  for (let round = 0; round < count; round++) {
    const member = await wanMember({ grid, port });
    for (const { confirmed, open } of writers) {
      for (const [key, value] of confirmed) {
        const found = (await member.ask('GET', `maps/m/${key}`)).body.toString();
        const isOpen = open !== undefined && open[0] === key && found === open[1];
        assert.ok(found === value || isOpen, `round ${round}: ${key} is ${found}, not ${value}`);
        if (isOpen) confirmed.set(key, found);
      }
    }
    const running = writers.map((writer) => writer.run(port));
    const poll = new RawClient(port).request('DELETE', 'queues/empty/60');
    const call = new RawClient(port);
    const path = 'management/cluster/backup';
    const backup = call.request('POST', path, Buffer.from('dev&')).then(({ status }) => status);
    await passed(random.below(LOAD_MS));
    const beganMs = performance.now();
    await member.stop();
    stopMs += performance.now() - beganMs;
    assert.equal((await poll).status, 204, 'a waiting poll gets its response');
    const status = await backup;
    assert.ok(status === 200 || status === 409 || status === 500, `backup ${status}`);
    completeCount += status === 200 ? 1 : 0;
    await Promise.all(running);
    const names = existsSync(backups) ? readdirSync(backups) : [];
    assert.equal(names.length, status === 200 ? 1 : 0, `round ${round}: ${names}`);
    rmSync(backups, { recursive: true, force: true });
    assert.equal(await new DirectoryLock(dataDirectory).isHeld(), false);
    await assert.rejects(
      new Promise((_, reject) => connect(port, '127.0.0.1').on('error', reject)),
      { code: 'ECONNREFUSED' },
    );
  }
  const last = await wanMember({ grid, port });
  await soon(async () => (await last.publisher()).queueSize, 0);
  // The connection of the target's calls has been idle for too long.
  const received = new RawClient(target.port);
  for (const { confirmed, open } of writers) {
    for (const [key, value] of confirmed) {
      if (key === open?.[0]) continue;
      const { body } = await received.request('GET', `maps/m/${key}`);
      assert.equal(body.toString(), value);
    }
  }
  received.socket.destroy();
  await last.stop();
  target.client.socket.destroy();
  await target.member.drain();
  rmSync(dataDirectory, { recursive: true });
  return { completeCount, stopMs };
}

test(`${SIZE} stops under load lose no answer and leave nothing behind (seed ${SEED})`, async (context) => {
  const random = new Random(SEED);
  let backups = 0;
  let ms = 0;
  for (let left = SIZE; left > 0; left -= STOPS_MAX) {
    const { completeCount, stopMs } = await stops(Math.min(left, STOPS_MAX), random);
    backups += completeCount;
    ms += stopMs;
  }
  context.diagnostic(`${backups} backups complete, ${(ms / SIZE).toFixed(1)} ms a stop`);
});
