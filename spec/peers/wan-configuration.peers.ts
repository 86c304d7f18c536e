/**
 * The WAN configuration of a cluster on a Redis or Valkey server: the files of its members, which are
 * processes, and the calls, which change the configuration of all.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import type { PublisherStatus } from '../../src/wan/wan-status.ts';
import { serve, start } from '../integration/member-process.ts';
import { soon } from '../integration/wan-members.ts';
import { serverForTests } from './engine-server.ts';
import { ask, killAll, running, type Served } from './served-members.ts';
import { serverProgram } from './server-process.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'wan-configuration-'));
const PUBLISHER = { 'target-endpoints': '127.0.0.1:1', 'initial-publisher-state': 'PAUSED' };
const CALL = {
  name: 'w',
  batchPublishers: [
    { publisherId: 'q', targetEndpoints: '127.0.0.1:1', initialPublisherState: 'PAUSED' },
  ],
};
/** Exit code of a member whose configuration is refused. */
const EXIT_USAGE = 2;
const KEYS = 50;

const server = serverForTests();
after(() => rmSync(FOLDER, { recursive: true }));
afterEach(killAll);

let clusterCount = 0;
/** Name of the cluster of the test, the user of its calls. */
let name = '';

/** Returns the flags of a member of a new cluster with the content of a file below `grid`. */
function cluster() {
  clusterCount++;
  name = `c${clusterCount}`;
  return (grid: object): string[] => {
    const file = join(FOLDER, `${name}-${Math.random()}.yaml`);
    const engine = { url: `redis://127.0.0.1:${server.port}` };
    writeFileSync(file, JSON.stringify({ grid: { 'cluster-name': name, engine, ...grid } }));
    return ['--config', file, '--enable-group', 'all', '--host', '127.0.0.1'];
  };
}

function gridOf(publishers: object, ref: object = {}, map = 'm') {
  return {
    'wan-replication': { w: { 'batch-publisher': publishers } },
    map: { [map]: { 'wan-replication-ref': { w: ref } } },
  };
}

const GRID = gridOf({ p: PUBLISHER });

async function served(...flags: readonly string[]): Promise<Served> {
  const member = await serve(...flags);
  running.push(member);
  return member;
}

/** Resolves with the exit code of a member that does not start, and its last log line. */
async function refused(...flags: readonly string[]): Promise<[number | null, string]> {
  const { exited, lines } = start(...flags);
  const [code] = await exited;
  return [code, lines.at(-1)?.msg ?? ''];
}

async function call(member: Served, path: string, body: string): Promise<string> {
  const { status, body: text } = await ask(member, 'POST', `wan/${path}`, body);
  return `${status} ${text}`;
}

async function publishersOf(member: Served): Promise<readonly PublisherStatus[]> {
  const { body } = await ask(member, 'GET', 'wan/publishers');
  return (JSON.parse(body.toString()) as { publishers: PublisherStatus[] }).publishers;
}

/** Returns the publishers with the number of keys that wait, in all members. */
async function waiting(members: readonly Served[]): Promise<readonly string[]> {
  const all = await Promise.all(members.map(publishersOf));
  return all[0]!.map(({ wanPublisherId }, at) => {
    const sum = all.reduce((total, each) => total + (each[at]?.queueSize ?? Number.NaN), 0);
    return `${wanPublisherId} ${sum}`;
  });
}

async function write(member: Served, map: string, count = KEYS): Promise<void> {
  for (let key = 0; key < count; key++) {
    assert.equal((await ask(member, 'POST', `maps/${map}/key${key}`, 'v')).status, 200);
  }
}

async function stop({ child, exited }: Served): Promise<void> {
  child.kill('SIGTERM');
  await exited;
}

