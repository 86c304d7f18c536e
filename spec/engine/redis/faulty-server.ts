/** A server, real or fake, with faults that suites of the engine on servers inject. */
import type { ConnectionOptions } from '../../../src/engine/redis/redis-connection.ts';
import type { RedisEngine, RedisEngineOptions } from '../../../src/engine/redis/redis-engine.ts';

export interface FaultyServer {
  readonly port: number;
  /** The options of a connection on its network. */
  readonly network: Pick<ConnectionOptions, 'clock' | 'connectTcp'>;
  /** Bytes from a place at which replies are cut to the next one. */
  readonly cutStep: number;
  /** Opens an engine on the server, or on the port of a proxy. */
  open(options?: Partial<RedisEngineOptions> & { readonly port?: number }): Promise<RedisEngine>;
  /** Runs a test, while the time passes. */
  run(test: () => Promise<void>): Promise<void>;
  /** Sends a command; resolves with the text of the reply. */
  ask(...words: readonly string[]): Promise<string>;
  /** Lets it refuse all changes with the error, or accept them again. */
  refuse(error: 'NOREPLICAS' | 'MISCONF', isRefusing: boolean): Promise<void>;
  /** The names of all keys, a character per byte. */
  keys(): Promise<readonly string[]>;
  /** Stops the server, which keeps its connections, or lets it continue. */
  pause(isPaused: boolean): void;
  /** Stops its replica, or lets it continue. */
  pauseReplica(isPaused: boolean): void;
  newProxy(): Promise<CuttableProxy>;
  sleep(ms: number): Promise<unknown>;
  /** Resolves when no engine has an operation under way. */
  untilIdle(...engines: readonly RedisEngine[]): Promise<void>;
  end(): Promise<void>;
}

export interface CuttableProxy {
  readonly port: number;
  /** Number of connections that were cut. */
  readonly cutCount: number;
  /** Cuts the next connection that calls scripts once this many bytes of replies have passed. */
  cutAfter(byteCount: number): void;
  /** Drops all replies from now on, or lets them pass again. */
  silence(isSilent: boolean): void;
  stop(): void;
}

export type StartServer = (hasReplica: boolean) => Promise<FaultyServer>;

/** Resolves once the condition is met. */
export async function until(
  { sleep }: Pick<FaultyServer, 'sleep'>,
  isMet: () => boolean | Promise<boolean>,
): Promise<void> {
  while (!(await isMet())) await sleep(5);
}
