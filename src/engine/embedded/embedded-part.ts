/** The embedded engine as a part of a member, with its settings. */
import type { Clock } from '../../base/clock.ts';
import type { Figures } from '../../base/figures.ts';
import type { Part } from '../../base/part.ts';
import type { DataConfig } from '../../data/data-settings.ts';
import type { SurfaceConfig } from '../../surface/surface-settings.ts';
import type { Log } from '../../telemetry/log.ts';
import type { WanConfig } from '../../wan/wan-config.ts';
import { TOMBSTONES_DROPPED, type WanSettings } from '../../wan/wan-settings.ts';
import type { EngineConfig } from '../engine-settings.ts';
import type { MutationSink } from '../mutation-sink.ts';
import { queueCapacity } from '../queue-capacity.ts';
import type { MergeOptions } from '../stored-engine.ts';
import { EmbeddedEngine, STOCK_BYTES } from './embedded-engine.ts';
import { EmbeddedMetrics } from './embedded-metrics.ts';

/** The settings of the part, and those of others that it names. */
type Config = EngineConfig &
  DataConfig &
  WanSettings &
  Pick<WanConfig, 'wanReplications' | 'mapWan'> &
  Pick<SurfaceConfig, 'metricsNamesMax' | 'endpointGroups'>;

export class EmbeddedPart implements Part<Config> {
  readonly engine: EmbeddedEngine;
  #capacityOf: (queue: Buffer) => number;
  readonly #metrics: EmbeddedMetrics;
  /** Whether the data is recovered. */
  #isOpen = false;
  #usesWan: boolean;

  constructor(
    config: Config,
    clock: Clock,
    log: Log,
    sinks: readonly MutationSink[],
    merging: MergeOptions,
  ) {
    this.#capacityOf = queueCapacity(config.queueMaxSizes);
    this.engine = new EmbeddedEngine({
      ...merging,
      sinks,
      partitionCount: config.partitionCount,
      clock,
      queueCapacity: (queue) => this.#capacityOf(queue),
      memoryBytesMax: config.maxMemory,
      stockBytes: STOCK_BYTES,
      tombstoneRetentionMs: config.wanTombstoneRetentionSeconds * 1000,
      tombstonesMax: config.wanTombstonesMax,
      onTombstonesDropped: (droppedCount) => log.warn({ droppedCount }, TOMBSTONES_DROPPED),
    });
    this.#metrics = new EmbeddedMetrics(this.engine, config.metricsNamesMax);
    this.#usesWan = usesWan(config);
  }

  async change(config: Config): Promise<() => void> {
    return () => {
      this.#capacityOf = queueCapacity(config.queueMaxSizes);
      this.#usesWan = usesWan(config);
    };
  }

  async enter(): Promise<void> {
    await this.engine.open();
    this.#isOpen = true;
  }

  /**
   * While the data is recovered, the counts are not those of a data set, so only the memory is
   * reported. A closed engine has no data.
   */
  figures(to: Figures): void {
    if (!this.engine.isReachable) return;
    this.#metrics.reportMemory(to);
    if (!this.#isOpen) return;
    this.#metrics.reportData(to);
    if (this.#usesWan || this.engine.tombstones.count > 0) this.#metrics.reportTombstones(to);
  }

  async close(): Promise<void> {
    await this.engine.close();
  }
}

/** Whether removals may leave tombstones: maps are replicated, or changes may be received. */
function usesWan({ wanReplications, mapWan, endpointGroups }: Config): boolean {
  return wanReplications.size > 0 || mapWan.size > 0 || endpointGroups.get('WAN') === true;
}
