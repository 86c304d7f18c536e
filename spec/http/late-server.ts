/** Test servers with an engine that returns results in later turns, and ways to wait for its end. */
import { Random } from '../../bench/harness.ts';
import type { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import type { HttpLimits } from '../../src/http/limits.ts';
import { LateEngine } from '../engine/late-engine.ts';
import type { Turns } from '../engine/late-lanes.ts';
import type { FakeClock } from '../fake-clock.ts';
import { createTestServer, type TestServer, type TestServerParts } from './test-server.ts';

export interface LateServer extends TestServer {
  readonly late: LateEngine;
}

export interface LateOptions {
  readonly isOrdered: boolean;
  readonly turns?: Turns;
  readonly seed?: number;
}

/** Returns a function that wraps an engine of a test server in an opened late engine. */
export function lateEngineOf({ isOrdered, turns = 'random', seed = 1 }: LateOptions) {
  return (inside: EmbeddedEngine, clock: FakeClock): LateEngine => {
    const random = new Random(seed);
    const { partitionCount } = inside;
    const late = new LateEngine(inside, { clock, random, isOrdered, turns, partitionCount });
    void late.open();
    return late;
  };
}

export function lateServer(
  options: LateOptions,
  limits: Partial<HttpLimits> = {},
  parts: TestServerParts = {},
): LateServer {
  const server = createTestServer(limits, { ...parts, engineOn: lateEngineOf(options) });
  return { ...server, late: server.served as LateEngine };
}

/** Returns a late server whose turns end after each input, so that its responses seem immediate. */
export function settledServer(
  options: LateOptions,
  limits?: Partial<HttpLimits>,
  parts?: TestServerParts,
): LateServer {
  const server = lateServer(options, limits, parts);
  const { clock, connect } = server;
  return {
    ...server,
    connect(socket) {
      const connection = connect(socket);
      const { receive, receiveEnd } = socket;
      socket.receive = (bytes) => {
        receive.call(socket, bytes);
        clock.settle();
      };
      socket.receiveEnd = () => {
        receiveEnd.call(socket);
        clock.settle();
      };
      return connection;
    },
  };
}

/** The two modes of a late engine, with their names. */
export const MODES = [
  ['ordered', true],
  ['unordered', false],
] as const;
