/**
 * Two members behind a load balancer are restarted one after the other while clients keep sending:
 * no request fails. haproxy polls each member's `health/ready`; the shutdown delay gives it the
 * time for this. nginx has no such checks, and uses the other member if a connection is refused.
 */

import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { RestartedMember, sending } from '../integration/rolling.ts';

const STOPS = Number(process.env.SOAK_STOPS ?? 2);
const CLIENTS = 16;

interface Balancer {
  readonly program: string;
  /** Returns the balancer's configuration, with its port and the members' ports. */
  configuration(folder: string, port: number, members: readonly number[]): string;
  words(folder: string, file: string): readonly string[];
}

/** Returns an example of packaging/ with this port and these members. */
function example(name: string, port: number, server: RegExp, members: readonly string[]): string {
  const text = readFileSync(join(import.meta.dirname, '../../packaging', name), 'utf8');
  assert.match(text, server);
  return text.replace('127.0.0.1:8080', `127.0.0.1:${port}`).replace(server, members.join('\n'));
}

const HAPROXY: Balancer = {
  program: 'haproxy',
  configuration: (_, port, members) =>
    example(
      'haproxy.cfg',
      port,
      /^ +server m0 .*$/m,
      members.map((member, index) => `  server m${index} 127.0.0.1:${member} check`),
    ),
  words: (_, file) => ['-db', '-f', file],
};

const NGINX: Balancer = {
  program: 'nginx',
  configuration: (folder, port, members) => `
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
events { worker_connections 1024; }
http {
  access_log off;
${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  .map((name) => `  ${name}_temp_path ${folder}/${name};`)
  .join('\n')}
${example(
  'nginx.conf',
  port,
  /^ +server 127\.0\.0\.1:5701.*$/m,
  members.map((member) => `  server 127.0.0.1:${member} max_fails=0;`),
)}
}
`,
  words: (folder, file) => ['-p', folder, '-e', join(folder, 'error.log'), '-c', file],
};

for (const balancer of [HAPROXY, NGINX]) {
  test(`${balancer.program} loses no request while members are restarted ${STOPS} times`, async (t) => {
    requireProgram(balancer.program);
    const members = [0, 1].map(() => new RestartedMember('--shutdown-delay-seconds', '1'));
    await Promise.all(members.map((member) => member.start()));
    const port = await freePort();
    const folder = mkdtempSync(join(tmpdir(), 'gridnode-rolling-'));
    const process = run(
      balancer,
      folder,
      port,
      members.map((member) => member.port),
    );
    t.after(async () => {
      await Promise.allSettled(members.map((member) => member.stop()));
      process.kill('SIGTERM');
      await once(process, 'exit');
      rmSync(folder, { recursive: true });
    });
    await serving(port);
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

function run(
  balancer: Balancer,
  folder: string,
  port: number,
  members: readonly number[],
): ChildProcess {
  const file = join(folder, 'balancer.conf');
  writeFileSync(file, balancer.configuration(folder, port, members));
  return spawn(balancer.program, balancer.words(folder, file), { stdio: 'ignore' });
}

function requireProgram(program: string): void {
  try {
    execFileSync('which', [program]);
  } catch {
    assert.fail(`${program} is missing: apt-get install ${program}`);
  }
}

async function serving(port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const socket = connect(port, '127.0.0.1');
    const isConnected = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isConnected) return;
    await sleep(50);
  }
  assert.fail(`nothing serves on port ${port}`);
}
