/**
 * A thousand slow clients of each kind for SOAK_SECONDS, against a member and against a bare
 * net.Server. Prints the waiting times of a regular client, which loses no request.
 */
import { before, type TestContext, test } from 'node:test';
import { programWords } from '../../bench/load/program.ts';
import { ServerProcess } from '../../bench/load/server-process.ts';
import { ATTACKS, type Attack, prepare, runAttack } from '../peers/slow-http-test.ts';
import { requireProgram } from '../peers/tools.ts';

const SECONDS = Number(process.env.SOAK_SECONDS ?? 5);
const CONNECTIONS = 1000;

before(() => requireProgram('slowhttptest'));

for (const attack of ATTACKS) {
  test(`A client is served during ${CONNECTIONS} ${attack.name} for ${SECONDS} s`, async (context) => {
    const flags = ['serve', '--port', '0', '--enable-group', 'DATA'];
    const member = [...programWords('bin/gridnode'), ...flags];
    await attacked(context, 'gridnode', member, attack);
    await attacked(context, 'bare', programWords('bench/servers/bare'), attack);
  });
}

async function attacked(
  context: TestContext,
  name: string,
  words: readonly string[],
  attack: Attack,
): Promise<void> {
  const server = new ServerProcess(name, words);
  try {
    await server.serving();
    await prepare(server.port);
    const outcome = await runAttack(server.port, attack, CONNECTIONS, SECONDS);
    const { requests, p50Ms, p99Ms, longestMs } = outcome;
    context.diagnostic(
      `${name.padEnd(8)} ${requests} requests, p50 ${p50Ms.toFixed(2)} ms, ` +
        `p99 ${p99Ms.toFixed(2)} ms, longest ${longestMs.toFixed(1)} ms, ` +
        `${server.residentMib()?.toFixed(0)} MiB resident`,
    );
  } finally {
    await server.stop();
  }
}
