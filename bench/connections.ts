/**
 * A connection for each request, ended by the server (`Connection: close`) or by the client, and bursts of
 * connections: a member beside a server on the bare handles of its connections (the ceiling in Node), a
 * bare net.Server and node:http. All run at once on the same cores and are loaded one after the other.
 */
import type { Bench, Harness } from './harness.ts';
import { fill } from './load/fill.ts';
import { AUTOCANNON, isWrkInstalled, WRK } from './load/generator.ts';
import { programWords } from './load/program.ts';
import { exchangeOf, type Request } from './load/request.ts';
import { ServerProcess } from './load/server-process.ts';
import { compareServers, type ServerLoad } from './load/server-rounds.ts';

const VALUE_BYTES = 100;
const TARGET = '/grid/rest/maps/bench/{key}';
const GET: Request = { method: 'GET', target: TARGET };
const POST: Request = { method: 'POST', target: TARGET, bodyBytes: VALUE_BYTES };
const CLOSE = ['0', String(VALUE_BYTES), 'close'];

export const bench: Bench = {
  name: 'connections',
  about: 'a connection for each request, beside bare handles, a bare net.Server and node:http',
  async run(harness) {
    const servers: ServerProcess[] = [];
    const keyCount = harness.pick(100, 10_000);
    try {
      const started = async (name: string, words: readonly string[]) => {
        const server = new ServerProcess(name, words);
        servers.push(server);
        await server.serving();
        return server;
      };
      const member = ['serve', '--port', '0', '--enable-group', 'DATA'];
      const gridnode = await started('gridnode', [...programWords('bin/gridnode'), ...member]);
      const http = await started('node:http', programWords('bench/servers/node-http'));
      const handles = programWords('bench/servers/bare-handles');
      const bare = programWords('bench/servers/bare');
      // The bare servers read no field, so that each kind of end has its own.
      const closing = [
        await started('bare handles', [...handles, ...CLOSE]),
        await started('bare', [...bare, ...CLOSE]),
      ];
      const open = [await started('bare handles', handles), await started('bare', bare)];
      for (const { port } of [gridnode, http]) await fill(port, exchangeOf(POST), 0, keyCount);
      await runWorks(harness, keyCount, 'server', [gridnode, ...closing, http]);
      await runWorks(harness, keyCount, 'client', [gridnode, ...open, http]);
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
  },
};

async function runWorks(
  harness: Harness,
  keyCount: number,
  ends: 'server' | 'client',
  servers: readonly ServerProcess[],
): Promise<void> {
  const isFull = harness.size === 'full';
  const generator = isFull && isWrkInstalled() ? WRK : AUTOCANNON;
  const load: ServerLoad = { requests: [GET], keyCount, connections: 1, depth: 1, ends };
  for (const connections of isFull ? [1, 64, 512] : [8]) {
    const work = `${ends} ends, ${connections}`;
    await compareServers(harness, generator, work, { ...load, connections }, servers);
  }
  const burst = { ...load, connections: harness.pick(50, 1000), bursts: harness.pick(1, 10) };
  await compareServers(harness, generator, `${ends} ends, burst`, burst, servers);
}
