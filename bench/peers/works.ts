/** All works, in order: works that share servers follow one another. */
import { blockedPollsWork } from './blocked-polls-work.ts';
import { latencyWork, storedLatencyWork } from './latency-work.ts';
import { type LoadOptions, loadWork } from './load-work.ts';
import { memoryWork, startWork } from './process-works.ts';
import type { Work } from './work.ts';

const STORES = ['gridnode', 'node:http', 'original'];
const SERVERS = ['gridnode', 'bare', 'node:http', 'nginx', 'original'];
const WITH_REDIS = [...SERVERS, 'redis'];
const GRIDS = ['gridnode', 'original'];
const REST_PEERS = ['gridnode', 'webdis', 'original'];
const COUNTS = ['on-redis', 'on-redis-1'];
const CLOSING = ['gridnode', 'node:http', 'nginx', 'webdis'];
const KIB = 1024;

const three = { peers: ['three-on-redis', 'three-originals'], placement: 'all' } as const;
const get = { operations: { get: 1 }, peers: SERVERS };
const set = { operations: { set: 1 }, peers: SERVERS };
/** A connection for each request. The original ignores `Connection: close`. */
const serverEnds = { operations: { get: 1 }, peers: CLOSING, ends: 'server' } as const;
const clientEnds = { ...serverEnds, peers: [...CLOSING, 'original'], ends: 'client' } as const;

const loads: readonly LoadOptions[] = [
  { ...get, name: 'get-100', about: 'GET of 100 B' },
  { ...set, name: 'post-100', about: 'POST of 100 B' },
  { ...get, name: 'get-1k', about: 'GET of 1 KiB', valueBytes: KIB },
  { ...set, name: 'post-1k', about: 'POST of 1 KiB', valueBytes: KIB },
  { ...get, name: 'get-64k', about: 'GET of 64 KiB', valueBytes: 64 * KIB, keyCount: 100 },
  // The bare server would respond before it has received the whole request.
  {
    ...set,
    name: 'post-64k',
    about: 'POST of 64 KiB',
    valueBytes: 64 * KIB,
    keyCount: 100,
    peers: STORES,
  },
  { ...get, name: 'get-1', about: 'GET of 100 B, 1 connection', connections: 1 },
  { ...set, name: 'post-1', about: 'POST of 100 B, 1 connection', connections: 1 },
  { ...get, name: 'get-512', about: 'GET of 100 B, 512 connections', connections: 512 },
  { ...set, name: 'post-512', about: 'POST of 100 B, 512 connections', connections: 512 },
  {
    ...get,
    name: 'pipelined-16',
    about: 'GET of 100 B, 16 pipelined',
    depth: 16,
    peers: WITH_REDIS,
  },
  { ...get, name: 'pipelined-32', about: 'GET of 100 B, 32 pipelined', depth: 32 },
  {
    ...get,
    name: 'pipelined-64',
    about: 'GET of 100 B, 64 pipelined',
    depth: 64,
    peers: WITH_REDIS,
  },
  // The original may stop responding for good, so it does not take part.
  {
    ...set,
    name: 'post-pipelined-16',
    about: 'POST of 100 B, 16 pipelined',
    depth: 16,
    peers: ['gridnode', 'bare', 'node:http'],
  },
  {
    name: 'mixed',
    about: '9 GET to 1 POST of 100 B, over as many keys as entries',
    operations: { get: 9, set: 1 },
    keyCount: Number.POSITIVE_INFINITY,
    peers: STORES,
  },
  {
    name: 'pairs',
    about: 'alternating offer and poll of 100 B',
    operations: { offer: 1, poll: 1 },
    peers: GRIDS,
  },
  {
    name: 'unpinned-get',
    about: 'GET of 100 B, nothing pinned',
    ...get,
    peers: REST_PEERS,
    placement: 'all',
  },
  {
    name: 'unpinned-post',
    about: 'POST of 100 B, nothing pinned',
    ...set,
    peers: REST_PEERS,
    placement: 'all',
  },
  {
    name: 'unpinned-pipelined-32',
    about: 'GET of 100 B, 32 pipelined, nothing pinned',
    ...get,
    peers: GRIDS,
    placement: 'all',
    depth: 32,
  },
  {
    name: 'unpinned-pairs',
    about: 'alternating offer and poll, nothing pinned',
    operations: { offer: 1, poll: 1 },
    peers: REST_PEERS,
    placement: 'all',
  },
  // A member on Redis and its server are two processes, so they have all processors.
  {
    name: 'store-get',
    about: 'GET of 100 B, data on Redis',
    operations: { get: 1 },
    peers: ['gridnode', 'on-redis', 'webdis', 'redis'],
    placement: 'all',
  },
  {
    name: 'store-pipelined-32',
    about: 'GET of 100 B, 32 pipelined, data on Redis',
    operations: { get: 1 },
    depth: 32,
    peers: ['gridnode', 'on-redis'],
    oneByOne: 'on-redis',
    placement: 'all',
  },
  {
    name: 'store-post',
    about: 'POST of 100 B, data on Redis',
    operations: { set: 1 },
    peers: ['gridnode', ...COUNTS, 'webdis'],
    placement: 'all',
  },
  {
    name: 'store-pairs',
    about: 'alternating offer and poll, data on Redis',
    operations: { offer: 1, poll: 1 },
    peers: ['gridnode', ...COUNTS, 'webdis'],
    placement: 'all',
  },
  { ...three, name: 'three-get', about: 'GET of 100 B, three members', operations: { get: 1 } },
  { ...three, name: 'three-post', about: 'POST of 100 B, three members', operations: { set: 1 } },
  {
    ...three,
    name: 'three-pairs',
    about: 'alternating offer and poll, three members',
    operations: { offer: 1, poll: 1 },
  },
];

/** The works with a connection for each request. */
const connections: readonly LoadOptions[] = [
  ...[1, 64, 512].flatMap((count): LoadOptions[] => [
    {
      ...serverEnds,
      name: `connections-server-${count}`,
      about: `a connection for each GET, ended by the server, ${count} at a time`,
      connections: count,
    },
    {
      ...clientEnds,
      name: `connections-client-${count}`,
      about: `a connection for each GET, ended by the client, ${count} at a time`,
      connections: count,
    },
  ]),
  {
    ...clientEnds,
    name: 'connections-burst',
    about: 'bursts of 1,000 connections with a GET each',
    connections: 1000,
    bursts: 10,
  },
];

export const WORKS: readonly Work[] = [
  ...[...loads, ...connections].map(loadWork),
  // With twenty waiting polls, the original responds to no other request.
  blockedPollsWork('blocked-polls', 'up to 1,000 waiting polls woken', ['gridnode', 'redis']),
  latencyWork('latency', 'GET of 100 B at half of the peak rate', SERVERS),
  startWork('start', 'a fresh process', [...WITH_REDIS, 'webdis']),
  memoryWork('memory', 'memory of an entry beyond its 12 + 100 B', [...STORES, 'redis'], 1),
  memoryWork('memory-10', 'memory of an entry, with ten times as many', ['gridnode', 'redis'], 10),
  storedLatencyWork(
    'latency-10',
    'latency at the same rate with ten times the entries',
    'gridnode',
  ),
];
