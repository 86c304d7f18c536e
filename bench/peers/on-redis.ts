/**
 * A member whose data a server of Redis keeps, that server, and its replica: once with changes that wait
 * for nothing but the server, once with changes that the replica must have, too.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exchangeOf } from '../load/request.ts';
import { GRIDNODE, gridnode } from './node-peers.ts';
import type { Peer, Place } from './peer.ts';
import { REDIS, redisServer } from './redis.ts';

export const ON_REDIS = onRedis('on-redis', 0);
export const ON_REDIS_CONFIRMED = onRedis('on-redis-1', 1);

/** `backupCount`: replicas that must have a change before it is answered. */
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
    // It is safe once the replica is there.
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
