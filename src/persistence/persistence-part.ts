/**
 * Persistence as a part of a member: opens the storage within its time limits, delays responses
 * until they may be sent, stores the values of the cluster, and provides the administration of the
 * stored data.
 */

import type { Clock, Timer } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
import type { Figures } from '../base/figures.ts';
import { type MachineMemory, machineMemory } from '../base/machine-memory.ts';
import type { Part } from '../base/part.ts';
import type { SettledState } from '../cluster/cluster.ts';
import type { MemberStore, StoredMember } from '../cluster/cluster-part.ts';
import type { SharedValues } from '../cluster/shared-record.ts';
import { pathOf } from '../config/setting.ts';
import type { DurableQueue, DurableQueues, QueueStore } from '../engine/durable-queues.ts';
import type { EngineConfig } from '../engine/engine-settings.ts';
import type { StoredEngine } from '../engine/stored-engine.ts';
import type { ResponseDelay, ResponseSender } from '../http/response-delay.ts';
import type { PersistenceStatus } from '../monitoring/status-report.ts';
import type { SurfaceConfig } from '../surface/surface-settings.ts';
import type { Log } from '../telemetry/log.ts';
import { Backups } from './backups.ts';
import { DamagedData } from './damage.ts';
import { directoryFault } from './directory-fault.ts';
import { FileStorage } from './file-storage.ts';
import type { BackupMade, Maintenance } from './maintenance.ts';
import type { MemberValues } from './member-file.ts';
import { Persistence } from './persistence.ts';
import { PersistenceEvents } from './persistence-events.ts';
import { reportPersistence } from './persistence-metrics.ts';
import { PERSISTENCE_SETTINGS, type PersistenceConfig } from './persistence-settings.ts';
import { type Start, StartAfterDamage } from './start-after-damage.ts';
import type { Storage } from './storage.ts';
import type { WriteAheadLog } from './write-ahead-log.ts';

/** Share of the memory that recovery reads into, limited to two segments of 32 MiB. */
const RECOVERY_SHARE = 1 / 16;
const RECOVERY_BYTES_MAX = 67_108_864;

/** The settings of the part, and those of others that it names. */
type Config = PersistenceConfig &
  Pick<EngineConfig, 'partitionCount'> &
  Pick<SurfaceConfig, 'restEnabled' | 'endpointGroups'>;

