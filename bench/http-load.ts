/**
 * A member under load over HTTP, beside a bare net.Server (the ceiling in Node) and node:http (the
 * usual alternative). All three run at once on the same cores and are loaded one after the other,
 * so an idle server costs only its memory.
 */
import type { Bench, Harness } from './harness.ts';
import { fill } from './load/fill.ts';
import { AUTOCANNON, type Generator, isWrkInstalled, WRK } from './load/generator.ts';
import { programWords } from './load/program.ts';
import { exchangeOf, type Request } from './load/request.ts';
import { ServerProcess } from './load/server-process.ts';
import { compareServers } from './load/server-rounds.ts';

/** The bare server stores nothing, so it is not filled. */
const BARE = 'bare';
const VALUE_BYTES = 100;
const TARGET = '/grid/rest/maps/bench/{key}';
const GET: Request = { method: 'GET', target: TARGET };
const POST: Request = { method: 'POST', target: TARGET, bodyBytes: VALUE_BYTES };

interface Work {
  readonly name: string;
  readonly request: Request;
  readonly depth: number;
}

const WORKS: readonly Work[] = [
  { name: 'GET 100 B, depth 1', request: GET, depth: 1 },
  { name: 'GET 100 B, depth 32', request: GET, depth: 32 },
  { name: 'POST 100 B, depth 1', request: POST, depth: 1 },
];

export const bench: Bench = {
  name: 'http-load',
  about: 'requests over HTTP, beside a bare net.Server and node:http',
  run(harness) {
    const isFull = harness.size === 'full';
    return loadServers(harness, isFull && isWrkInstalled() ? WRK : AUTOCANNON);
  },
};

/** Runs every work with the generator; the small size does as little as the generator allows. */
export async function loadServers(harness: Harness, generator: Generator): Promise<void> {
  const isFull = harness.size === 'full';
  harness.print(`driven by ${generator.name}`);
  if (isFull && generator === AUTOCANNON) {
    harness.print(
      'it saturates before the servers and flattens every ratio; install wrk for true figures',
    );
  }
  const servers: ServerProcess[] = [];
  try {
    const starting = commands().map(async ([name, words]) => {
      const server = new ServerProcess(name, words);
      servers.push(server);
      await server.serving();
    });
    await Promise.all(starting);
    harness.print(`gridnode resident, freshly started: ${mib(servers[0]?.residentMib())}`);
    for (const server of servers) {
      if (server.name === BARE) continue;
      await fill(server.port, exchangeOf(POST), 0, keyCountOf(harness));
    }
    // Each run of autocannon needs a process and one second.
    const works = isFull || generator === WRK ? WORKS : WORKS.slice(0, 1);
    for (const { name, request, depth } of works) {
      const load = {
        requests: [request],
        keyCount: keyCountOf(harness),
        connections: harness.pick(8, 64),
        depth,
        ...(isFull ? {} : { amount: 1000 }),
      };
      await compareServers(harness, generator, name, load, servers);
    }
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

/** Arguments of Node for each server: gridnode first, then the servers to compare it with. */
function commands(): [name: string, words: string[]][] {
  const serve = ['serve', '--port', '0', '--enable-group', 'DATA'];
  return [
    ['gridnode', [...programWords('bin/gridnode'), ...serve]],
    [BARE, programWords('bench/servers/bare')],
    ['node:http', programWords('bench/servers/node-http')],
  ];
}

function keyCountOf(harness: Harness): number {
  return harness.pick(100, 10_000);
}

function mib(value: number | undefined): string {
  return value === undefined ? 'not available' : `${value.toFixed(0)} MiB`;
}
