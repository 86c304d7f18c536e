/**
 * The engine of a member that shares its data with other members, as its part: on servers of Redis
 * or Valkey, as configured. This file is only loaded if the configuration names such servers.
 */
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Clock } from '../../base/clock.ts';
import { type EngineUrl, parseEngineUrl } from '../../base/engine-url.ts';
import type { Part } from '../../base/part.ts';
import { addressText, type ServerAddress } from '../../base/server-address.ts';
import type { ClusterConfig } from '../../cluster/cluster-settings.ts';
import type { DataConfig } from '../../data/data-settings.ts';
import { readTargetTls } from '../../http/tls-files.ts';
import type { Log } from '../../telemetry/log.ts';
import { TOMBSTONES_DROPPED, type WanSettings } from '../../wan/wan-settings.ts';
import type { EngineConfig } from '../engine-settings.ts';
import { queueCapacity } from '../queue-capacity.ts';
import { firstWord } from './error-reply.ts';
import { isRightsError } from './primary.ts';
import { OutOfStep } from './redis-connection.ts';
import { RedisEngine } from './redis-engine.ts';
import { clusterReplicaCount, ReplicaCounts } from './replicas.ts';
import { reportSharedEngine } from './shared-engine-metrics.ts';
import { StoreServers } from './store-servers.ts';

/** Interval between two log lines about one server, in ms. */
const SERVER_LOG_INTERVAL_MS = 10_000;
/** Interval between two log lines about one kind of unexpected error, in ms. */
const FAULT_LOG_INTERVAL_MS = 60_000;
/** Interval between two log lines about tombstones that were dropped early, in ms. */
const TOMBSTONES_LOG_INTERVAL_MS = 60_000;
/** Number of leading characters of an error that identify its kind. */
const FAULT_KIND_LENGTH = 48;

/** The settings of the part, and those of others that it names. */
type Config = EngineConfig & DataConfig & WanSettings & Pick<ClusterConfig, 'clusterName'>;

interface SharedEnginePart extends Part<Config> {
  readonly engine: RedisEngine;
}

/** Creates the engine. Rejects with GridError TLS_FILE_UNUSABLE. */
export async function makeSharedEngine(
  config: Config,
  url: string,
  clock: Clock,
  log: Log,
): Promise<SharedEnginePart> {
  const servers = parseEngineUrl(url);
  const secureContext = await secureContextOf(config, servers);
  const lost = lostServers(clock, log);
  let capacityOf = queueCapacity(config.queueMaxSizes);
  const replicas = new ReplicaCounts(config);
  const isDroppingDue = dueEvents(clock, TOMBSTONES_LOG_INTERVAL_MS);
  const engine = new RedisEngine({
    clock,
    tombstoneRetentionMs: config.wanTombstoneRetentionSeconds * 1000,
    tombstonesMax: config.wanTombstonesMax,
    onTombstonesDropped: (droppedCount) => {
      if (isDroppingDue('dropped')) log.warn({ droppedCount }, TOMBSTONES_DROPPED);
    },
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
    queueCapacity: (queue) => capacityOf(queue),
    onLost: lost,
    onRefused: refusals(clock, log),
    onFault: faults(clock, log),
    onWarning: (text) => log.warn(text),
  });
  return {
    engine,
    change: async (changed) => () => {
      capacityOf = queueCapacity(changed.queueMaxSizes);
      replicas.replace(changed);
    },
    enter: () => engine.open(),
    figures: (to) => reportSharedEngine(to, engine),
    close: () => engine.close(),
  };
}

/** Returns undefined if the servers are used without TLS. */
async function secureContextOf(
  { engineTlsCa, engineTlsCertificate, engineTlsKey }: Config,
  { isTls }: EngineUrl,
): Promise<SecureContext | undefined> {
  if (!isTls) return undefined;
  const files = { authorities: engineTlsCa, certificate: engineTlsCertificate, key: engineTlsKey };
  return createSecureContext(await readTargetTls(files));
}

/** Returns a function that logs lost servers, each at most once every SERVER_LOG_INTERVAL_MS. */
function lostServers(clock: Clock, log: Log): (address: ServerAddress, reason: Error) => void {
  const isDue = dueEvents(clock);
  return (address, reason) => {
    const server = addressText(address);
    if (!isDue(server)) return;
    log.warn({ server }, `${lossText(server, reason)}: ${reason.message}`);
  };
}

function lossText(server: string, reason: Error): string {
  if (reason instanceof OutOfStep)
    return `the connection to the server ${server} is re-established`;
  return isRightsError(reason)
    ? `the server ${server} refuses this member's user`
    : `the server ${server} does not answer`;
}

/** Returns a function that logs refusals by servers, every SERVER_LOG_INTERVAL_MS per first word. */
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

/**
 * Returns a function that logs unexpected errors, each kind at most once every
 * FAULT_LOG_INTERVAL_MS.
 */
function faults(clock: Clock, log: Log): (text: string) => void {
  const isDue = dueEvents(clock, FAULT_LOG_INTERVAL_MS);
  return (text) => {
    if (!isDue(text.slice(0, FAULT_KIND_LENGTH))) return;
    log.error({ reply: text }, `a server has refused a command: ${text}`);
  };
}

/** Returns a function that reports whether an event is to be logged: once per interval. */
function dueEvents(clock: Clock, intervalMs = SERVER_LOG_INTERVAL_MS): (event: string) => boolean {
  const loggedAt = new Map<string, number>();
  return (event) => {
    const now = clock.now();
    for (const [each, at] of loggedAt) if (now - at >= intervalMs) loggedAt.delete(each);
    if (loggedAt.has(event)) return false;
    loggedAt.set(event, now);
    return true;
  };
}