export class PersistencePart
  implements Part<Config>, ResponseDelay, Maintenance, MemberStore, QueueStore
{
  /** The engine's sink. */
  readonly sink: WriteAheadLog;
  readonly #config: Config;
  readonly #clock: Clock;
  readonly #persistence: Persistence;
  readonly #backups: Backups;
  readonly #start: StartAfterDamage;
  /** The remedies for damaged data, as the end of a message. */
  readonly #repairCalls: string;
  /** Whether an operator can request a forced start through REST. */
  readonly #isRepairable: boolean;
  readonly #log: Log;
  readonly #events: PersistenceEvents;
  /** The destinations of the recovery; undefined until `attach`. */
  #target:
    | { readonly engine: StoredEngine; readonly queues: DurableQueues | undefined }
    | undefined;
  /** Undefined until the recovery. */
  #engine: StoredEngine | undefined;
  #isRecovered = false;
  /** Values of this member that are stored once the data is recovered. */
  #unsaved: MemberValues | undefined;
  /** Whether a time limit was exceeded: the disk may hang. */
  #isLate = false;

  /** Throws GridError DATA_DIRECTORY_UNUSABLE. */
  constructor(
    config: Config,
    clock: Clock,
    log: Log,
    storage: Storage = openStorage(config.dataDirectory),
  ) {
    const { partitionCount, persistenceSync: sync, persistenceSyncIntervalMillis } = config;
    const syncIntervalMs = persistenceSyncIntervalMillis;
    this.#config = config;
    this.#clock = clock;
    this.#isRepairable = config.restEnabled && config.endpointGroups.get('PERSISTENCE') === true;
    this.#log = log;
    this.#events = new PersistenceEvents(log);
    this.#persistence = new Persistence(
      {
        storage,
        clock,
        partitionCount,
        sync,
        syncIntervalMs,
        keepsStaleData: !config.autoRemoveStaleData,
        readBytesMax: segmentBytesMax(machineMemory()),
      },
      this.#events,
    );
    this.#backups = new Backups(this.#persistence, config.backupDirectory, clock);
    const policy = config.recoveryPolicy;
    const allowed: readonly Start[] =
      policy === 'FULL_RECOVERY_ONLY' ? ['forceStart'] : ['forceStart', 'partialStart'];
    this.#repairCalls =
      `; the member stays in recovery until ${allowed.join(' or ')}; \`gridnode repair --data-dir ` +
      'DIR` reports the damage and saves the rest elsewhere';
    this.#start = new StartAfterDamage({
      storage,
      clock,
      partitionCount,
      policy,
      allowed,
      onFinding: (finding) => this.#events.onFinding(finding),
      onForced: (start, forced) => this.#events.onForced(start, forced),
    });
    this.sink = this.#persistence.log;
  }

  /** Whether acknowledged changes would survive a crash of this member. */
  get isSafe(): boolean {
    return !this.sink.refusesWrites && !this.sink.hasFailed;
  }

  /** The state as `v1/status` reports it; undefined until the data is recovered. */
  get status(): PersistenceStatus | undefined {
    if (!this.#isRecovered) return undefined;
    const { log, logBytes, snapshotMs } = this.#persistence;
    return {
      sync: this.#config.persistenceSync,
      logBytes,
      snapshotTime: snapshotMs ?? null,
      diskFull: log.isDiskFull,
      diskFailed: log.hasFailed,
    };
  }

  figures(to: Figures): void {
    if (this.#isRecovered) reportPersistence(to, this.#persistence, this.#backups);
  }

  get delaysAll(): boolean {
    return this.sink.delaysAll;
  }

  delays(partition: number, sequence: number): boolean {
    return this.#engine?.delays(partition, sequence) ?? false;
  }

  sequences(): Float64Array {
    return this.#engine?.sequences() ?? new Float64Array();
  }

  /** Locks the directory and reads the values stored in it. Rejects with GridError DATA_*. */
  async restore(): Promise<void> {
    await this.#attempt(() => this.#persistence.begin(), 'validationTimeoutSeconds');
  }

  restored({ uuid: ownUuid, values: own }: StoredMember): StoredMember {
    const { values: stored } = this.#persistence.member;
    const { uuid = ownUuid, clusterVersion = own.version } = stored;
    if (clusterVersion !== own.version) {
      const change = { from: clusterVersion, to: own.version };
      this.#log.info(change, "the cluster now has this member's version");
    }
    if (stored.uuid !== uuid || stored.clusterVersion !== own.version) {
      this.#unsaved = { uuid, clusterVersion: own.version };
    }
    const values = {
      state: (stored.clusterState as SettledState | undefined) ?? own.state,
      version: own.version,
      licenseKeyHash: stored.licenseKeyHash,
      addedConfigs: stored.addedConfigs ?? [],
    };
    return { uuid, values };
  }

  /** Registers a sender, which is notified when its delayed responses may be sent. */
  addSender(sender: ResponseSender): void {
    this.#events.addSender(sender);
  }

  /** Sets the engine and the queues that `recover` fills. */
  attach(engine: StoredEngine, queues?: DurableQueues): void {
    this.#target = { engine, queues };
  }

  /** Recovers the engine and the queues. Responses before that depend on no data: no delay. */
  async recover(): Promise<void> {
    if (this.#target === undefined) throw new Error('an engine must be attached first');
    const { engine, queues } = this.#target;
    this.#engine = engine;
    const recovered = await this.#attempt(() => {
      engine.reset();
      return this.#persistence.open(engine, queues);
    }, 'dataLoadTimeoutSeconds');
    if (this.#unsaved !== undefined) await this.#saveOwn(this.#unsaved);
    this.#isRecovered = true;
    this.#events.onRecovered(recovered);
    this.#start.end();
  }

  async keepQueues(): Promise<void> {
    await this.#persistence.storeMarks();
  }

  async clearQueue(queue: DurableQueue): Promise<void> {
    await this.#persistence.clearQueue(queue);
  }

  async backUp(): Promise<BackupMade> {
    this.#log.info('backing up');
    const beginMs = performance.now();
    const report = await this.#backups.start().catch((error: unknown) => {
      this.#log.warn({ err: error }, 'backup failed');
      throw error;
    });
    this.#log.info(report, 'backed up');
    const seconds = Math.round(performance.now() - beginMs) / 1000;
    return { path: report.directory, bytes: report.bytes, seconds };
  }

  async interruptBackup(): Promise<void> {
    await this.#backups.interrupt();
  }

  async forceStart(): Promise<void> {
    await this.#start.ask('forceStart');
  }

  async partialStart(): Promise<void> {
    await this.#start.ask('partialStart');
  }

  /** Interrupts a backup. */
  async drain(): Promise<void> {
    await this.#backups.interrupt().catch(() => {});
  }

  /** Resolves once the values would survive a crash. */
  async save({ state, version, licenseKeyHash, addedConfigs }: SharedValues): Promise<void> {
    await this.#persistence.member.save({
      clusterState: state,
      clusterVersion: version,
      addedConfigs,
      ...(licenseKeyHash === undefined ? {} : { licenseKeyHash }),
    });
  }

  /** Runs the work. If the data is damaged, runs it again after each forced start. */
  async #attempt<Result>(work: () => Promise<Result>, limit: Limit): Promise<Result> {
    for (;;) {
      try {
        return await this.#within(limit, work());
      } catch (error) {
        if (!(error instanceof DamagedData && this.#isRepairable)) throw this.#startError(error);
        const { code, message, file, offset } = error;
        this.#log.fatal({ code, file, offset }, message + this.#repairCalls);
        await this.#start.wait(error);
      }
    }
  }

  /** Rejects with GridError DATA_TIMEOUT at the time limit, as a disk may hang. */
  async #within<Result>(key: Limit, work: Promise<Result>): Promise<Result> {
    const seconds = this.#config[key];
    let timer: Timer | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = this.#clock.after(seconds * 1000, () => {
        const directory = this.#persistence.storage.path;
        this.#isLate = true;
        reject(
          new GridError('DATA_TIMEOUT', {
            directory,
            seconds,
            setting: pathOf(PERSISTENCE_SETTINGS[key]),
          }),
        );
      });
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      timer?.cancel();
    }
  }

  #startError(error: unknown): unknown {
    this.#start.end(error as Error);
    if (error instanceof GridError || !(error instanceof Error && 'syscall' in error)) return error;
    const directory = this.#persistence.storage.path;
    const reason = error.message;
    return new GridError('DATA_DIRECTORY_UNUSABLE', { directory, reason }, { cause: error });
  }

  /** Stores the values. A failure is only logged, as a member also starts on a full disk. */
  async #saveOwn(change: MemberValues): Promise<void> {
    await this.#persistence.member.save(change).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'cannot store the values of the member');
    });
  }

  /**
   * Makes everything durable and releases the directory. After a failed start, a failure is only
   * logged; if the disk may hang, the directory is released once it responds: this is not awaited.
   */
  async close(): Promise<void> {
    const closing = this.#persistence.close();
    if (this.#isRecovered) return await closing;
    const released = closing.catch((error: unknown) => {
      this.#log.warn({ err: error }, 'cannot release the data directory');
    });
    if (!this.#isLate) await released;
  }
}

function openStorage(directory: string): FileStorage {
  try {
    return new FileStorage(directory);
  } catch (error) {
    const reason = directoryFault(error);
    throw new GridError('DATA_DIRECTORY_UNUSABLE', { directory, reason }, { cause: error });
  }
}

/** The key of the setting that limits a part of the recovery. */
type Limit = 'validationTimeoutSeconds' | 'dataLoadTimeoutSeconds';

/** Returns the bytes that recovery may read at a time; two such pieces are in memory. */
function segmentBytesMax(memory: MachineMemory): number {
  return Math.floor(recoveryBytes(memory) / 2);
}

/** Returns the bytes that recovery may use in addition to the data. */
function recoveryBytes({ bytes }: MachineMemory): number {
  return Math.min(Math.floor(bytes * RECOVERY_SHARE), RECOVERY_BYTES_MAX);
}
