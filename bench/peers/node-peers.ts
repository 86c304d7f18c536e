/**
 * gridnode and the peers that run on Node: a bare net.Server, which is the ceiling, and a simple
 * server on node:http.
 */
import { programWords } from '../load/program.ts';
import { exchangeOf } from '../load/request.ts';
import { asMember, type Command, type Peer, type Place } from './peer.ts';

const INSTALLED = { install: 'make install', isInstalled: () => true };

export const GRIDNODE: Peer = {
  ...INSTALLED,
  ...asMember('grid'),
  name: 'gridnode',
  stores: true,
  commands: ({ port }) => [gridnode('--port', String(port), '--enable-group', 'DATA')],
  ready: exchangeOf({ method: 'GET', target: '/grid/health/ready' }),
};

/** Returns the command that serves with these options. */
export function gridnode(...options: string[]): Command {
  return node('bin/gridnode', 'serve', ...options);
}

export const BARE: Peer = {
  ...INSTALLED,
  ...asMember('grid'),
  name: 'bare',
  stores: false,
  commands: ({ port, valueBytes }: Place) => [
    node('bench/servers/bare', String(port), String(valueBytes)),
  ],
  ready: exchangeOf({ method: 'GET', target: '/' }),
};

export const NODE_HTTP: Peer = {
  ...INSTALLED,
  ...asMember('grid'),
  name: 'node:http',
  stores: true,
  commands: ({ port }) => [node('bench/servers/node-http', String(port))],
  ready: exchangeOf({ method: 'GET', target: '/' }, 'HTTP/1.1 404 '),
};

function node(program: string, ...words: string[]): Command {
  return [process.execPath, ...programWords(program), ...words];
}
