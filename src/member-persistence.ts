/**
 * A member's persistence put together: where its files lie, what holds answers back until they may
 * leave, and what the log and the cluster hear of the disk.
 */
import type { Clock } from './base/clock.ts';
import { GridError } from './base/errors.ts';
import type { ClusterRecord, SettledState } from './cluster/cluster.ts';
import type { License } from './cluster/license.ts';
import type { StandaloneCluster } from './cluster/standalone.ts';
import type { Config } from './config/config.ts';
import { EVERY_PARTITION, NO_PARTITION } from './engine/engine.ts';
import type { StoredEngine } from './engine/stored-engine.ts';
import type { ResponseHold } from './http/application.ts';
import type { HttpServer } from './http/server.ts';
import { DamagedData } from './persistence/damage.ts';
import { FileStorage } from './persistence/file-storage.ts';
import type { AddedConfig, MemberRecord } from './persistence/member-file.ts';
import { Persistence } from './persistence/persistence.ts';
import type { RecoveryProgress } from './persistence/recovery.ts';
import type { Storage } from './persistence/storage.ts';
import type { WriteAheadLog } from './persistence/write-ahead-log.ts';
import type { Log } from './telemetry/log.ts';

export class MemberPersistence implements ResponseHold, ClusterRecord {
  /** The engine's sink. */
  readonly sink: WriteAheadLog;
  readonly #persistence: Persistence;
  /** Whether somebody can say through REST what is to become of damaged files. */
  readonly #isRepairable: boolean;
  readonly #cluster: StandaloneCluster;
  readonly #log: Log;
  #engine!: StoredEngine;
  #server!: HttpServer;

