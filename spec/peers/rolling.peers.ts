/**
 * Two members behind a load balancer are restarted one after the other while clients keep sending:
 * no request fails. haproxy polls each member's `health/ready`; the shutdown delay gives it the
 * time for this. nginx has no such checks, and uses the other member if a connection is refused.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { RestartedMember, sending } from '../integration/rolling.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { isListening } from './engine-server.ts';
import { PROXIES, type ProxyName } from './example-proxies.ts';
import { until } from './server-process.ts';
import { requireProgram } from './tools.ts';

const STOPS = Number(process.env.SOAK_STOPS ?? 2);
const CLIENTS = 16;

/** The line of the member in each proxy's example, and those that replace it. */
const MEMBERS: Readonly<
  Record<ProxyName, readonly [RegExp, (port: number, at: number) => string]>
> = {
  haproxy: [/^ +server m0 .*$/m, (port, at) => `  server m${at} 127.0.0.1:${port} check`],
  nginx: [/^ +server 127\.0\.0\.1:5701.*$/m, (port) => `  server 127.0.0.1:${port} max_fails=0;`],
};

for (const program of ['haproxy', 'nginx'] as const) {
  test(`${program} loses no request while members are restarted ${STOPS} times`, async (t) => {
    requireProgram(program);
    const members = [0, 1].map(() => new RestartedMember('--shutdown-delay-seconds', '1'));
    await Promise.all(members.map((member) => member.start()));
    const port = await freePort();
    const [line, lineOf] = MEMBERS[program];
    const lines = members.map((member, at) => lineOf(member.port, at));
    const words = PROXIES[program](temporaryFolder(), (text) => {
      assert.match(text, line);
      return text.replace('127.0.0.1:8080', `127.0.0.1:${port}`).replace(line, lines.join('\n'));
    });
    const process = spawn(program, words, { stdio: 'ignore' });
    t.after(async () => {
      await Promise.allSettled(members.map((member) => member.stop()));
      process.kill('SIGTERM');
      await once(process, 'exit');
    });
    await until(() => isListening(port));
    const end = sending({ port, clients: CLIENTS, inFlight: 1 });
    for (let stop = 0; stop < STOPS; stop++) {
      await sleep(500);
      const member = members[stop % members.length] as RestartedMember;
      await member.stop();
      await member.start();
    }
    // The balancer may not yet use the member that was started last.
    await sleep(500);
    const { answered, lost, refused, others } = await end();
    t.diagnostic(`${answered} answered`);
    assert.deepEqual({ lost, refused, others }, { lost: 0, refused: 0, others: [] });
    assert(answered > 100, `${answered} answered`);
    await Promise.all(members.map((member) => member.stop()));
  });
}
