/**
 * Covers src/cli and src/persistence. Restarts, backups, restore, repair and forced starts as an
 * operator uses them: REST calls, commands, real files.
 */
import assert from 'node:assert/strict';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, it } from 'node:test';
import { run } from '../cli/run-command.ts';
import { RawClient } from './client.ts';
import { memberOn } from './member-on.ts';

const MANAGEMENT = 'management/cluster';
const FULL = 'FULL_RECOVERY_ONLY';
const PARTIAL = 'PARTIAL_RECOVERY_MOST_RECENT';

let directory: string;
let data: string;
let backups: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gridnode-maintenance-'));
  data = join(directory, 'data');
  backups = join(directory, 'backups');
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function ask(client: RawClient, method: string, path: string, body = ''): Promise<string> {
  const response = await client.request(method, path, Buffer.from(body), 'text/x');
  return `${response.status} ${response.body}`.trim();
}

async function manage(client: RawClient, call: string): Promise<string> {
  return await ask(client, 'POST', `${MANAGEMENT}/${call}`, 'dev&');
}

const SUCCESS = '200 {"status":"success"}';
const BACKED_UP =
  /^200 \{"status":"success","path":"[^"]+\/backup-\d+","bytes":\d+,"seconds":\d+(\.\d+)?\}$/;

async function fill(client: RawClient): Promise<void> {
  for (let key = 0; key < 20; key++) await ask(client, 'POST', `maps/m/k${key}`, `value ${key}`);
  for (const item of ['a', 'b', 'c']) await ask(client, 'POST', 'queues/q', item);
  assert.equal(await ask(client, 'DELETE', 'queues/q/0'), '200 a');
}

/** Name of the damaged file in `damaged`, a data directory that is made once. */
let damagedName = '';
const damaged = mkdtempSync(join(tmpdir(), 'gridnode-damaged-'));
after(() => rmSync(damaged, { recursive: true }));

/** Makes a data directory with a wrong bit in a log record. Resolves with the name of that file. */
async function damagedData(): Promise<string> {
  if (damagedName === '') {
    const member = memberOn(damaged);
    await fill(await member.listening());
    assert.equal(await member.stop(), 0);
    damagedName = readdirSync(damaged).find((each) => each.startsWith('log-')) ?? '';
    const bytes = readFileSync(join(damaged, damagedName));
    bytes.writeUInt8(bytes.readUInt8(90) ^ 1, 90);
    writeFileSync(join(damaged, damagedName), bytes);
  }
  cpSync(damaged, data, { recursive: true });
  return damagedName;
}

/** Resolves with the lines of the metrics of maps and queues. */
async function dataMetrics(client: RawClient): Promise<string[]> {
  client.send('GET /grid/metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  const lines = `${(await client.response())?.body}`.split('\n');
  return lines.filter((line) => /^gridnode_(unlisted_)?(map|queue)/.test(line));
}

async function uuidOf(client: RawClient): Promise<string | undefined> {
  const { body } = await client.request('GET', 'cluster');
  return /"uuid":"([^"]*)"/.exec(body.toString())?.[1];
}

describe('a member with a data directory', () => {
  it('recovers its data and its own state after a restart', async () => {
    const first = memberOn(data);
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
    assert.match(await ask(client, 'POST', `${MANAGEMENT}/changeState`, 'dev&&frozen'), /^200/);
    const uuid = await uuidOf(client);
    assert.equal(await first.stop(), 0);

    const second = memberOn(data);
    const again = await second.listening();
    const entry = await again.request('GET', 'maps/m/k');
    assert.equal(`${entry.body} ${entry.fields.get('content-type')}`, 'value text/x');
    assert.equal(await ask(again, 'GET', 'maps/gone/k'), '204');
    assert.equal(await ask(again, 'GET', 'queues/q/size'), '200 2');
    assert.equal(await ask(again, 'DELETE', 'queues/q/0'), '200 b');
    assert.equal(await ask(again, 'POST', 'queues/small', 'two'), '503');
    assert.ok(license.includes((await ask(again, 'GET', 'license')).slice(5, -1)));
    assert.equal(await manage(again, 'state'), '200 {"status":"success","state":"frozen"}');
    assert.equal(await uuidOf(again), uuid);
    assert.equal(await second.stop(), 0);
  });
});

