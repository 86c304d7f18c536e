/**
 * The members of a cluster on fake servers, each with its own file: their membership, their reloader
 * and their part of WAN replication. Publishers send to nobody, so the marks remain.
 */
import assert from 'node:assert/strict';
import type { GridError } from '../../src/base/errors.ts';
import { SET } from '../../src/engine/mutation.ts';
import type { SectionMerger } from '../../src/engine/section-merger.ts';
import type { Config } from '../../src/member/config.ts';
import { loadConfig } from '../../src/member/load.ts';
import { Reloader } from '../../src/member/reloader.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { SharedWan } from '../../src/wan/shared-wan.ts';
import { sharedWanConfig } from '../../src/wan/shared-wan-config.ts';
import { ClusterWorld, type TestMember } from '../cluster/cluster-world.ts';
import { type FakeMarks, FakeServers } from './fake-marks.ts';
import { RecordedLog } from './members.ts';

/** A publisher `p` of `r` that marks changes and sends nothing. */
export const PUBLISHER = 'target-endpoints: "127.0.0.1:1", initial-publisher-state: PAUSED';
/** Files in which maps with these names refer to `r`. */
export const fileOf = (maps: string, publisher = PUBLISHER): string =>
  `  wan-replication: {r: {batch-publisher: {p: {${publisher}}}}}\n` +
  (maps === '' ? '' : `  map: {"${maps}": {wan-replication-ref: {r: }}}\n`);
/** A call that adds the publisher `q` of `r`. */
export const CALL = {
  name: 'r',
  batchPublishers: [
    { clusterName: 'q', targetEndpoints: '127.0.0.1:1', initialPublisherState: 'PAUSED' },
  ],
};

export class SharedWorld extends ClusterWorld {
  readonly servers = new FakeServers(this.time, 13);

  /** Starts a member with the content of a file. Resolves once it serves. */
  async serve(text: string, address?: string): Promise<SharedMember> {
    const member = await this.join(text, address);
    await this.during(member.joined);
    return member;
  }

  /** Returns a member that is joining. */
  async join(text: string, address?: string): Promise<SharedMember> {
    const file = { text: `grid:\n  engine: {url: "redis://a"}\n${text}` };
    const { config } = await loadConfig({ file, environment: {}, flags: [] });
    const common = sharedWanConfig(config);
    const node = this.add({ common, ...(address === undefined ? {} : { address }) });
    return new SharedMember(node, this.servers.member(node.clock), config);
  }

  /** Lets time pass until the promise is settled. */
  async during<Value>(promise: Promise<Value>): Promise<Value> {
    let isOver = false;
    const ended = promise.finally(() => {
      isOver = true;
    });
    ended.catch(() => {});
    for (let passed = 0; !isOver; passed += 10) {
      assert.ok(passed < 120_000, 'it does not end');
      await this.pass(10);
    }
    return await ended;
  }
}

export class SharedMember {
  readonly log = new RecordedLog();
  readonly wan: SharedWan;
  readonly engine: FakeMarks;
  readonly node: TestMember;
  /** Resolves once the member serves. */
  readonly joined: Promise<void>;
  readonly reloader: Reloader;
  /** The error of the next changes of the configuration, and a promise that they wait for. */
  fault: GridError | undefined;
  blocked: Promise<void> = Promise.resolve();

  constructor(node: TestMember, engine: FakeMarks, config: Config) {
    this.node = node;
    this.engine = engine;
    const { cluster, clock } = node;
    const versions = { observe: () => {}, now: () => {} };
    this.wan = new SharedWan({
      config,
      clock,
      log: this.log,
      engine: Object.assign(engine, versions as unknown as SectionMerger),
      changedPartitions: engine,
      cluster,
      record: cluster.record,
      segment: 'grid',
      addToConfig: (text) => this.reloader.addWan(text),
      removeFromConfig: (...names) => this.reloader.removeWan(...names),
    });
    this.reloader = new Reloader(config, {
      record: cluster.record,
      log: this.log as unknown as Log,
      load: () => assert.fail(),
      hashPassword: () => assert.fail(),
      readText: loadConfig,
      change: async (changed, rereads) => {
        await this.blocked;
        if (this.fault !== undefined) throw this.fault;
        return await this.wan.change(changed, rereads);
      },
      dropRemoved: () => this.wan.dropRemoved(),
    });
    node.prepare = () => this.reloader.restore(cluster.members.length === 1);
    this.joined = this.#start();
  }

  async #start(): Promise<void> {
    await this.wan.restore();
    await this.node.start();
    await this.wan.enter();
  }

  async end(): Promise<void> {
    await this.wan.close();
    await this.node.cluster.leave();
  }

  /** Publishers with their states and the number of keys that wait, as this member reports them. */
  get publishers(): string[] {
    return (this.wan.running?.publishers() ?? []).map(
      ({ wanReplicationName, wanPublisherId, state, queueSize }) =>
        `${wanReplicationName} ${wanPublisherId} ${state} ${queueSize}`,
    );
  }

  /** Changes a key of each partition, or as many as `count`, through this member. */
  change(map: string, count = 100): void {
    for (let key = 0; key < count; key++) this.engine.change(SET, map, `key ${key}`, 'v');
  }
}
