/**
 * Loads servers in alternating rounds and prints a line for each: its rate, its CPU time and heap for
 * each request, and its ratios to the servers that it is compared with. The first server is a member.
 */
import { count, type Harness, median, time } from '../harness.ts';
import type { Generator, Load, LoadFigures } from './generator.ts';
import { listenOverflows } from './listen-overflows.ts';
import type { ServerProcess } from './server-process.ts';

const WARM_SECONDS = 3;
const ROUND_SECONDS = 3;

/** Figures of one round of one server. Values that the system does not report are NaN. */
interface Round extends LoadFigures {
  readonly cpuUs: number;
  readonly allocatedBytes: number;
  readonly overflows: number;
}

type Row = Round & { readonly name: string };

/** The load of a server, without its port and duration. */
export type ServerLoad = Omit<Load, 'port' | 'seconds'>;

export async function compareServers(
  harness: Harness,
  generator: Generator,
  work: string,
  load: ServerLoad,
  servers: readonly ServerProcess[],
): Promise<void> {
  const loadOf = ({ port }: ServerProcess, seconds: number): Load => ({ ...load, port, seconds });
  if (harness.size === 'full') {
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

async function measureRound(
  generator: Generator,
  server: ServerProcess,
  load: Load,
): Promise<Round> {
  const cpuBefore = server.cpuUs();
  const heapBefore = server.allocated();
  const overflowsBefore = listenOverflows();
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
    overflows: listenOverflows() - overflowsBefore,
  };
}

function medianRound(rounds: readonly Round[]): Round {
  const of = (key: keyof Round) =>
    median(rounds.map((round) => round[key]).filter((value) => !Number.isNaN(value)));
  const sumOf = (key: keyof Round) => rounds.reduce((sum, round) => sum + round[key], 0);
  return {
    requests: of('requests'),
    requestsPerSecond: of('requestsPerSecond'),
    p50Us: of('p50Us'),
    p99Us: of('p99Us'),
    p999Us: of('p999Us'),
    burstUs: of('burstUs'),
    late: sumOf('late'),
    cpuUs: of('cpuUs'),
    allocatedBytes: of('allocatedBytes'),
    overflows: sumOf('overflows'),
  };
}

function describe(work: string, row: Row, rows: readonly Row[]): string {
  const cpu = Number.isNaN(row.cpuUs) ? 'CPU not available' : `${row.cpuUs.toFixed(2)} µs CPU/op`;
  const ratios = rows
    .slice(1)
    .filter((other) => other.name !== row.name)
    .map((other) => {
      const speed = row.requestsPerSecond / other.requestsPerSecond;
      const share = row.cpuUs / other.cpuUs;
      // A short round may use less CPU time than the system counts.
      const cpuRatio = Number.isFinite(share) ? ` (CPU ${share.toFixed(2)})` : '';
      return `  ${speed.toFixed(2)} of ${other.name}${cpuRatio}`;
    });
  const heap = Number.isNaN(row.allocatedBytes)
    ? 'too few collections for bytes/op'
    : `${count(row.allocatedBytes)} bytes/op`;
  const late = row.late === 0 ? '' : `  ${row.late} responses later than 2 s`;
  const overflows = row.overflows > 0 ? `  ${row.overflows} overflows of the accept queue` : '';
  const burst = Number.isNaN(row.burstUs) ? '' : `  last response of a burst ${time(row.burstUs)}`;
  return (
    `${work.padEnd(20)} ${row.name.padEnd(12)}` +
    `${count(row.requestsPerSecond).padStart(10)} ops/s  ${cpu}${burst}  p50 ${time(row.p50Us)}` +
    `  p99 ${time(row.p99Us)}  p99.9 ${time(row.p999Us)}  ${heap}${late}${overflows}${ratios.join('')}`
  );
}
