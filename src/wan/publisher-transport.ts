/**
 * Assembles the WAN replications of a member over HTTP. This file is loaded with the first
 * publisher or the first message of another member (member-wan.ts).
 * Tested by integration/wan.spec.ts.
 */
import type { SecureContextOptions } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import type { Config } from '../config/config.ts';
import type { WanPublisher } from '../config/wan-config.ts';
import type { StoredEngine } from '../engine/stored-engine.ts';
import { MESSAGE_BYTES_FURTHER } from '../rest/replication-endpoints.ts';
import type { Log } from '../telemetry/log.ts';
import { BATCH_BYTES_MAX } from './batch-limits.ts';
import { HttpTransport } from './http-transport.ts';
import type { WanMaps } from './wan-maps.ts';
import { WanReplications } from './wan-replications.ts';
import type { TransportResponse, WanTransport } from './wan-transport.ts';

interface ReplicationParts {
  readonly config: Config;
  readonly engine: StoredEngine;
  readonly clock: Clock;
  readonly log: Log;
  readonly maps: WanMaps;
  /** First segment of the member's paths. */
  readonly segment: string;
  /** Returns whether the cluster's state permits changes. */
  readonly acceptsWrites: () => boolean;
  /** Whether no response may be sent before the next `release`. */
  readonly delaysAll: () => boolean;
  readonly dataSetId: Buffer;
  /** Whether nothing is sent before `begin`. */
  readonly waitsForBegin: boolean;
  /** Set if queues are persisted. */
  readonly onProgress?: () => void;
}

export interface Replications
  extends Pick<
    WanReplications,
    | 'publisherOf'
    | 'publishers'
    | 'synchronise'
    | 'check'
    | 'progressOf'
    | 'remove'
    | 'receive'
    | 'release'
    | 'review'
    | 'close'
    | 'begin'
    | 'persistentQueues'
  > {
  /** Adds those publishers that the replication does not have yet. */
  add(replication: string, publishers: readonly WanPublisher[]): void;
  /**
   * Reads the TLS files of all publishers again. Rejects with GridError TLS_FILE_UNUSABLE. Resolves
   * with a function that applies them to new connections and cannot fail.
   */
  readTlsAgain(): Promise<() => void>;
  /** Returns the number of connections to members of other clusters. */
  connectionCount(): number;
}

export function makeReplications(parts: ReplicationParts): Replications {
  const { config, engine, clock, log, maps, segment, acceptsWrites, delaysAll, dataSetId } = parts;
  const { waitsForBegin, onProgress } = parts;
  const transports = new Map<object, PublisherTransport>();
  const replications = new WanReplications({
    engine,
    clock,
    log,
    dataSetId,
    waitsForBegin,
    ...(onProgress === undefined ? {} : { onProgress }),
    clusterName: () => config.clusterName,
    acceptsWrites,
    delaysAll,
    queueBytesMax: config.wanQueueBytesMax,
    requestLimits: { ...config, segment },
    // Room for a batch, or for a single longer value.
    payloadBytesMax: Math.max(config.bodyBytesMax, BATCH_BYTES_MAX) + MESSAGE_BYTES_FURTHER,
    transportOf: (options) => {
      const transport = transports.get(options);
      if (transport === undefined) throw new Error('publishers are added with their transports');
      return transport;
    },
    refsTo: (replication) => maps.refsTo(replication),
    treeOf: (map) => maps.treeOf(map),
  });
  return {
    publisherOf: (replication, id) => replications.publisherOf(replication, id),
    publishers: () => replications.publishers(),
    remove(replication, id) {
      const { options } = replications.publisherOf(replication, id);
      replications.remove(replication, id);
      transports.delete(options);
    },
    synchronise: (...names) => replications.synchronise(...names),
    check: (...names) => replications.check(...names),
    progressOf: (uuid) => replications.progressOf(uuid),
    receive: (message) => replications.receive(message),
    release: () => replications.release(),
    review: () => replications.review(),
    close: (graceMs) => replications.close(graceMs),
    begin: () => replications.begin(),
    persistentQueues: () => replications.persistentQueues(),
    add(replication, publishers) {
      for (const each of publishers) {
        if (!transports.has(each)) transports.set(each, new PublisherTransport(each, segment));
      }
      replications.add(replication, publishers);
    },
    async readTlsAgain() {
      const renewals: (() => void)[] = [];
      for (const transport of transports.values()) renewals.push(await transport.readTlsAgain());
      return () => {
        for (const renew of renewals) renew();
      };
    },
    connectionCount: () => {
      let count = 0;
      for (const transport of transports.values()) count += transport.connectionCount;
      return count;
    },
  };
}

/** The transport of a publisher. The TLS files are read for the first message and at a reload. */
class PublisherTransport implements WanTransport {
  readonly #publisher: WanPublisher;
  readonly #segment: string;
  #http: HttpTransport | undefined;
  #making: Promise<HttpTransport> | undefined;
  #isClosed = false;

  constructor(publisher: WanPublisher, segment: string) {
    this.#publisher = publisher;
    this.#segment = segment;
  }

  get connectionCount(): number {
    return this.#http?.connectionCount ?? 0;
  }

  send(...message: Parameters<WanTransport['send']>): Promise<TransportResponse> {
    return this.#http?.send(...message) ?? this.#made().then((http) => http.send(...message));
  }

  close(): void {
    this.#isClosed = true;
    this.#http?.close();
  }

  async readTlsAgain(): Promise<() => void> {
    const tls = await this.#readTls();
    // A transport that is being created may have read the files before.
    return () => void this.#making?.then((http) => http.renewTls(tls)).catch(() => {});
  }

  #hasTls(): boolean {
    return this.#publisher.targetEndpoints.some((endpoint) => endpoint.tls);
  }

  #made(): Promise<HttpTransport> {
    this.#making ??= this.#make().catch((error: unknown) => {
      this.#making = undefined;
      throw error;
    });
    return this.#making;
  }

  async #make(): Promise<HttpTransport> {
    const { username, password } = this.#publisher;
    const tls = await this.#readTls();
    const connectTls = this.#hasTls() ? (await import('node:tls')).connect : undefined;
    const login = { username, password };
    const http = new HttpTransport({ segment: this.#segment, ...login, tls, connectTls });
    if (this.#isClosed) http.close();
    this.#http = http;
    return http;
  }

  async #readTls(): Promise<SecureContextOptions> {
    if (!this.#hasTls()) return {};
    return await (await import('../http/tls-files.ts')).readTargetTls(this.#publisher.tls);
  }
}