describe(`a cluster on ${serverProgram()}`, () => {
  it('is joined only with the same replications and references', async () => {
    const flags = cluster();
    const first = await served(...flags(GRID));
    const same = await served(...flags({ ...GRID, queue: { q: {} } }));
    for (const [grid, text] of [
      [{}, 'map.m.wan-replication-ref is missing in this member and {'],
      [
        gridOf({ p: { ...PUBLISHER, 'batch-size': 7 } }),
        'wan-replication.w.batch-publisher.p.batch-size is 7 in this member and 500 in the others',
      ],
      [
        gridOf({ p: PUBLISHER }, { 'merge-policy-class-name': 'LatestUpdate' }),
        '"merge-policy-class-name":"LatestUpdate"',
      ],
    ] as const) {
      const [code, message] = await refused(...flags(grid));
      assert.deepEqual([code, message.includes(text)], [EXIT_USAGE, true], message);
    }
    await stop(first);
    await stop(same);
    await served(...flags({}));
  });

  it('does not accept policies that compare reads', async () => {
    const flags = cluster();
    const grid = gridOf({ p: PUBLISHER }, { 'merge-policy-class-name': 'HigherHits' });
    const [code] = await refused(...flags(grid));
    assert.equal(code, EXIT_USAGE);
    const member = await served(...flags(GRID));
    const text = JSON.stringify({ grid: { map: { n: grid.map.m } } });
    const { status, body } = await ask(member, 'POST', 'config/update', `${name}&&${text}`);
    assert.deepEqual([status, /HigherHits/.test(body.toString())], [400, true], `${body}`);
  });

  it('adds and removes publishers and references in all members, also in later ones', async () => {
    const flags = cluster();
    const members = [await served(...flags({})), await served(...flags({}))];
    const [one, two] = members as [Served, Served];
    await write(one, 'm');
    const added = await call(two, 'addWanConfig', `${name}&&${JSON.stringify(CALL)}`);
    assert.match(added, /^200 .*"addedPublisherIds":\["q"\]/);
    const text = JSON.stringify({ grid: { map: { m: { 'wan-replication-ref': { w: {} } } } } });
    assert.equal((await ask(one, 'POST', 'config/update', `${name}&&${text}`)).status, 200);
    await write(one, 'm');
    await write(two, 'm', 7);
    await soon(() => waiting(members), [`q ${KEYS}`]);
    const late = await served(...flags({}));
    members.push(late);
    await ask(late, 'POST', 'maps/m/late', 'v');
    await soon(() => waiting(members), [`q ${KEYS + 1}`]);
    assert.match(await call(late, 'removeWanConfig', `${name}&&w&q`), /^200 /);
    for (const member of members) assert.deepEqual(await publishersOf(member), []);
    assert.ok(late.lines.some(({ msg }) => msg.includes(`dropped ${KEYS + 1} keys`)));
    assert.match(await call(one, 'removeWanConfig', `${name}&&w&q`), /^400 /);
    assert.match(await call(one, 'addWanConfig', `${name}&&${JSON.stringify(CALL)}`), /^200 /);
    await soon(() => waiting(members), ['q 0']);
    for (const member of members) await stop(member);
    const again = await served(...flags({}));
    await write(again, 'm', 3);
    await soon(() => waiting([again]), ['q 3']);
  });

  it('responds to an addition once a member that is stopped has been removed', async () => {
    const flags = cluster();
    const members = [await served(...flags(GRID)), await served(...flags(GRID))];
    const [one, two] = members as [Served, Served];
    two.child.kill('SIGSTOP');
    const { status } = await ask(
      one,
      'POST',
      'wan/addWanConfig',
      `${name}&&${JSON.stringify(CALL)}`,
    );
    assert.equal(status, 200);
    two.child.kill('SIGCONT');
    await soon(async () => (await publishersOf(two)).length, 2);
    await write(two, 'm');
    await soon(() => waiting(members), [`p ${KEYS}`, `q ${KEYS}`]);
  });

  it('controls a publisher at the member that is called', async () => {
    const flags = cluster();
    const members = [await served(...flags(GRID)), await served(...flags(GRID))];
    const [one, two] = members as [Served, Served];
    const states = async () =>
      (await Promise.all(members.map(publishersOf))).map(([publisher]) => publisher!.state);
    for (const [path, state] of [
      ['resumePublisher', 'REPLICATING'],
      ['stopPublisher', 'STOPPED'],
      ['pausePublisher', 'PAUSED'],
      ['stopPublisher', 'STOPPED'],
    ] as const) {
      assert.match(await call(two, path, `${name}&&w&`), /^200 /);
      assert.deepEqual(await states(), ['PAUSED', state]);
    }
    await write(two, 'm');
    assert.deepEqual(await waiting(members), ['p 0']);
    await write(one, 'm');
    await soon(() => waiting(members), [`p ${KEYS}`]);
    const [share] = await publishersOf(one);
    assert.deepEqual([share!.queueBytes, share!.queueCapacity], [-1, 10_000]);
    assert.match(await call(one, 'clearWanQueues', `${name}&&w&p`), /^200 /);
    await soon(async () => (await publishersOf(one))[0]!.queueSize, 0);
    assert.notDeepEqual(await waiting(members), ['p 0']);
    assert.match(await call(two, 'clearWanQueues', `${name}&&w&p`), /^200 /);
    await soon(() => waiting(members), ['p 0']);
    for (const path of ['pausePublisher', 'stopPublisher', 'clearWanQueues', 'removeWanConfig']) {
      assert.match(await call(one, path, `${name}&&w&x`), /^400 .*doesn't exist/);
    }
    assert.match(await call(one, 'removeWanConfig', `${name}&&w&p`), /^409 /);
    const begun = await call(one, 'sync/map', `${name}&&w&p&m`);
    assert.match(begun, /^200 .*"uuid":"/);
    // No target responds, so the sync is under way until its time is over.
    const [, task = ''] = /"uuid":"([^"]*)"/.exec(begun) ?? [];
    assert.match(await call(two, 'sync/allmaps', `${name}&&w&p`), new RegExp(`^409 .*${task}`));
    assert.match(await call(two, 'consistencyCheck/map', `${name}&&w&p&m`), /^409 /);
    assert.equal((await ask(two, 'GET', `wan/sync/progress/${task}`)).status, 200);
    const uuid = '3c3b9f0e-8a52-4d37-9a6e-0f4d4f4c7a11';
    assert.equal((await ask(one, 'GET', `wan/sync/progress/${uuid}`)).status, 404);
    const { body } = await ask(one, 'GET', 'v1/status');
    assert.match(body.toString(), /"wan":\{"publishers":1,"queuedEvents":0\}/);
  });
});
