/**
 * A work is a task for several servers in turn, with its measured figures. Its sides are the servers,
 * gridnode first; a round is one side doing the work once.
 */

import { fill } from '../load/fill.ts';
import { AUTOCANNON, type Generator, isWrkInstalled, WRK } from '../load/generator.ts';
import type { Peer } from './peer.ts';
import { PeerProcess } from './peer-process.ts';
import { type Placement, serversOn } from './processors.ts';

/** Size of a comparison. The usual size is in the Makefile. */
export interface Size {
  /** Entries stored; ten times as many in works about many entries. */
  readonly entries: number;
  /** Length of a round under load. */
  readonly seconds: number;
  readonly rounds: number;
}

/** The figures of one round; NaN is unknown. */
export type Figures = Readonly<Partial<Record<FigureName, number>>>;
export type FigureName = keyof typeof FIGURES;

/** Unit and decimal places of each printed figure. */
export const FIGURES = {
  perSecond: { unit: '/s', digits: 0 },
  cpuUs: { unit: 'µs CPU', digits: 2 },
  ownCpuUs: { unit: 'µs CPU of what serves', digits: 2 },
  p50Us: { unit: 'µs p50', digits: 0 },
  p99Us: { unit: 'µs p99', digits: 0 },
  p999Us: { unit: 'µs p99.9', digits: 0 },
  bytesPerEntry: { unit: 'bytes an entry', digits: 1 },
  startMs: { unit: 'ms to the first answer', digits: 0 },
  idleMib: { unit: 'MiB idle', digits: 1 },
} as const;

export interface Side {
  readonly name: string;
  /** Runs before the first round and is not counted. */
  warm?(): Promise<void>;
  round(): Promise<Figures>;
}

export interface Work {
  readonly name: string;
  readonly about: string;
  readonly placement: Placement;
  /** Whether each round starts a server of its own, while no other runs. */
  readonly isAlone?: boolean;
  /** Limit of the rounds. */
  readonly roundsMax?: number;
  sides(arena: Arena): readonly Side[];
}

/** The running servers, each started when it is first needed. */
export class Arena {
  readonly size: Size;
  /** The generator for all peers but those with their own. */
  readonly generator: Generator = isWrkInstalled() ? WRK : AUTOCANNON;
  readonly #peers: readonly Peer[];
  readonly #running = new Map<string, PeerProcess>();
  /** The content that each server has been filled with, by process. */
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
   * A process of the peer that all works share; `label` separates one. A peer that stores nothing is
   * started for the length of the value.
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

  /** Fills the server, so that the keys 0 to `keyCount - 1` have values of that length. */
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
