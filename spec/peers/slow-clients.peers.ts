/** Short attacks by slow clients, during which another client loses no request. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ServerProcess } from '../../bench/load/server-process.ts';
import { ATTACKS, prepare, runAttack } from './slow-http-test.ts';
import { requireProgram } from './tools.ts';

const CONNECTIONS = 200;
const SECONDS = 3;

const member = new ServerProcess('member', [
  join(import.meta.dirname, '../../dist/bin/gridnode.js'),
  ...['serve', '--port', '0', '--enable-group', 'DATA', '--header-timeout-seconds', '1'],
  ...['--body-progress-timeout-seconds', '1', '--write-progress-timeout-seconds', '1'],
]);

before(async () => {
  requireProgram('slowhttptest');
  await member.serving();
  await prepare(member.port);
});

after(() => member.stop());

for (const attack of ATTACKS) {
  test(`a client loses no request during an attack by ${CONNECTIONS} ${attack.name}`, async () => {
    const { requests } = await runAttack(member.port, attack, CONNECTIONS, SECONDS);
    assert.ok(requests > 100, `${requests} requests`);
  });
}
