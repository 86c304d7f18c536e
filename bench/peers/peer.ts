/**
 * A peer is a server that stands beside gridnode in a comparison: how it is started, and how it is asked
 * for the same things. What it cannot do it has no request for, and takes no part in that work.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Generator } from '../load/generator.ts';
import { type Exchange, exchangeOf, type Request } from '../load/request.ts';

/** What is done: with the entry of a key, or with the one queue of the comparison. */
export type Operation = 'get' | 'set' | 'offer' | 'poll' | 'wait';

/** For how long `wait` waits for an item, in seconds. */
export const WAIT_SECONDS = 60;

/** Where a peer is started. */
export interface Place {
  readonly port: number;
  /** For a server behind the server. */
  readonly innerPort: number;
  /** A folder of its own, for its files. */
  readonly folder: string;
  /** Length of the value that a peer answers with if it stores none. */
  readonly valueBytes: number;
}

/** A program and its arguments. */
export type Command = readonly [program: string, ...words: string[]];

export interface Peer {
  readonly name: string;
  /** The command that installs it. */
  readonly install: string;
  isInstalled(): boolean;
  /** Whether it keeps what it is sent; if not, it answers every request with one value. */
  readonly stores: boolean;
  /** Writes the files that it needs, and returns what is to be run, in order. */
  commands(place: Place): readonly Command[];
  /** Succeeds once it serves. */
  readonly ready: Exchange;
  /** As a generator takes it. */
  request(operation: Operation, valueBytes: number): Request | undefined;
  /** The same in bytes. */
  exchange(operation: Operation, valueBytes: number): Exchange | undefined;
  /** What loads it, where that is not the generator of all the others. */
  readonly generator?: Generator;
  /** Bytes that hold its data, where the resident set does not tell. */
  dataBytes?(pid: number): number;
}

/** The requests of a peer that is asked over HTTP, from those that a generator takes. */
export function overHttp(request: Peer['request']): Pick<Peer, 'request' | 'exchange'> {
  return {
    request,
    exchange(operation, valueBytes) {
      const asked = request(operation, valueBytes);
      return asked && exchangeOf(asked);
    },
  };
}

/** Requests of the member REST interface below a path segment. */
export function asMember(segment: string): Pick<Peer, 'request' | 'exchange'> {
  const entry = `/${segment}/rest/maps/bench/{key}`;
  const queue = `/${segment}/rest/queues/bench`;
  return overHttp((operation, bodyBytes) => {
    if (operation === 'get') return { method: 'GET', target: entry };
    if (operation === 'set') return { method: 'POST', target: entry, bodyBytes };
    if (operation === 'offer') return { method: 'POST', target: queue, bodyBytes };
    return { method: 'DELETE', target: `${queue}/${operation === 'poll' ? 0 : WAIT_SECONDS}` };
  });
}

/** Where the program stands, or undefined. Debian's servers stand where only root's path leads. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}
