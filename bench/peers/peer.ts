/**
 * A peer is a server that is compared with gridnode: how it is started, and its requests for the
 * same operations. A peer without a request for an operation takes no part in works of that
 * operation.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Generator } from '../load/generator.ts';
import { type Exchange, exchangeOf, type Request } from '../load/request.ts';

/** The operations: on the entry of a key, or on the one queue of the comparison. */
export type Operation = 'get' | 'set' | 'offer' | 'poll' | 'wait';

/** Time that `wait` waits for an item, in seconds. */
export const WAIT_SECONDS = 60;

/** The ports and the folder with which a peer is started. */
export interface Place {
  readonly port: number;
  /** Ports of the peer's backend and of the backend's replica. */
  readonly innerPort: number;
  readonly replicaPort: number;
  /** Ports of the peer's other programs. */
  readonly furtherPorts: readonly number[];
  /** A separate folder for its files. */
  readonly folder: string;
  /** Length of the value that a peer returns if it stores none. */
  readonly valueBytes: number;
}

/** A program and its arguments. */
export type Command = readonly [program: string, ...words: string[]];

export interface Peer {
  readonly name: string;
  /** The command that installs the peer. */
  readonly install: string;
  isInstalled(): boolean;
  /** Whether it stores values; if not, it returns one value for every request. */
  readonly stores: boolean;
  /** Writes the files that it needs and returns the commands in starting order, the server last. */
  commands(place: Place): readonly Command[];
  /** An exchange that succeeds once the peer serves. */
  readonly ready: Exchange;
  /** The request of an operation, for a generator. */
  request(operation: Operation, valueBytes: number): Request | undefined;
  /** The request of an operation, in bytes. */
  exchange(operation: Operation, valueBytes: number): Exchange | undefined;
  /** The generator for this peer, if it does not use the common one. */
  readonly generator?: Generator;
  /** Memory of its data in bytes, if the resident set does not show it. */
  dataBytes?(pid: number): number;
}

/** Returns the byte requests of an HTTP peer, made from its requests for a generator. */
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

/**
 * Returns the program's path or undefined. Debian's servers are in a folder only on root's path.
 */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}
