/**
 * A member that stores its data on a Redis server with a replica: once with changes that wait only
 * for the server, once with changes that also wait for the replica.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exchangeOf } from '../load/request.ts';
import { GRIDNODE, gridnode } from './node-peers.ts';
import type { Peer, Place } from './peer.ts';
import { REDIS, redisServer } from './redis.ts';

export const ON_REDIS = onRedis('on-redis', 0);
export const ON_REDIS_CONFIRMED = onRedis('on-redis-1', 1);

/** `backupCount`: number of replicas that must have a change before its response is sent. */
function onRedis(name: string, backupCount: number): Peer {
  return {
    ...GRIDNODE,
    name,
    install: REDIS.install,
    isInstalled: REDIS.isInstalled,
    commands(place) {
      const { innerPort, replicaPort, folder } = place;
      const file = join(folder, 'member.yaml');
      writeFileSync(file, configuration(place, backupCount));
      const source = ['--replicaof', '127.0.0.1', String(innerPort)];
      return [
        redisServer(innerPort, folder, '--repl-diskless-sync-delay', '0'),
        redisServer(replicaPort, folder, '--dbfilename', 'replica.rdb', ...source),
        gridnode('--config', file, '--host', '127.0.0.1'),
      ];
    },
    // It is safe once the replica is connected.
    ready: exchangeOf({ method: 'GET', target: '/grid/health/cluster-safe' }),
  };
}

function configuration({ port, innerPort }: Place, backupCount: number): string {
  return `grid:
  network:
    port: {port: ${port}}
    rest-api: {enabled: true, endpoint-groups: {DATA: {enabled: true}}}
  engine: {url: "redis://127.0.0.1:${innerPort}"}
  map: {default: {backup-count: ${backupCount}}}
  queue: {default: {backup-count: ${backupCount}}}
`;
}
