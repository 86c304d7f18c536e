/**
 * Covers src/monitoring and src/servers/http-servers.ts. The paths of monitoring on both ports of a
 * member, in each phase of its life, with logins and with groups.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { get as request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Part } from '../../src/base/part.ts';
import type { Config } from '../../src/member/config.ts';
import { makeParts } from '../../src/member/parts.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { configWith, memberOf, startQuietly } from '../integration/member-on.ts';
import { TEST_MEMORY } from '../integration/member-process.ts';
import { assertOnlyRises, readMetrics } from '../telemetry/read-metrics.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const LIMITED = { maxMemory: TEST_MEMORY, partitionCount: '7', healthPort: '0' };

/** Sends a GET, on a connection of its own unless `agent` keeps them. */
async function ask(port: number, path: string, login?: string) {
  const sent = request({
    ...{ port, host: '127.0.0.1', path: `/grid/${path}`, agent: false },
    ...(login === undefined ? {} : { auth: login }),
  });
  const [response] = await once(sent, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode as number, body: Buffer.concat(chunks).toString() };
}

test('metrics are served on both ports from the start, and on the health port to the end', async () => {
  const dataDirectory = join(temporaryFolder(), 'data');
  const config = configWith({ ...LIMITED, dataDirectory });
  const log = createLog('OFF', { write() {} });
  const { all, servers } = await makeParts(config, log, () => assert.fail(), { write() {} });
  const phase = async (name: 'listen' | 'restore' | 'recover' | 'enter') => {
    for (const part of all as readonly Part<Config>[]) await part[name]?.();
  };
  await phase('listen');
  const { port } = servers.bound;
  const healthPort = servers.healthPort ?? 0;
  let before = readMetrics((await ask(port, 'metrics')).body);
  for (const each of [port, healthPort]) {
    const samples = readMetrics((await ask(each, 'metrics')).body);
    assert.equal(samples.get('gridnode_ready'), 0);
    assert(samples.has('process_open_fds') && !samples.has('gridnode_maps'));
    assertOnlyRises(before, samples);
    before = samples;
  }
  const early = await ask(port, 'v1/status');
  assert.equal(early.status, 503);
  assert.match(early.body, /is recovering its data/);
  await phase('restore');
  await phase('recover');
  await phase('enter');
  const served = await ask(port, 'metrics');
  assertOnlyRises(before, readMetrics(served.body));
  assert.equal(readMetrics(served.body).get('gridnode_ready'), 1);
  assert.equal(readMetrics(served.body).get('gridnode_maps'), 0);
  assert.equal((await ask(port, 'v1/status')).status, 200);
  for (const path of ['v1/status', 'openapi.json'])
    assert.equal((await ask(healthPort, path)).status, 404);
  for (const part of all.toReversed()) await part.drain?.();
  const draining = await ask(healthPort, 'metrics');
  assert.equal(readMetrics(draining.body).get('gridnode_ready'), 0);
  assertOnlyRises(readMetrics(served.body), readMetrics(draining.body));
  for (const part of all.toReversed()) await part.close?.();
});

test('without the group CLUSTER_READ, each path is 403 and names it', async () => {
  const config = configWith(LIMITED);
  const groups = new Map([...config.endpointGroups, ['CLUSTER_READ', false] as const]);
  const log = createLog('OFF', { write() {} });
  const member = await startQuietly({ ...config, endpointGroups: groups }, log);
  for (const [port, path] of [
    [member.port, 'metrics'],
    [member.port, 'openapi.json'],
    [member.port, 'v1/status'],
    [member.healthPort ?? 0, 'metrics'],
  ] as const) {
    const { status, body } = await ask(port, path);
    assert.equal(status, 403, path);
    assert.match(body, /endpoint group CLUSTER_READ is disabled/);
  }
  await member.drain();
});

test('with basic, each path needs a login on both ports', async () => {
  const file = join(temporaryFolder(), 'grid.yaml');
  writeFileSync(
    file,
    `
grid:
  network:
    port: 0
    health-port: 0
    rest-api: {enabled: true, authentication: basic}
  security:
    enabled: true
    realms: [{name: staff, authentication: {simple: {users: [{username: ann, password: one}]}}}]
    member-authentication: {realm: staff}
`,
  );
  const { next, stop } = await memberOf(file);
  const { port = 0, healthPort } = await next('listening');
  for (const [each, path] of [
    [port, 'metrics'],
    [port, 'openapi.json'],
    [port, 'v1/status'],
    [Number(healthPort), 'metrics'],
  ] as const) {
    assert.equal((await ask(each, path)).status, 401, path);
    assert.equal((await ask(each, path, 'ann:two')).status, 401, path);
    assert.equal((await ask(each, path, 'ann:one')).status, 200, path);
  }
  const samples = readMetrics((await ask(port, 'metrics', 'ann:one')).body);
  assert.equal(samples.get('gridnode_failed_logins_total'), 4);
  await stop();
});
