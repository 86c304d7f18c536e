/**
 * Works that measure a process, a new one in each round: the memory of its entries, its start, and
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
 * Number of entries stored before the first reading of memory, so that the fixed memory of a server
 * does not count.
 */
const FIRST_ENTRIES = 20_000;
const MEMORY_ROUNDS_MAX = 3;

/**
 * Measures an entry's memory beyond its key and value, with `times` the run's number of entries.
 */
export function memoryWork(
  name: string,
  about: string,
  peers: readonly string[],
  times: number,
): Work {
  return {
    name,
    about,
    placement: 'pinned',
    isAlone: true,
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

/** Measures the time from a process's creation to its first response, and its memory while idle. */
export function startWork(name: string, about: string, peers: readonly string[]): Work {
  return {
    name,
    about,
    placement: 'all',
    isAlone: true,
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
