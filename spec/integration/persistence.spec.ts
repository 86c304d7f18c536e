/**
 * Covers src/member-persistence.ts and src/persistence. Data on a real disk: recovery after a
 * restart, and members that cannot use a directory.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { RawClient } from './client.ts';
import { memberOn } from './member-on.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gridnode-data-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Returns a member on the directory, with all groups except PERSISTENCE. */
function member() {
  return memberOn(directory, [['--disable-group', 'PERSISTENCE']]);
}

async function ask(client: RawClient, method: string, path: string, body = ''): Promise<string> {
  const response = await client.request(method, path, Buffer.from(body), 'text/x');
  return `${response.status} ${response.body}`.trim();
}

async function uuidOf(client: RawClient): Promise<string | undefined> {
  const { body } = await client.request('GET', 'cluster');
  return /"uuid":"([^"]*)"/.exec(body.toString())?.[1];
}

/** Flips bits in the first record of the log. Returns the path of the file. */
function damage(): string {
  const name = readdirSync(directory).find((each) => each.startsWith('log-')) ?? '';
  const path = join(directory, name);
  const bytes = readFileSync(path);
  bytes.writeUInt32LE(bytes.readUInt32LE(50) ^ 0xffff, 50);
  writeFileSync(path, bytes);
  return path;
}

describe('a member with a data directory', () => {
  it('recovers its data and its own state after a restart', async () => {
    const first = member();
    const client = await first.listening();
    await ask(client, 'POST', 'maps/m/k', 'value');
    await ask(client, 'POST', 'maps/gone/k', 'value');
    await ask(client, 'DELETE', 'maps/gone');
    for (const item of ['a', 'b', 'c']) await ask(client, 'POST', 'queues/q', item);
    assert.equal(await ask(client, 'DELETE', 'queues/q/0'), '200 a');
    const addition = encodeURIComponent('grid: {queue: {small: {max-size: 1}}}');
    assert.match(await ask(client, 'POST', 'config/update', `dev&&${addition}`), /^200/);
    await ask(client, 'POST', 'queues/small', 'one');
    const license = await ask(client, 'POST', 'license', 'dev&&key');
    assert.match(
      await ask(client, 'POST', 'management/cluster/changeState', 'dev&&frozen'),
      /^200/,
    );
    const uuid = await uuidOf(client);
    client.destroy();
    assert.equal(await first.stop(), 0);

    const second = member();
    const again = await second.listening();
    const entry = await again.request('GET', 'maps/m/k');
    assert.equal(`${entry.body} ${entry.fields.get('content-type')}`, 'value text/x');
    assert.equal(await ask(again, 'GET', 'maps/gone/k'), '204');
    assert.equal(await ask(again, 'GET', 'queues/q/size'), '200 2');
    assert.equal(await ask(again, 'DELETE', 'queues/q/0'), '200 b');
    assert.equal(await ask(again, 'POST', 'queues/small', 'two'), '503');
    assert.ok(license.includes((await ask(again, 'GET', 'license')).slice(5, -1)));
    const state = await ask(again, 'POST', 'management/cluster/state', 'dev&');
    assert.equal(state, '200 {"status":"success","state":"frozen"}');
    assert.equal(await uuidOf(again), uuid);
    again.destroy();
    assert.equal(await second.stop(), 0);
  });
});

describe('a member with damaged data', () => {
  async function damaged(): Promise<string> {
    const first = member();
    const client = await first.listening();
    for (let key = 0; key < 10; key++) await ask(client, 'POST', `maps/m/${key}`, 'value');
    client.destroy();
    assert.equal(await first.stop(), 0);
    return damage();
  }

  it('exits with 3 and names the file, the offset and the remedy', async () => {
    const file = await damaged();
    const { exit, lines } = member();
    assert.equal(await exit, 3);
    const { code, msg = '', level } = lines.at(-1) ?? {};
    assert.deepEqual([code, level], ['DATA_DAMAGED', 'fatal']);
    assert.ok(msg.includes(`"${file}" is damaged at byte 32`), msg);
    assert.ok(msg.includes('`gridnode repair --data-dir DIR`'), msg);
  });

  it('stays in recovery with group PERSISTENCE: only health calls succeed, others get 503', async () => {
    const file = await damaged();
    const { exit, line, stop, lines } = memberOn(directory);
    const { msg, offset } = await line(({ code }) => code === 'DATA_DAMAGED');
    assert.ok(msg.includes(file) && msg.includes('forceStart') && msg.includes('repair'), msg);
    assert.equal(offset, 32);
    const { port = 0 } = await line((each) => each.port !== undefined);
    const client = new RawClient(port);
    client.send('GET /grid/health/node-state HTTP/1.1\r\nHost: localhost\r\n\r\n');
    assert.equal((await client.response())?.body.toString(), '"STARTING"');
    for (const [part, status] of [
      ['ready', 503],
      ['live', 200],
    ] as const) {
      client.send(`GET /grid/health/${part} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      assert.equal((await client.response())?.status, status);
    }
    for (const [method, path] of [
      ['GET', 'maps/m/1'],
      ['POST', 'maps/m/1'],
      ['DELETE', 'queues/q/5'],
      ['GET', 'cluster'],
      ['POST', 'management/cluster/state'],
    ] as const) {
      const response = await client.request(method, path);
      assert.equal(response.status, 503);
      assert.equal(response.fields.get('retry-after'), '5');
      assert.match(response.body.toString(), /is recovering its data/);
    }
    assert.equal((await client.request('GET', 'nothing')).status, 404);
    assert.equal((await client.request('PUT', 'cluster')).status, 405);
    assert.ok(lines.every(({ msg: logged }) => logged !== 'listening'));
    client.destroy();
    assert.equal(await stop(), 0);
    assert.equal(await exit, 0);
    assert.equal(lines.at(-1)?.msg, 'stopped while recovering');
  });
});
