/** A member with persistence, on a disk that crashes, that publishes to another one. */
import type { Mutation } from '../../src/engine/mutation.ts';
import type { WanPublisherOptions } from '../../src/wan/wan-config.ts';
import { WanReplications } from '../../src/wan/wan-replications.ts';
import { DiskMember, type DiskMemberOptions } from '../world/disk-member.ts';
import { MEMBER_PARTS, type Network, RecordedLog } from './members.ts';

interface PersistentSourceParts
  extends Omit<DiskMemberOptions, 'clock' | 'onRecord' | 'onReleased' | 'sinksBefore'> {
  readonly network: Network;
  readonly publishers: readonly WanPublisherOptions[];
}

export class PersistentSource {
  readonly member: DiskMember;
  readonly isDown = false;
  readonly log = new RecordedLog();
  readonly replications: WanReplications;
  /** Changes recorded in this life, without those of its recovery. */
  readonly history: Mutation[] = [];
  #onProgress = (): void => {};

  constructor({ network, publishers, ...options }: PersistentSourceParts) {
    this.member = new DiskMember({
      clock: network.clock,
      keepsTombstones: true,
      onRecord: (mutation) => this.history.push(mutation),
      onReleased: () => this.replications?.release(),
      ...options,
    });
    const { engine, clock, persistence } = this.member;
    const transport = network.transportOf(this);
    this.replications = new WanReplications({
      ...MEMBER_PARTS,
      engine,
      clock,
      log: this.log,
      dataSetId: Buffer.alloc(16, 's'),
      delaysAll: () => persistence.log.delaysAll,
      transportOf: () => ({
        send: async (...message) => {
          if (this.member.hasEnded) return await new Promise(() => {});
          const answer = await transport.send(...message);
          return this.member.hasEnded ? await new Promise(() => {}) : answer;
        },
        close: () => {},
      }),
      refsTo: () => (map) =>
        map.toString().startsWith('own')
          ? undefined
          : { policy: 2, republishing: true, accepts: () => true },
      random: network.random,
      waitsForBegin: true,
      onProgress: () => this.#onProgress(),
    });
    this.replications.add('r', publishers);
  }

  get status() {
    return this.replications.publishers()[0]!;
  }

  get control() {
    return this.replications.publisherOf('r', 'p');
  }

  /** Returns false if the storage has crashed meanwhile. */
  async open(): Promise<boolean> {
    const isOpen = await this.member.open({
      queues: () => this.replications.persistentQueues(),
      watch: (onProgress) => {
        this.#onProgress = onProgress;
      },
      onMarksLost: () => this.log.lines.push('marks lost'),
      onMarksFailed: (error) => {
        this.member.tolerate(error);
        this.log.lines.push('marks failed');
      },
    });
    if (isOpen) this.replications.begin();
    return isOpen;
  }

  /**
   * Sends everything possible, then stops the member. Returns false if the storage has crashed
   * meanwhile.
   */
  async stop(): Promise<boolean> {
    const { replications, member } = this;
    const closing = replications.close(0).then(() => member.persistence.close());
    const hasStopped = await member.drive(closing);
    member.end();
    return hasStopped;
  }

  receive(): Promise<never> {
    throw new Error('the source received a message');
  }
}
