/** A work that a generator drives: as many requests as possible, over kept connections or one for each. */
import { fill } from '../load/fill.ts';
import type { Load } from '../load/generator.ts';
import { listenOverflows } from '../load/listen-overflows.ts';
import type { Request } from '../load/request.ts';
import type { Operation, Peer } from './peer.ts';
import type { PeerProcess } from './peer-process.ts';
import type { Placement } from './processors.ts';
import type { Arena, Figures, Side, Work } from './work.ts';

const KEYS = 10_000;
/** Number of items in a queue from the start, so that no poll finds it empty. */
const QUEUED_ITEMS = 1000;

/** Suffix for the name of a peer that takes part a second time. */
export const ONE_BY_ONE = ', one by one';

export interface LoadOptions {
  readonly name: string;
  readonly about: string;
  readonly peers: readonly string[];
  /** Operations, each with the number of its successive requests. */
  readonly operations: Readonly<Partial<Record<Operation, number>>>;
  readonly valueBytes?: number;
  readonly connections?: number;
  readonly depth?: number;
  /** Side that ends the connection after each request; without it, connections are kept. */
  readonly ends?: 'server' | 'client';
  /** With `ends` only: number of bursts of all connections, instead of the seconds of a round. */
  readonly bursts?: number;
  /** A peer that takes part a second time, with one request at a time on a connection. */
  readonly oneByOne?: string;
  readonly placement?: Placement;
  /** Number of keys; limited to the entries of the run. */
  readonly keyCount?: number;
}

export function loadWork(options: LoadOptions): Work {
  const { placement = 'pinned' } = options;
  return {
    name: options.name,
    about: options.about,
    placement,
    sides: (arena) => [
      ...arena.installed(options.peers).flatMap((peer) => sideOf(peer, arena, options, placement)),
      ...arena
        .installed(options.oneByOne === undefined ? [] : [options.oneByOne])
        .flatMap((peer) => sideOf(peer, arena, { ...options, depth: 1 }, placement))
        .map((side) => ({ ...side, name: `${side.name}${ONE_BY_ONE}` })),
    ],
  };
}

/** Returns the peer's side, or none if the peer lacks one of the operations. */
function sideOf(peer: Peer, arena: Arena, options: LoadOptions, placement: Placement): Side[] {
  const { valueBytes = 100, connections = 64, depth = 1, keyCount = KEYS, ends, bursts } = options;
  const requests: Request[] = [];
  for (const [operation, times] of Object.entries(options.operations)) {
    const request = peer.request(operation as Operation, valueBytes);
    if (request === undefined) return [];
    requests.push({ ...request, times });
  }
  const keys = Math.min(keyCount, arena.size.entries);
  const drive = (process: PeerProcess): Promise<Figures> =>
    measured(arena, process, {
      port: process.port,
      requests,
      keyCount: keys,
      connections,
      depth,
      seconds: arena.size.seconds,
      ...(ends && { ends }),
      ...(bursts && { bursts }),
    });
  return [
    {
      name: peer.name,
      async warm() {
        const process = await arena.shared(peer, placement, valueBytes);
        await arena.filled(process, valueBytes, keys);
        const offer = peer.exchange('offer', valueBytes);
        if ('poll' in options.operations && offer !== undefined) {
          await fill(process.port, offer, 0, QUEUED_ITEMS);
        }
        await drive(process);
      },
      round: async () => drive(await arena.shared(peer, placement, valueBytes)),
    },
  ];
}

/** Runs one round of a generator and measures the server's CPU time per request. */
export async function measured(arena: Arena, process: PeerProcess, load: Load): Promise<Figures> {
  const generator = process.peer.generator ?? arena.generator;
  const before = process.cpuUs();
  const ownBefore = process.ownCpuUs();
  const overflowsBefore = listenOverflows();
  const { requests, requestsPerSecond, burstUs, ...latencies } = await generator.drive(load);
  const { p50Us, p99Us, p999Us } = latencies;
  const cpuUs = (process.cpuUs() - before) / requests;
  const ownCpuUs = (process.ownCpuUs() - ownBefore) / requests;
  const common = { cpuUs, ownCpuUs, p50Us, p99Us, p999Us };
  if (load.ends === undefined) return { ...common, perSecond: requestsPerSecond };
  const overflows = listenOverflows() - overflowsBefore;
  if (load.bursts === undefined) return { ...common, overflows, perSecond: requestsPerSecond };
  return { ...common, overflows, burstMs: burstUs / 1000 };
}
