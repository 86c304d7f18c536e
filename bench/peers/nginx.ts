/** nginx with one worker that returns a fixed text: the minimal cost of an HTTP server in C. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exchangeOf } from '../load/request.ts';
import { findProgram, overHttp, type Peer, type Place } from './peer.ts';

/** Maximum length of a word in nginx's configuration, in bytes: a memory page. */
const VALUE_BYTES_MAX = 4000;
const program = findProgram('nginx');

export const NGINX: Peer = {
  ...overHttp((operation, valueBytes) => {
    if (operation !== 'get' || valueBytes > VALUE_BYTES_MAX) return undefined;
    return { method: 'GET', target: '/grid/rest/maps/bench/{key}' };
  }),
  name: 'nginx',
  install: 'apt-get install nginx',
  isInstalled: () => program !== undefined,
  stores: false,
  commands(place) {
    const file = join(place.folder, 'nginx.conf');
    writeFileSync(file, configuration(place));
    return [
      [program ?? 'nginx', '-p', place.folder, '-e', join(place.folder, 'error.log'), '-c', file],
    ];
  },
  ready: exchangeOf({ method: 'GET', target: '/' }),
};

function configuration({ port, folder, valueBytes }: Place): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_requests 1000000000;
  default_type text/plain;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / { return 200 "${'x'.repeat(valueBytes)}"; }
  }
}
`;
}
