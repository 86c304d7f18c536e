/** A server, real or fake, with faults that suites of the engine on servers inject. */
import type { RedisEngine, RedisEngineOptions } from '../../../src/engine/redis/redis-engine.ts';

export interface FaultyServer {
  /** Bytes from a place at which replies are cut to the next one. */
  readonly cutStep: number;
  /** Opens an engine on the server, or on the port of a proxy. */
  open(options?: Partial<RedisEngineOptions> & { readonly port?: number }): Promise<RedisEngine>;
  /** Runs a test, while the time passes. */
  run(test: () => Promise<void>): Promise<void>;
  /** Sends a command; resolves with the text of the reply. */
  ask(...words: readonly string[]): Promise<string>;
  /** Stops the server, which keeps its connections, or lets it continue. */
  pause(isPaused: boolean): void;
  /** Stops its replica, or lets it continue. */
  pauseReplica(isPaused: boolean): void;
  newProxy(): Promise<CuttableProxy>;
  sleep(ms: number): Promise<unknown>;
  /** Resolves when the engine has no operation under way. */
  untilIdle(engine: RedisEngine): Promise<void>;
  end(): Promise<void>;
}

export interface CuttableProxy {
  readonly port: number;
  /** Number of connections that were cut. */
  readonly cutCount: number;
  /** Cuts the next connection that calls scripts once this many bytes of replies have passed. */
  cutAfter(byteCount: number): void;
  stop(): void;
}

export type StartServer = (hasReplica: boolean) => Promise<FaultyServer>;