describe('the metrics of a member with a data directory', () => {
  it('have the counts of its data after a restart', async () => {
    const first = memberOn(data);
    const client = await first.listening();
    await fill(client);
    for (const map of ['cleared', 'again']) await ask(client, 'POST', `maps/${map}/k`, 'value');
    await ask(client, 'DELETE', 'maps/cleared');
    await ask(client, 'DELETE', 'maps/again');
    await ask(client, 'POST', 'maps/again/l', 'value');
    await ask(client, 'POST', 'queues/empty', 'item');
    await ask(client, 'DELETE', 'queues/empty/0');
    const counts = await dataMetrics(client);
    assert.deepEqual(counts.slice(0, 2), ['gridnode_maps 2', 'gridnode_queues 1']);
    assert.deepEqual(counts.slice(2).sort(), [
      'gridnode_map_bytes{map="again"} 40',
      'gridnode_map_bytes{map="m"} 800',
      'gridnode_map_entries{map="again"} 1',
      'gridnode_map_entries{map="m"} 20',
      'gridnode_queue_held_items{queue="q"} 0',
      'gridnode_queue_items{queue="q"} 2',
      'gridnode_queue_waiters{queue="q"} 0',
      'gridnode_unlisted_map_entries 0',
      'gridnode_unlisted_queue_items 0',
    ]);
    assert.equal(await first.stop(), 0);
    const second = memberOn(data);
    const later = await dataMetrics(await second.listening());
    assert.deepEqual(later.sort(), counts.sort());
    assert.equal(await second.stop(), 0);
  });
});

describe('a backup', () => {
  it('is a data directory that restore copies to another one', async () => {
    const member = memberOn(data, [['--backup-dir', backups]]);
    const client = await member.listening();
    await fill(client);
    assert.match(await manage(client, 'backup'), BACKED_UP);
    await ask(client, 'POST', 'maps/m/later', 'value');
    assert.match(await manage(client, 'hotBackup'), BACKED_UP);
    assert.deepEqual(readdirSync(backups).sort(), ['backup-1', 'backup-2']);
    const restored = join(directory, 'restored');
    const from = join(backups, 'backup-1');
    const used = await run('restore', '--from', from, '--data-dir', data);
    assert.deepEqual([used.code, used.output], [3, '']);
    assert.match(used.errors, /another process uses it/);
    assert.equal((await run('repair', '--data-dir', data)).code, 3);
    assert.equal(await member.stop(), 0);
    const done = await run('restore', '--from', from, '--data-dir', restored);
    assert.equal(done.code, 0, done.errors);
    assert.match(done.output, /^\d+ files of \d+ bytes: the data stored at \d{4}-/);
    const second = memberOn(restored);
    const other = await second.listening();
    assert.equal(await ask(other, 'GET', 'maps/m/k19'), '200 value 19');
    assert.equal(await ask(other, 'GET', 'maps/m/later'), '204');
    assert.equal(await ask(other, 'DELETE', 'queues/q/0'), '200 b');
    assert.equal(await second.stop(), 0);
  });

  it('cannot run twice at a time, and leaves no files when it is interrupted', async () => {
    const member = memberOn(data, [['--backup-dir', backups]]);
    const client = await member.listening();
    for (let key = 0; key < 3; key++) {
      await ask(client, 'POST', `maps/m/${key}`, 'v'.repeat(1_000_000));
    }
    const { remotePort: port = 0 } = client.socket;
    const [second, third] = [new RawClient(port), new RawClient(port)];
    for (const call of ['backup', 'hotBackup']) {
      const backing = manage(client, call);
      assert.match(await manage(second, call), /^409 .*a backup is under way/);
      assert.equal(await manage(third, `${call}Interrupt`), SUCCESS);
      assert.match(await backing, /^409 .*interrupted/);
      assert.match(await manage(third, `${call}Interrupt`), /^409 .*no backup is under way/);
    }
    assert.deepEqual(readdirSync(backups), []);
    assert.match(await manage(client, 'backup'), BACKED_UP);
    assert.equal(await member.stop(), 0);
  });

  it('removes the files of a backup whose process ended, and never uses a number twice', async () => {
    mkdirSync(join(backups, 'backup-7'), { recursive: true });
    mkdirSync(join(backups, 'backup-9.tmp'));
    writeFileSync(join(backups, 'backup-9.tmp', 'manifest'), '?');
    const member = memberOn(data, [['--backup-dir', backups]]);
    const client = await member.listening();
    assert.match(await manage(client, 'backup'), BACKED_UP);
    assert.deepEqual(readdirSync(backups).sort(), ['backup-10', 'backup-7']);
    assert.equal(await member.stop(), 0);
  });

  it('is refused with a reason if its directory is not set or unusable; the member continues', async () => {
    const without = memberOn(data);
    const client = await without.listening();
    assert.match(await manage(client, 'backup'), /^409 .*persistence\.backup-dir/);
    assert.equal(await without.stop(), 0);
    writeFileSync(backups, 'a file');
    const member = memberOn(data, [['--backup-dir', backups]]);
    const other = await member.listening();
    assert.match(await manage(other, 'backup'), /^503 .*Cannot back up: .*EEXIST/);
    assert.equal(await ask(other, 'POST', 'maps/m/k', 'v'), '200');
    assert.equal(await member.stop(), 0);
  });

  it('ends when the member stops', async () => {
    const member = memberOn(data, [['--backup-dir', backups]]);
    const client = await member.listening();
    await ask(client, 'POST', 'maps/m/k', 'v'.repeat(1_000_000));
    const backing = manage(client, 'backup');
    await member.line(({ msg }) => msg === 'backing up');
    assert.equal(await member.stop(), 0);
    assert.match(await backing, /^(409 .*interrupted|200 )/);
    assert.ok(readdirSync(backups).every((name) => !name.endsWith('.tmp')));
  });
});

