/**
 * WAN replication of a member whose data is on servers: it receives the messages of other clusters, and
 * has no publishers. The replication code is loaded when the first message arrives. The id of
 * the data set is the cluster's: the first member that needs it stores a new one in the shared record.
 * Tested by server-sections.spec.ts.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { GridError, reasonOf } from '../base/errors.ts';
import { SharedSlices } from '../base/slices.ts';
import type { ClusterConfig } from '../cluster/cluster-settings.ts';
import type { SharedRecord } from '../cluster/shared-record.ts';
import type { SectionMerger } from '../engine/section-merger.ts';
import { BATCH_BYTES_MAX } from './batch-limits.ts';
import type { RequestLimits } from './received-batch.ts';
import type { WanMessages } from './wan-actions.ts';
import type { WanLog } from './wan-engine.ts';
import type { WanReceiver } from './wan-receiver.ts';
import { MESSAGE_BYTES_FURTHER } from './wan-routes.ts';
import { WAN_SETTINGS } from './wan-settings.ts';
import type { ReceiveResult } from './wan-status.ts';

/** Maximum length of a content type that servers store, in bytes. */
const CONTENT_TYPE_BYTES_MAX = 65_535;

/** The settings that it uses. */
type Config = Omit<RequestLimits, 'segment'> & Pick<ClusterConfig, 'clusterName'>;

interface SharedWanOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: WanLog;
  readonly engine: SectionMerger;
  readonly record: SharedRecord;
  /** First segment of the member's paths. */
  readonly segment: string;
  /** Returns whether the cluster's state permits changes. */
  readonly acceptsWrites: () => boolean;
}

export class SharedWan implements WanMessages {
  readonly #options: SharedWanOptions;
  #receiver: WanReceiver | undefined;
  /** Id of the data set of `#receiver`. */
  #dataSet = '';

  constructor(options: SharedWanOptions) {
    this.#options = options;
  }

  /** Resolves with the response; never rejects. The message's bytes are read until then. */
  async receive(message: Buffer): Promise<ReceiveResult> {
    try {
      const receiver = await this.#ready();
      return await receiver.receive(message);
    } catch (error) {
      if (error instanceof GridError) return { error };
      throw error;
    }
  }

  /** Resolves with a receiver of the cluster's data set, which is a new one if the record was lost. */
  async #ready(): Promise<WanReceiver> {
    const dataSet = await this.#dataSetId();
    if (this.#receiver !== undefined && this.#dataSet === dataSet) return this.#receiver;
    const [{ WanReceiver }, { ServerSections }] = await Promise.all([
      import('./wan-receiver.ts'),
      import('./server-sections.ts'),
    ]);
    // Another message may have been faster.
    if (this.#receiver !== undefined && this.#dataSet === dataSet) return this.#receiver;
    const { config, segment, ...options } = this.#options;
    const dataSetId = Buffer.from(dataSet.replaceAll('-', ''), 'hex');
    const slices = new SharedSlices();
    this.#dataSet = dataSet;
    this.#receiver = new WanReceiver({
      ...options,
      sections: new ServerSections({ ...options, dataSetId }, slices),
      trees: undefined,
      dataSetId,
      slices,
      clusterName: () => config.clusterName,
      queueBytesMax: WAN_SETTINGS.wanQueueBytesMax.fallback,
      requestLimits: {
        ...config,
        segment,
        headerBytesMax: Math.min(config.headerBytesMax, CONTENT_TYPE_BYTES_MAX),
      },
      // Room for a batch, or for a single longer value.
      payloadBytesMax: Math.max(config.bodyBytesMax, BATCH_BYTES_MAX) + MESSAGE_BYTES_FURTHER,
    });
    return this.#receiver;
  }

  async #dataSetId(): Promise<string> {
    const { record } = this.#options;
    for (;;) {
      const { dataSetId } = record.values;
      if (dataSetId !== undefined) return dataSetId;
      await record
        .compareAndSet(record.revision, { dataSetId: randomUUID() })
        .catch((cause: unknown) => {
          throw new GridError('WAN_DATA_SET_UNKNOWN', { reason: reasonOf(cause) }, { cause });
        });
    }
  }
}
