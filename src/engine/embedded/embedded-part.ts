/**
 * The embedded engine as a part of a member, with its settings.
 * Tested by integration/maintenance.spec.ts.
 */
import type { Clock } from '../../base/clock.ts';
import type { Part } from '../../base/part.ts';
import { pathOf } from '../../config/setting.ts';
import type { DataConfig } from '../../data/data-settings.ts';
import type { Log } from '../../telemetry/log.ts';
import { WAN_SETTINGS, type WanSettings } from '../../wan/wan-settings.ts';
import type { EngineConfig } from '../engine-settings.ts';
import type { MutationSink } from '../mutation-sink.ts';
import { queueCapacity } from '../queue-capacity.ts';
import type { MergeOptions } from '../stored-engine.ts';
import { EmbeddedEngine, STOCK_BYTES } from './embedded-engine.ts';

const TOMBSTONES_DROPPED =
  `tombstones were dropped early, as ${pathOf(WAN_SETTINGS.wanTombstonesMax)} was reached: an older change ` +
  'from another cluster may restore a removed entry';

/** The settings of the part, and those of others that it names. */
type Config = EngineConfig & DataConfig & WanSettings;

export class EmbeddedPart implements Part<Config> {
  readonly engine: EmbeddedEngine;
  #capacityOf: (queue: Buffer) => number;

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
  }

  async change(config: Config): Promise<() => void> {
    return () => {
      this.#capacityOf = queueCapacity(config.queueMaxSizes);
    };
  }

  async enter(): Promise<void> {
    await this.engine.open();
  }

  async close(): Promise<void> {
    await this.engine.close();
  }
}
