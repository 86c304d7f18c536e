/**
 * A member under load over HTTP, beside a bare net.Server (the ceiling in Node) and node:http (the
 * usual alternative). All three run at once on the same cores and are loaded one after the other,
 * so an idle server costs only its memory.
 */
import { type Bench, count, type Harness, median, time } from './harness.ts';
import { fill } from './load/fill.ts';
import {
  AUTOCANNON,
  type Generator,
  isWrkInstalled,
  type Load,
  type LoadFigures,
  WRK,
} from './load/generator.ts';
import { programWords } from './load/program.ts';
import { exchangeOf, type Request } from './load/request.ts';
import { ServerProcess } from './load/server-process.ts';

/** The bare server stores nothing, so it is not filled. */
const BARE = 'bare';
const VALUE_BYTES = 100;
const TARGET = '/grid/rest/maps/bench/{key}';
const GET: Request = { method: 'GET', target: TARGET };
const POST: Request = { method: 'POST', target: TARGET, bodyBytes: VALUE_BYTES };
const WARM_SECONDS = 3;
const ROUND_SECONDS = 3;

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

/** Figures of one round of one server. Values that the system does not report are NaN. */
interface Round extends LoadFigures {
  readonly cpuUs: number;
  readonly allocatedBytes: number;
}

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
    for (const work of works) await runWork(harness, generator, work, servers);
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

async function runWork(
  harness: Harness,
  generator: Generator,
  work: Work,
  servers: readonly ServerProcess[],
): Promise<void> {
  const isFull = harness.size === 'full';
  const loadOf = (server: ServerProcess, seconds: number): Load => ({
    port: server.port,
    requests: [work.request],
    keyCount: keyCountOf(harness),
    connections: harness.pick(8, 64),
    depth: work.depth,
    seconds,
    ...(isFull ? {} : { amount: 1000 }),
  });
  if (isFull) {
    for (const server of servers) await generator.drive(loadOf(server, WARM_SECONDS));
  }
  const sides = servers.map((server) => ({
    name: server.name,
    round: () => measureRound(generator, server, loadOf(server, harness.pick(0.2, ROUND_SECONDS))),
  }));
  const results = await harness.alternate(sides);
  const rows = results.map((rounds, index) => ({
    name: servers[index]?.name ?? '',
    ...medianRound(rounds),
  }));
  for (const row of rows) harness.print(describe(work, row, rows));
}

function keyCountOf(harness: Harness): number {
  return harness.pick(100, 10_000);
}

async function measureRound(
  generator: Generator,
  server: ServerProcess,
  load: Load,
): Promise<Round> {
  const cpuBefore = server.cpuUs();
  const heapBefore = server.allocated();
  const figures = await generator.drive(load);
  const cpuAfter = server.cpuUs();
  const heapAfter = server.allocated();
  const cpuUs = (cpuAfter ?? Number.NaN) - (cpuBefore ?? Number.NaN);
  const isCollected = heapAfter.collections > heapBefore.collections + 1;
  const allocated = isCollected ? heapAfter.bytes - heapBefore.bytes : Number.NaN;
  return {
    ...figures,
    cpuUs: cpuUs / figures.requests,
    allocatedBytes: allocated / figures.requests,
  };
}

function medianRound(rounds: readonly Round[]): Round {
  const of = (key: keyof Round) =>
    median(rounds.map((round) => round[key]).filter((value) => !Number.isNaN(value)));
  return {
    requests: of('requests'),
    requestsPerSecond: of('requestsPerSecond'),
    p50Us: of('p50Us'),
    p99Us: of('p99Us'),
    p999Us: of('p999Us'),
    late: rounds.reduce((sum, round) => sum + round.late, 0),
    cpuUs: of('cpuUs'),
    allocatedBytes: of('allocatedBytes'),
  };
}

type Row = Round & { readonly name: string };

function describe(work: Work, row: Row, rows: readonly Row[]): string {
  const cpu = Number.isNaN(row.cpuUs) ? 'CPU not available' : `${row.cpuUs.toFixed(2)} µs CPU/op`;
  const ratios = rows
    .slice(1)
    .filter((other) => other.name !== row.name)
    .map((other) => {
      const speed = row.requestsPerSecond / other.requestsPerSecond;
      const share = row.cpuUs / other.cpuUs;
      const cpuRatio = Number.isNaN(share) ? '' : ` (CPU ${share.toFixed(2)})`;
      return `  ${speed.toFixed(2)} of ${other.name}${cpuRatio}`;
    });
  const heap = Number.isNaN(row.allocatedBytes)
    ? 'too few collections for bytes/op'
    : `${count(row.allocatedBytes)} bytes/op`;
  const late = row.late === 0 ? '' : `  ${row.late} responses later than 2 s`;
  return (
    `${work.name.padEnd(20)} ${row.name.padEnd(10)}` +
    `${count(row.requestsPerSecond).padStart(10)} ops/s  ${cpu}  p50 ${time(row.p50Us)}` +
    `  p99 ${time(row.p99Us)}  p99.9 ${time(row.p999Us)}  ${heap}${late}${ratios.join('')}`
  );
}

function mib(value: number | undefined): string {
  return value === undefined ? 'not available' : `${value.toFixed(0)} MiB`;
}
