/**
 * Works about a process itself, each round with a fresh one: the memory of its entries, its start, and
 * its memory while it is idle.
 */
import { fill } from '../load/fill.ts';
import { KEY_BYTES } from '../load/request.ts';
import type { Peer } from './peer.ts';
import { PeerProcess } from './peer-process.ts';
import { serversOn } from './processors.ts';
import { type Arena, type Figures, pause, type Work } from './work.ts';

const VALUE_BYTES = 100;
/**
 * Entries stored before the first reading of memory: memory that a server takes once is not counted for
 * them.
 */
const FIRST_ENTRIES = 20_000;
const MEMORY_ROUNDS_MAX = 3;

/** Memory of an entry beyond its key and value; `times` the entries of the run. */
export function memoryWork(
  name: string,
  about: string,
  peers: readonly string[],
  times: number,
): Work {
  return {
    ...{ name, about, placement: 'pinned', isAlone: true },
    roundsMax: times > 1 ? 1 : MEMORY_ROUNDS_MAX,
    sides: (arena) =>
      arena.installed(peers).map((peer) => ({
        name: peer.name,
        round: () => memoryRound(arena, peer, arena.size.entries * times),
      })),
  };
}

async function memoryRound(arena: Arena, peer: Peer, entries: number): Promise<Figures> {
  const exchange = peer.exchange('set', VALUE_BYTES);
  if (exchange === undefined) return {};
  const process = await PeerProcess.start(peer, serversOn('pinned'), VALUE_BYTES);
  try {
    const firstEntries = Math.min(FIRST_ENTRIES, entries);
    await fill(process.port, exchange, 0, firstEntries);
    await pause(arena.size.seconds);
    const before = process.dataBytes();
    await fill(process.port, exchange, firstEntries, entries);
    await pause(arena.size.seconds);
    const bytesPerEntry = (process.dataBytes() - before) / entries - KEY_BYTES - VALUE_BYTES;
    return { bytesPerEntry };
  } finally {
    await process.stop();
  }
}

/** Time from before the process is made to its first answer, and the memory that it takes idle. */
export function startWork(name: string, about: string, peers: readonly string[]): Work {
  return {
    ...{ name, about, placement: 'all', isAlone: true },
    sides: (arena) =>
      arena.installed(peers).map((peer) => ({
        name: peer.name,
        async round() {
          const process = await PeerProcess.start(peer, serversOn('all'), VALUE_BYTES);
          try {
            await pause(arena.size.seconds);
            return { startMs: process.startMs, idleMib: process.residentMib() };
          } finally {
            await process.stop();
          }
        },
      })),
  };
}
