/**
 * A work is a task that several servers perform one after the other, with its measured figures. Its
 * sides are the servers, gridnode first; in a round one side performs the work once.
 */

import { fill } from '../load/fill.ts';
import { AUTOCANNON, type Generator, isWrkInstalled, WRK } from '../load/generator.ts';
import type { Peer } from './peer.ts';
import { PeerProcess } from './peer-process.ts';
import { type Placement, serversOn } from './processors.ts';

/** Size of a comparison. The default is in the Makefile. */
export interface Size {
  /** Number of stored entries; works about many entries store ten times as many. */
  readonly entries: number;
  /** Duration of a round under load. */
  readonly seconds: number;
  readonly rounds: number;
}

/** The figures of one round; an unknown figure is NaN. */
export type Figures = Readonly<Partial<Record<FigureName, number>>>;
export type FigureName = keyof typeof FIGURES;

/** Unit and decimal places of each printed figure. */
export const FIGURES = {
  perSecond: { unit: '/s', digits: 0 },
  cpuUs: { unit: 'µs CPU', digits: 2 },
  ownCpuUs: { unit: 'µs CPU of the serving program', digits: 2 },
  p50Us: { unit: 'µs p50', digits: 0 },
  p99Us: { unit: 'µs p99', digits: 0 },
  p999Us: { unit: 'µs p99.9', digits: 0 },
  burstMs: { unit: 'ms to the last response of a burst', digits: 1 },
  overflows: { unit: 'overflows of the accept queue', digits: 0 },
  bytesPerEntry: { unit: 'bytes per entry', digits: 1 },
  startMs: { unit: 'ms to the first response', digits: 0 },
  idleMib: { unit: 'MiB idle', digits: 1 },
} as const;

export interface Side {
  readonly name: string;
  /** Called before the first round; not counted. */
  warm?(): Promise<void>;
  round(): Promise<Figures>;
}

export interface Work {
  readonly name: string;
  readonly about: string;
  readonly placement: Placement;
  /** Whether each round starts a new server, while no other server runs. */
  readonly isAlone?: boolean;
  /** Maximum number of rounds. */
  readonly roundsMax?: number;
  sides(arena: Arena): readonly Side[];
}

/** The running servers, each started when it is first needed. */
export class Arena {
  readonly size: Size;
  /** The generator for all peers that have no generator of their own. */
  readonly generator: Generator = isWrkInstalled() ? WRK : AUTOCANNON;
  readonly #peers: readonly Peer[];
  readonly #running = new Map<string, PeerProcess>();
  /** The content with which each server has been filled, by process. */
  readonly #filled = new WeakMap<PeerProcess, { valueBytes: number; keyCount: number }>();

  constructor(size: Size, peers: readonly Peer[]) {
    this.size = size;
    this.#peers = peers;
  }

  /** The installed peers with these names, in the order of the names. */
  installed(names: readonly string[]): Peer[] {
    return names.flatMap((name) => this.#peers.filter((peer) => peer.name === name));
  }

  /**
   * Resolves with the peer's process, which works with the same `label` share. A peer that stores
   * nothing has a process for each length of the value.
   */
  async shared(
    peer: Peer,
    placement: Placement,
    valueBytes: number,
    label = '',
  ): Promise<PeerProcess> {
    const key = [peer.name, placement, peer.stores ? '' : valueBytes, label].join();
    const known = this.#running.get(key);
    if (known !== undefined) return known;
    const started = await PeerProcess.start(peer, serversOn(placement), valueBytes);
    this.#running.set(key, started);
    return started;
  }

  /** Fills the server so that the keys 0 to `keyCount - 1` have values of the specified length. */
  async filled(process: PeerProcess, valueBytes: number, keyCount: number): Promise<void> {
    const exchange = process.peer.exchange('set', valueBytes);
    const now = this.#filled.get(process);
    const isEnough = now?.valueBytes === valueBytes && now.keyCount >= keyCount;
    if (!process.peer.stores || exchange === undefined || isEnough) return;
    await fill(process.port, exchange, 0, keyCount);
    this.#filled.set(process, { valueBytes, keyCount });
  }

  async stopAll(): Promise<void> {
    const all = [...this.#running.values()];
    this.#running.clear();
    await Promise.all(all.map((process) => process.stop()));
  }
}

export function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, seconds * 1000);
  });
}
