/**
 * A work at a fixed rate, half of a server's peak: the latency of responses, measured from the
 * moment when each request was due.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { FixedRate, FixedRateFigures } from '../load/fixed-rate.ts';
import { programWords } from '../load/program.ts';
import { measured } from './load-work.ts';
import type { Peer } from './peer.ts';
import type { PeerProcess } from './peer-process.ts';
import type { Arena, Figures, Side, Work } from './work.ts';

const CONNECTIONS = 64;
const VALUE_BYTES = 100;
const KEYS = 10_000;
/**
 * Factor by which a round is longer than in other works, as it must be long enough for rare pauses.
 */
const LENGTH = 20 / 3;
/**
 * Flags that give the sender a large young generation, so that collections are rare, and allow it
 * to run a collection at its start.
 */
const SENDER_FLAGS = ['--max-semi-space-size=128', '--min-semi-space-size=128', '--expose-gc'];

const run = promisify(execFile);

/** Loads each server at half its own peak. */
export function latencyWork(name: string, about: string, peers: readonly string[]): Work {
  return {
    name,
    about,
    placement: 'pinned',
    sides: (arena) =>
      arena.installed(peers).map((peer) => {
        let perSecond = 0;
        return latencySide(arena, peer, peer.name, KEYS, async (process) => {
          perSecond ||= await halfOfPeak(arena, process);
          return perSecond;
        });
      }),
  };
}

/**
 * Loads one server with few entries, then one with ten times the run's number, both at half the
 * peak of the former.
 */
export function storedLatencyWork(name: string, about: string, peer: string): Work {
  return {
    name,
    about,
    placement: 'pinned',
    sides: (arena) =>
      arena.installed([peer]).flatMap((each) => {
        let perSecond = 0;
        const rate = async (process: PeerProcess) => {
          perSecond ||= await halfOfPeak(arena, process);
          return perSecond;
        };
        return [
          latencySide(arena, each, 'few', KEYS, rate),
          latencySide(arena, each, 'gridnode', arena.size.entries * 10, rate),
        ];
      }),
  };
}

function latencySide(
  arena: Arena,
  peer: Peer,
  name: string,
  keys: number,
  rate: (process: PeerProcess) => Promise<number>,
): Side {
  const keyCount = Math.min(keys, arena.size.entries * 10);
  const running = async (): Promise<PeerProcess> => {
    const process = await arena.shared(peer, 'pinned', VALUE_BYTES, `latency ${name}`);
    await arena.filled(process, VALUE_BYTES, keyCount);
    return process;
  };
  const round = async (seconds: number): Promise<Figures> => {
    const process = await running();
    const exchange = peer.exchange('get', VALUE_BYTES);
    if (exchange === undefined) return {};
    const perSecond = await rate(process);
    const order = { port: process.port, exchange, keyCount, connections: CONNECTIONS };
    return sent({ ...order, perSecond, seconds });
  };
  return {
    name,
    async warm() {
      await round(arena.size.seconds);
    },
    round: () => round(arena.size.seconds * LENGTH),
  };
}

async function halfOfPeak(arena: Arena, process: PeerProcess): Promise<number> {
  const request = process.peer.request('get', VALUE_BYTES);
  const { perSecond = Number.NaN } = await measured(arena, process, {
    port: process.port,
    requests: request === undefined ? [] : [request],
    keyCount: Math.min(KEYS, arena.size.entries),
    connections: CONNECTIONS,
    depth: 1,
    seconds: arena.size.seconds,
  });
  return Math.floor(perSecond / 2);
}

async function sent(order: FixedRate): Promise<FixedRateFigures> {
  const words = [...SENDER_FLAGS, ...programWords('bench/load/fixed-rate'), JSON.stringify(order)];
  const { stdout } = await run(process.execPath, words);
  return JSON.parse(stdout) as FixedRateFigures;
}
