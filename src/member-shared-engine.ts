/**
 * The engine of a member that shares its data with others: on servers of Redis or Valkey, as the
 * configuration says. It is loaded only where the configuration names such servers.
 */
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Clock } from './base/clock.ts';
import { type EngineUrl, parseEngineUrl } from './base/engine-url.ts';
import { GridError, reasonOf } from './base/errors.ts';
import { addressText, type ServerAddress } from './base/server-address.ts';
import type { Config } from './config/config.ts';
import { firstWord } from './engine/redis/error-reply.ts';
import { isOfRights } from './engine/redis/primary.ts';
import { OutOfStep } from './engine/redis/redis-connection.ts';
import { RedisEngine } from './engine/redis/redis-engine.ts';
import { StoreServers } from './engine/redis/store-servers.ts';
import { clusterReplicaCount, type ReplicaCounts } from './member-replicas.ts';
import type { Log } from './telemetry/log.ts';

/** Interval between two log lines about one server, in ms. */
const TOLD_AGAIN_MS = 10_000;
/** The same about one kind of error that no command should have, in ms. */
const FAULT_AGAIN_MS = 60_000;
/** Characters of an error that are its kind. */
const FAULT_KIND_LENGTH = 48;

/** Rejects with GridError TLS_FILE_UNUSABLE. */
export async function makeSharedEngine(
  config: Config,
  url: string,
  clock: Clock,
  log: Log,
  queueCapacity: (queue: Buffer) => number,
  replicas: ReplicaCounts,
): Promise<RedisEngine> {
  const servers = parseEngineUrl(url);
  const secureContext = await secureContextOf(config, servers);
  const lost = lostServers(clock, log);
  return new RedisEngine({
    clock,
    login: { user: config.engineUser, password: config.enginePassword },
    tls: secureContext && { secureContext },
    deadlineMs: config.engineDeadlineMillis,
    clusterName: config.clusterName,
    allowsEviction: config.engineAllowEviction,
    partitionCount: config.partitionCount,
    connect: (options, observer) => new StoreServers(servers, options, observer),
    mapReplicaCount: (map) => replicas.ofMap(map),
    queueReplicaCount: (queue) => replicas.ofQueue(queue),
    replicaCountMax: () => replicas.max,
    clusterReplicaCount: clusterReplicaCount(config),
    queueCapacity,
    onLost: lost,
    onRefused: refusals(clock, log),
    onFault: faults(clock, log),
    onWarning: (text) => log.warn(text),
  });
}

/** Undefined where the servers are spoken to without TLS. */
async function secureContextOf(
  { engineTlsCa, engineTlsCertificate, engineTlsKey }: Config,
  { isTls }: EngineUrl,
): Promise<SecureContext | undefined> {
  if (!isTls) return undefined;
  const [ca, cert, key] = await Promise.all(
    [engineTlsCa, engineTlsCertificate, engineTlsKey].map(pem),
  );
  // One by one, so that an error names its file.
  if (ca !== undefined) checked(engineTlsCa, () => createSecureContext({ ca }));
  if (cert !== undefined) checked(engineTlsCertificate, () => createSecureContext({ cert }));
  return checked(engineTlsKey, () =>
    createSecureContext({
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    }),
  );
}

async function pem(file: string | undefined): Promise<Buffer | undefined> {
  if (file === undefined) return undefined;
  try {
    return await readFile(file);
  } catch (error) {
    throw unusable(file, error);
  }
}

function checked<Value>(file: string | undefined, make: () => Value): Value {
  try {
    return make();
  } catch (error) {
    throw unusable(file ?? '', error);
  }
}

function unusable(file: string, cause: unknown): GridError {
  return new GridError('TLS_FILE_UNUSABLE', { file, reason: reasonOf(cause) }, { cause });
}

/** Logs each server that is lost, and one that stays away every TOLD_AGAIN_MS. */
function lostServers(clock: Clock, log: Log): (address: ServerAddress, reason: Error) => void {
  const isDue = dueEvents(clock);
  return (address, reason) => {
    const server = addressText(address);
    if (!isDue(server)) return;
    log.warn({ server }, `${lossText(server, reason)}: ${reason.message}`);
  };
}

function lossText(server: string, reason: Error): string {
  if (reason instanceof OutOfStep) return `the connection to the server ${server} is made anew`;
  return isOfRights(reason)
    ? `the server ${server} refuses this member's user`
    : `the server ${server} does not answer`;
}

/** Logs what a server refuses every TOLD_AGAIN_MS, with its first word as the kind. */
function refusals(
  clock: Clock,
  log: Log,
): (address: ServerAddress, command: () => string, text: string) => void {
  const isDue = dueEvents(clock);
  return (address, commandOf, text) => {
    const server = addressText(address);
    if (!isDue(`${server} ${firstWord(text)}`)) return;
    const command = commandOf();
    log.warn({ server, command, reply: text }, `the server ${server} refuses ${command}: ${text}`);
  };
}

/** Logs errors that no command should have, those of one kind every FAULT_AGAIN_MS. */
function faults(clock: Clock, log: Log): (text: string) => void {
  const isDue = dueEvents(clock, FAULT_AGAIN_MS);
  return (text) => {
    if (!isDue(text.slice(0, FAULT_KIND_LENGTH))) return;
    log.error({ reply: text }, `a server has refused a command: ${text}`);
  };
}

/** Returns whether an event is to be logged, which it is once in that time. */
function dueEvents(clock: Clock, againMs = TOLD_AGAIN_MS): (event: string) => boolean {
  const toldAt = new Map<string, number>();
  return (event) => {
    const now = clock.now();
    for (const [each, at] of toldAt) if (now - at >= againMs) toldAt.delete(each);
    if (toldAt.has(event)) return false;
    toldAt.set(event, now);
    return true;
  };
}