  /** Throws GridError DATA_DIRECTORY_UNUSABLE. */
  constructor(
    config: Config,
    clock: Clock,
    cluster: StandaloneCluster,
    log: Log,
    storage: Storage = openStorage(config.dataDirectory),
  ) {
    const { partitionCount, persistenceSync: sync, persistenceSyncIntervalMillis } = config;
    const syncIntervalMs = persistenceSyncIntervalMillis;
    this.#isRepairable = config.restEnabled && config.endpointGroups.get('PERSISTENCE') === true;
    this.#cluster = cluster;
    this.#log = log;
    this.#persistence = new Persistence(
      { storage, clock, partitionCount, sync, syncIntervalMs },
      this,
    );
    this.sink = this.#persistence.log;
  }

  get holdsAll(): boolean {
    return this.sink.holdsAll;
  }

  holds(partition: number, sequence: number): boolean {
    return this.#engine.holds(partition, sequence);
  }

  sequences(): Float64Array {
    return this.#engine.sequences();
  }

  /** Whether what was recorded up to there may be lost. */
  isDoubtful(partition: number, sequence: number): boolean {
    if (this.sink.failure === undefined) return false;
    if (partition === NO_PARTITION) return false;
    if (partition !== EVERY_PARTITION) return this.#engine.holds(partition, sequence);
    return this.#engine.sequences().some((last, each) => this.#engine.holds(each, last));
  }

  /** Takes the directory, and restores what belongs to the member. Rejects with GridError DATA_*. */
  async begin(license: License): Promise<void> {
    await this.#persistence.begin().catch((error: unknown) => this.#refuse(error));
    await this.#restoreMember(license);
  }

  /** Recovers the engine, then lets the server's answers depend on the disk. */
  async open(engine: StoredEngine, server: HttpServer): Promise<void> {
    this.#engine = engine;
    this.#server = server;
    const recovered = await this.#persistence
      .open(engine)
      .catch((error: unknown) => this.#refuse(error));
    const { records, bytes, tornBytes } = recovered;
    this.#log.info({ records, bytes }, 'recovered');
    if (tornBytes > 0) {
      this.#log.warn({ bytes: tornBytes, ...recovered.end }, 'cut off the torn end of the log');
    }
    server.hold = this;
  }

  /** What was added to the configuration, and is kept. */
  get addedConfigs(): readonly AddedConfig[] {
    return this.#persistence.member.record.addedConfigs ?? [];
  }

  async saveState(clusterState: SettledState): Promise<void> {
    await this.#persistence.member.save({ clusterState });
  }

  async saveLicense(licenseKeyHash: string): Promise<void> {
    await this.#persistence.member.save({ licenseKeyHash }).catch((cause: unknown) => {
      throw new GridError('LICENSE_NOT_KEPT', { reason: reasonOf(cause) }, { cause });
    });
  }

  async saveAddedConfigs(addedConfigs: readonly AddedConfig[]): Promise<void> {
    await this.#persistence.member.save({ addedConfigs }).catch((cause: unknown) => {
      throw new GridError('CONFIG_NOT_KEPT', { reason: reasonOf(cause) }, { cause });
    });
  }

  /** The data cannot be used as it is; where somebody can say what is to become of it, that is awaited. */
  #refuse(error: unknown): Promise<never> {
    if (error instanceof DamagedData && this.#isRepairable) return this.#awaitRepair(error);
    if (error instanceof GridError || !(error instanceof Error && 'syscall' in error)) throw error;
    const directory = this.#persistence.place;
    const reason = error.message;
    throw new GridError('DATA_DIRECTORY_UNUSABLE', { directory, reason }, { cause: error });
  }

  /** The member stays in recovery: it answers health, and that it recovers. */
  #awaitRepair({ code, message, file, offset }: DamagedData): Promise<never> {
    this.#log.fatal({ code, file, offset }, message + REPAIR_CALLS);
    return new Promise(() => {});
  }

  async #restoreMember(license: License): Promise<void> {
    const cluster = this.#cluster;
    const { record } = this.#persistence.member;
    const {
      uuid = cluster.uuid,
      clusterState = 'ACTIVE',
      clusterVersion = cluster.version,
    } = record;
    license.keyHash = record.licenseKeyHash;
    cluster.restore(uuid, clusterState as SettledState);
    if (clusterVersion !== cluster.version) {
      const change = { from: clusterVersion, to: cluster.version };
      this.#log.info(change, 'the cluster has the version of this member now');
    }
    if (record.uuid === uuid && record.clusterVersion === cluster.version) return;
    await this.#save({ uuid, clusterVersion: cluster.version });
  }

  /** Also a full disk is one to start on. */
  async #save(change: MemberRecord): Promise<void> {
    await this.#persistence.member.save(change).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'cannot keep what belongs to the member');
    });
  }

  /** Recovery has failed: another member may have the directory. */
  async abandon(): Promise<void> {
    await this.#persistence.close().catch((error: unknown) => {
      this.#log.warn({ err: error }, 'cannot let go of the data directory');
    });
  }

  /** Makes everything durable. */
  async close(): Promise<void> {
    await this.#persistence.close();
  }

  onReleased(): void {
    this.#server.release();
  }

  onRefusing(isRefusing: boolean): void {
    this.#cluster.isSafe = !this.sink.refusesWrites;
    if (isRefusing) this.#log.error('the disk is full: writes are refused, reads go on');
    else this.#log.info('the disk has space again: writes are taken');
  }

  onFailed(error: Error): void {
    this.#cluster.isSafe = false;
    this.#log.fatal({ err: error }, 'the disk has failed: this member must be restarted');
    this.#server.disownHeld();
  }

  onProgress(progress: RecoveryProgress): void {
    this.#log.info(progress, 'recovering');
  }

  onSnapshot(bytes: number): void {
    this.#log.debug({ bytes }, 'wrote a snapshot');
  }

  onCompacted(bytes: number): void {
    this.#log.info({ bytes }, 'won space back on the disk');
  }

  onSnapshotFailed(error: Error): void {
    this.#log.warn({ err: error }, 'cannot write a snapshot, will try again');
  }
}

function openStorage(directory: string): FileStorage {
  try {
    return new FileStorage(directory);
  } catch (error) {
    const reason = reasonOf(error);
    throw new GridError('DATA_DIRECTORY_UNUSABLE', { directory, reason }, { cause: error });
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const REPAIR_CALLS =
  '; the member stays in recovery until forceStart or partialStart; `gridnode repair --data-dir DIR`' +
  ' tells what is damaged and saves the rest elsewhere';
