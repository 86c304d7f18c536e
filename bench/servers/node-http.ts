/**
 * A simple server on node:http that can be written in an hour: one Map per map, with the paths and
 * responses of a member. Like a member, it prints a line of JSON with its port; the port is an
 * optional argument.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Entry {
  readonly contentType: string | undefined;
  readonly value: Buffer;
}

const maps = new Map<string, Map<string, Entry>>();

const server = createServer((request, response) => {
  const [, , , kind, name = '', key = ''] = (request.url ?? '').split('/', 6);
  if (kind !== 'maps' || key === '') {
    response.writeHead(404).end();
  } else if (request.method === 'POST') {
    store(name, decodeURIComponent(key), request, response);
  } else {
    answer(maps.get(name)?.get(decodeURIComponent(key)), response);
  }
});

server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ msg: 'listening', port })}\n`);
});

function store(name: string, key: string, request: IncomingMessage, response: ServerResponse) {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    let map = maps.get(name);
    if (map === undefined) {
      map = new Map();
      maps.set(name, map);
    }
    map.set(key, { contentType: request.headers['content-type'], value: Buffer.concat(chunks) });
    response.writeHead(200, { 'Content-Length': 0 }).end();
  });
}

function answer(entry: Entry | undefined, response: ServerResponse) {
  if (entry === undefined) {
    response.writeHead(204).end();
    return;
  }
  if (entry.contentType !== undefined) response.setHeader('Content-Type', entry.contentType);
  response.writeHead(200, { 'Content-Length': entry.value.length }).end(entry.value);
}
