/**
 * Three members, of which one is loaded: gridnode's on a Redis Cluster of three primaries with one
 * replica each, and the original's. Both store a copy of each change before they respond.
 */
import { exchangeOf } from '../load/request.ts';
import { GRIDNODE, gridnode } from './node-peers.ts';
import { ORIGINAL, originalMember } from './original.ts';
import type { Command, Peer, Place } from './peer.ts';
import { REDIS, redisServer } from './redis.ts';

const SERVERS = 6;

export const THREE_ON_REDIS: Peer = {
  ...GRIDNODE,
  name: 'three-on-redis',
  install: REDIS.install,
  isInstalled: REDIS.isInstalled,
  commands(place) {
    const { port, furtherPorts } = place;
    const [one, two, ...ports] = furtherPorts;
    const servers = ports.slice(0, SERVERS);
    const addresses = servers.map((each) => `127.0.0.1:${each}`);
    const member = (each: number | undefined) =>
      gridnode(
        '--port',
        String(each),
        '--enable-group',
        'DATA',
        '--engine',
        `redis://${addresses.join()}`,
      );
    return [
      ...servers.map((each, index) => clusterServer(place, each, ports[SERVERS + index])),
      joining(servers, addresses),
      ...[one, two, port].map(member),
    ];
  },
  // It is safe once the replicas are connected.
  ready: exchangeOf({ method: 'GET', target: '/grid/health/cluster-safe' }),
};

export const THREE_ORIGINALS: Peer = {
  ...ORIGINAL,
  name: 'three-originals',
  commands(place) {
    const members = [...place.furtherPorts.slice(0, 2), place.port];
    return members.map((port) => originalMember({ ...place, port }, members));
  },
};

function clusterServer({ folder }: Place, port: number, busPort: number | undefined): Command {
  return redisServer(
    port,
    folder,
    '--dbfilename',
    `${port}.rdb`,
    '--cluster-enabled',
    'yes',
    '--cluster-config-file',
    `${port}.conf`,
    '--cluster-port',
    String(busPort),
    '--repl-diskless-sync-delay',
    '0',
  );
}

/** Returns a command that creates a Cluster once all servers respond, and then sleeps. */
function joining(ports: readonly number[], addresses: readonly string[]): Command {
  const answers = ports.map((port) => `redis-cli -p ${port} ping >/dev/null 2>&1`).join(' && ');
  const create = `redis-cli --cluster create ${addresses.join(' ')} --cluster-replicas 1 --cluster-yes`;
  return ['sh', '-c', `until ${answers}; do sleep 0.1; done; ${create} && exec sleep infinity`];
}