describe('gridnode repair', () => {
  it('reports the damage, saves the rest elsewhere, and does not change the files', async () => {
    const name = await damagedData();
    const before = readFileSync(join(data, name));
    const report = await run('repair', '--data-dir', data);
    assert.equal(report.code, 1);
    assert.match(
      report.output,
      /^log-\d+: at byte \d+: \d+ bytes are damaged; there seems to have been /,
    );
    assert.match(report.output, /\ndamage in 1 place; whole: \d+ records, \d+ (bytes|kB)\n$/);
    const to = join(directory, 'saved');
    const saved = await run('repair', '--data-dir', data, '--to', to);
    assert.equal(saved.code, 0, saved.errors);
    assert.ok(readFileSync(join(data, name)).equals(before));
    const member = memberOn(to);
    const client = await member.listening();
    assert.equal(await ask(client, 'GET', 'maps/m/k19'), '200 value 19');
    assert.equal(await ask(client, 'DELETE', 'queues/q/0'), '200 b');
    assert.equal(await member.stop(), 0);
    const whole = await run('repair', '--data-dir', to);
    assert.equal(whole.code, 0);
    assert.match(whole.output, /^no damage: \d+ records?, \d+ (bytes|kB)\n$/);
  });
});

describe('a member on damaged data', () => {
  async function waiting(policy: string) {
    const member = memberOn(data, [], { recoveryPolicy: policy });
    const { port = 0 } = await member.line(({ msg }) => msg === 'opening the data directory');
    const fatal = await member.line(({ code }) => code === 'DATA_DAMAGED');
    return { ...member, client: new RawClient(port), fatal };
  }

  it('without group PERSISTENCE exits with 3, and names the file, the offset and the remedy', async () => {
    const name = await damagedData();
    const { exit, lines } = memberOn(data, [['--disable-group', 'PERSISTENCE']]);
    assert.equal(await exit, 3);
    const { code, msg = '', level } = lines.at(-1) ?? {};
    assert.deepEqual([code, level], ['DATA_DAMAGED', 'fatal']);
    assert.ok(msg.includes(`"${join(data, name)}" is damaged at byte 32`), msg);
    assert.ok(msg.includes('`gridnode repair --data-dir DIR`'), msg);
  });

  it('stays in recovery: only health calls succeed, others get 503', async () => {
    const name = await damagedData();
    const { client, fatal, exit, stop, lines } = await waiting(FULL);
    const { msg, offset } = fatal;
    assert.ok(msg.includes(join(data, name)) && msg.includes('repair'), msg);
    assert.equal(offset, 32);
    const health = async (part: string) => {
      client.send(`GET /grid/health/${part} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      const response = await client.response();
      return `${response?.status} ${response?.body}`;
    };
    assert.deepEqual(
      [await health('node-state'), await health('ready'), await health('live')],
      ['200 "STARTING"', '503 ', '200 '],
    );
    for (const [method, path] of [
      ['GET', 'maps/m/1'],
      ['POST', 'maps/m/1'],
      ['DELETE', 'queues/q/5'],
      ['GET', 'cluster'],
      ['POST', `${MANAGEMENT}/state`],
    ] as const) {
      const response = await client.request(method, path);
      assert.equal(response.status, 503);
      assert.equal(response.fields.get('retry-after'), '5');
      assert.match(response.body.toString(), /is recovering its data/);
    }
    assert.equal((await client.request('GET', 'nothing')).status, 404);
    assert.equal((await client.request('PUT', 'cluster')).status, 405);
    client.destroy();
    assert.equal(await stop(), 0);
    assert.equal(await exit, 0);
    assert.ok(lines.every(({ msg: logged }) => logged !== 'listening'));
    assert.equal(lines.at(-1)?.msg, 'stopped while recovering');
  });

  it(`with ${FULL} waits for forceStart only, starts empty and moves the old files aside`, async () => {
    const name = await damagedData();
    const before = readFileSync(join(data, name));
    const { client, fatal, stop, line } = await waiting(FULL);
    assert.match(fatal.msg, /stays in recovery until forceStart;/);
    assert.match(await manage(client, 'backup'), /^503 .*recovering its data/);
    assert.match(
      await manage(client, 'partialStart'),
      /^409 .*cluster-data-recovery-policy is FULL/,
    );
    assert.ok(readFileSync(join(data, name)).equals(before));
    assert.equal(await manage(client, 'forceStart'), SUCCESS);
    await line(({ msg }) => msg === 'listening');
    assert.equal(await ask(client, 'GET', 'maps/m/k1'), '204');
    assert.equal(await ask(client, 'POST', 'maps/m/new', 'v'), '200');
    for (const start of ['forceStart', 'partialStart']) {
      assert.match(await manage(client, start), /^409 .*the member is not waiting for it/);
    }
    assert.ok(readFileSync(join(data, 'damaged-1', name)).equals(before));
    assert.equal(await stop(), 0);
    const next = memberOn(data);
    const other = await next.listening();
    assert.equal(await ask(other, 'GET', 'maps/m/new'), '200 v');
    assert.equal(await next.stop(), 0);
    assert.ok(readFileSync(join(data, 'damaged-1', name)).equals(before));
    const aside = await run('repair', '--data-dir', join(data, 'damaged-1'));
    assert.match(aside.output, /\ndamage in 1 place; whole: \d+ records/);
  });

  it(`with ${PARTIAL} starts with the readable data, and logs the damage`, async () => {
    const name = await damagedData();
    const before = readFileSync(join(data, name));
    const { client, fatal, lines, stop } = await waiting(PARTIAL);
    assert.match(fatal.msg, /until forceStart or partialStart;/);
    assert.equal(await manage(client, 'partialStart'), SUCCESS);
    const errors = lines.filter(({ level }) => level === 'error').map(({ msg }) => msg);
    assert.equal(errors.length, 1);
    assert.match(errors[0] ?? '', /cannot be read: "log-\d+" \d+ bytes are damaged/);
    assert.equal(await ask(client, 'GET', 'maps/m/k19'), '200 value 19');
    assert.equal(await ask(client, 'DELETE', 'queues/q/0'), '200 b');
    assert.match(await manage(client, 'partialStart'), /^409 /);
    assert.ok(readFileSync(join(data, 'damaged-1', name)).equals(before));
    assert.equal(await stop(), 0);
  });
});
