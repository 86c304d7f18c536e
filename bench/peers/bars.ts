/**
 * Targets of gridnode: the ratio of its figure to a peer's, or its own figure if there is no peer.
 * They are printed with the measured figures and never asserted.
 */
import { ONE_BY_ONE } from './load-work.ts';
import type { FigureName } from './work.ts';

export interface Bar {
  readonly about: string;
  readonly work: string;
  readonly figure: FigureName;
  /** The side whose figure is judged; gridnode by default. */
  readonly of?: string;
  /** The side to compare with. */
  readonly against?: string;
  /** The figure of `against`; by default `figure`. */
  readonly againstFigure?: FigureName;
  readonly atLeast?: number;
  readonly atMost?: number;
}

const speed = { figure: 'perSecond' } as const;
const onRedis = { ...speed, of: 'on-redis' };
const original = { ...speed, against: 'original' };

export const BARS: readonly Bar[] = [
  { ...speed, about: 'GET 100 B', work: 'get-100', against: 'bare', atLeast: 0.92 },
  { ...speed, about: 'POST 100 B', work: 'post-100', against: 'bare', atLeast: 0.85 },
  { ...speed, about: 'GET 100 B', work: 'get-100', against: 'node:http', atLeast: 1.6 },
  { ...speed, about: 'GET 100 B', work: 'get-100', against: 'nginx', atLeast: 0.75 },
  { ...speed, about: 'GET, 512 connections', work: 'get-512', against: 'nginx', atLeast: 0.85 },
  {
    about: 'a connection for each GET, 64 at a time',
    work: 'connections-server-64',
    figure: 'cpuUs',
    against: 'node:http',
    atMost: 0.8,
  },
  { ...speed, about: 'GET 100 B, unpinned', work: 'unpinned-get', against: 'webdis', atLeast: 1.5 },
  {
    ...speed,
    about: 'offer and poll pairs, unpinned',
    work: 'unpinned-pairs',
    against: 'webdis',
    atLeast: 1.5,
  },
  { ...original, about: 'GET 100 B', work: 'get-100', atLeast: 2 },
  { ...original, about: 'GET 100 B, unpinned', work: 'unpinned-get', atLeast: 2 },
  { ...original, about: 'POST 100 B', work: 'post-100', atLeast: 1.75 },
  { ...original, about: 'POST 100 B, unpinned', work: 'unpinned-post', atLeast: 1.75 },
  { ...original, about: 'GET 100 B', work: 'get-100', figure: 'cpuUs', atMost: 0.37 },
  { ...original, about: 'GET, unpinned', work: 'unpinned-get', figure: 'cpuUs', atMost: 0.37 },
  { ...original, about: 'GET 100 B, 32 pipelined', work: 'pipelined-32', atLeast: 8 },
  {
    ...original,
    about: 'GET 100 B, 32 pipelined, unpinned',
    work: 'unpinned-pipelined-32',
    atLeast: 8,
  },
  {
    about: 'memory of an entry',
    work: 'memory',
    figure: 'bytesPerEntry',
    against: 'original',
    atMost: 0.35,
  },
  {
    about: 'memory of an entry',
    work: 'memory',
    figure: 'bytesPerEntry',
    against: 'redis',
    atMost: 0.8,
  },
  {
    about: 'memory of an entry, ten times the entries',
    work: 'memory-10',
    figure: 'bytesPerEntry',
    against: 'redis',
    atMost: 0.8,
  },
  { about: 'idle', work: 'start', figure: 'idleMib', against: 'original', atMost: 0.6 },
  { about: 'idle', work: 'start', figure: 'idleMib', atMost: 75 },
  {
    ...speed,
    about: 'GET 100 B, 64 pipelined',
    work: 'pipelined-64',
    against: 'redis',
    atLeast: 0.5,
  },
  {
    about: 'GET at half the peak beside ten times the entries',
    work: 'latency-10',
    figure: 'p999Us',
    against: 'few',
    atMost: 1.5,
  },
  { about: 'start', work: 'start', figure: 'startMs', atMost: 150 },
  { about: 'start', work: 'start', figure: 'startMs', against: 'original', atMost: 1 / 9 },
  { ...onRedis, about: 'GET 100 B, on Redis', work: 'store-get', against: 'redis', atLeast: 0.85 },
  { ...onRedis, about: 'GET 100 B, on Redis', work: 'store-get', against: 'webdis', atLeast: 1.5 },
  {
    about: 'GET 100 B, on Redis, only the member',
    work: 'store-get',
    of: 'on-redis',
    figure: 'ownCpuUs',
    against: 'gridnode',
    againstFigure: 'cpuUs',
    atMost: 1.2,
  },
  {
    ...onRedis,
    about: 'GET 100 B, 32 pipelined, on Redis',
    work: 'store-pipelined-32',
    against: 'gridnode',
    atLeast: 0.6,
  },
  {
    ...onRedis,
    about: 'GET 100 B, 32 pipelined, on Redis',
    work: 'store-pipelined-32',
    against: `on-redis${ONE_BY_ONE}`,
    atLeast: 5,
  },
  {
    ...speed,
    about: 'POST 100 B, on Redis, stored on a replica',
    work: 'store-post',
    of: 'on-redis-1',
    against: 'on-redis',
    atLeast: 0.75,
  },
  {
    ...speed,
    about: 'offer and poll pairs, on Redis, stored on a replica',
    work: 'store-pairs',
    of: 'on-redis-1',
    against: 'webdis',
    atLeast: 0.6,
  },
];
