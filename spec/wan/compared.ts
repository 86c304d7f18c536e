/**
 * Members whose maps are compared: embedded engines with receivers, and invalid requests for their
 * trees.
 */

import assert from 'node:assert/strict';
import { textBytes } from '../../src/base/fields.ts';
import { SharedSlices } from '../../src/base/slices.ts';
import type { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import { APPLIED } from '../../src/engine/engine.ts';
import type { Mutation } from '../../src/engine/mutation.ts';
import { Version } from '../../src/engine/version.ts';
import { LeafOf } from '../../src/wan/entry-hash.ts';
import { HEAD_BYTES, sealPlain } from '../../src/wan/message-format.ts';
import { StoredSections } from '../../src/wan/stored-sections.ts';
import { treesOf } from '../../src/wan/tree-builder.ts';
import {
  type ComparisonParts,
  compareMap,
  type Differences,
} from '../../src/wan/tree-comparison.ts';
import { nodeOf, type TreeQuestion, treeRequest } from '../../src/wan/tree-messages.ts';
import { TreeResponder } from '../../src/wan/tree-responder.ts';
import type { MapTree } from '../../src/wan/wan-maps.ts';
import { WanReceiver } from '../../src/wan/wan-receiver.ts';
import type { TransportResponse } from '../../src/wan/wan-transport.ts';
import type { AtOnce } from '../engine/embedded/at-once.ts';
import { engineOf } from '../engine/embedded/components-of.ts';
import { contentOf, visited } from '../engine/stored-engine.case.ts';
import { FakeClock } from '../fake-clock.ts';
import { generator, MEMBER_PARTS, RecordedLog } from './members.ts';

const SENDER = { dataSetId: Buffer.alloc(16, 's'), epoch: 5, now: () => {} };

interface SideOptions {
  readonly partitionCount?: number;
  readonly tree?: MapTree;
  readonly clock?: FakeClock;
  readonly dataSetId?: Buffer;
}

interface Written {
  readonly map?: string;
  readonly type?: string;
  readonly timeToLiveMs?: number;
  readonly maxIdleSeconds?: number;
}

/** One of the two members. */
export class ComparedSide {
  readonly clock: FakeClock;
  readonly engine: EmbeddedEngine;
  readonly receiver: WanReceiver;
  tree: MapTree;
  readonly #ask: AtOnce;

  constructor({
    partitionCount = 271,
    tree = { isOn: true, depth: 10 },
    clock = new FakeClock(),
    dataSetId = Buffer.alloc(16, 't'),
  }: SideOptions = {}) {
    const { engine, ask } = engineOf({ partitionCount, clock });
    this.clock = clock;
    this.engine = engine;
    this.#ask = ask;
    this.tree = tree;
    const slices = new SharedSlices();
    const parts = { ...MEMBER_PARTS, engine, dataSetId, onKnown: () => {} };
    this.receiver = new WanReceiver({
      ...parts,
      sections: new StoredSections(parts, slices),
      trees: new TreeResponder({ source: treesOf(engine), clock, treeOf: () => this.tree }),
      slices,
      clock,
      log: new RecordedLog(),
    });
  }

  set(key: string, value: string | Buffer, written: Written = {}): void {
    const { map = 'map', type = 'text/plain', timeToLiveMs = 0, maxIdleSeconds = 0 } = written;
    const { outcome } = this.#ask.set(map, key, value, type, { timeToLiveMs, maxIdleSeconds });
    assert.equal(outcome, APPLIED);
  }

  delete(key: string): void {
    assert.equal(this.#ask.delete('map', key).outcome, APPLIED);
  }

  async receive(message: Buffer): Promise<TransportResponse> {
    const answer = await this.receiver.receive(Buffer.from(message));
    if (answer.error === undefined) return { status: 200, body: answer.body };
    return { status: answer.error.status, body: Buffer.from(answer.error.message) };
  }
}

export interface Compared {
  readonly differences: Differences;
  /** Bytes of requests and responses, without the heads of HTTP. */
  readonly bytes: number;
  readonly requests: number;
  /** The figures reported during the comparison. */
  readonly checked: readonly number[];
}

export async function compare(
  source: ComparedSide,
  target: ComparedSide,
  depth = 10,
  given: Partial<ComparisonParts> = {},
  map = 'map',
): Promise<Compared> {
  let bytes = 0;
  let requests = 0;
  const checked: number[] = [];
  const send = async (message: Buffer) => {
    const answer = await target.receive(message);
    bytes += message.length + answer.body.length;
    requests++;
    return answer;
  };
  const parts = {
    source: treesOf(source.engine),
    partitions: [...Array(source.engine.partitionCount).keys()],
    target: { send, dataSet: undefined },
    sender: SENDER,
    clusterName: 'dev',
    isCancelled: () => false,
    onPartition: () => void checked.push(checked.length + 1),
    ...given,
  };
  const differences = await compareMap(parts, Buffer.from(map), depth);
  return { differences, bytes, requests, checked };
}

/** Returns the expected result, from the entries of both sides, leaf by leaf, as texts. */
export function expectedOf(source: ComparedSide, target: ComparedSide, depth: number) {
  const own = leavesOf(source, depth);
  const theirs = leavesOf(target, depth);
  const different = [...new Set([...own.keys(), ...theirs.keys()])].filter(
    (leaf) => own.get(leaf)?.sort().join('\n') !== theirs.get(leaf)?.sort().join('\n'),
  );
  const { partitionCount } = source.engine;
  return {
    checkedPartitions: partitionCount,
    differentPartitions: new Set(different.map((leaf) => leaf.split(' ')[0])).size,
    checkedLeaves: partitionCount * 2 ** (depth - 1),
    differentLeaves: different.length,
    entriesToSync: different.reduce((sum, leaf) => sum + (own.get(leaf)?.length ?? 0), 0),
  };
}

export function figuresOf(differences: Differences) {
  const { checkedPartitions, differentPartitions, checkedLeaves } = differences;
  const { differentLeaves, entriesToSync } = differences;
  return {
    checkedPartitions,
    differentPartitions,
    checkedLeaves,
    differentLeaves,
    entriesToSync,
  };
}

export function entriesOf({ engine }: ComparedSide): Mutation[] {
  return visited(engine).filter(({ name }) => name.toBuffer().toString() === 'map');
}

function leavesOf(side: ComparedSide, depth: number): Map<string, string[]> {
  const leafOf = new LeafOf();
  const leaves = new Map<string, string[]>();
  for (const { partition, key, value, contentType, expiryMs, maxIdleSeconds } of entriesOf(side)) {
    const leaf = `${partition} ${leafOf.leaf(key, depth - 1)}`;
    const texts = [key, value, contentType].map((each) => each.toBuffer().toString('hex'));
    const entry = [...texts, expiryMs, maxIdleSeconds].join(' ');
    leaves.set(leaf, [...(leaves.get(leaf) ?? []), entry]);
  }
  return leaves;
}

export function requestOf(question: Partial<TreeQuestion>, map = 'map', cluster = 'dev'): Buffer {
  const texts = Buffer.concat([textBytes(cluster), textBytes(map)]);
  const roots = { partitionCount: 3, depth: 10, level: 0, levels: 0, nodes: [nodeOf(0, 0)] };
  const key = Buffer.from('hash-key');
  return treeRequest(SENDER, texts, { key, ...roots, ...question });
}

export const HOSTILE_PARTITIONS = 3;

/** Requests of each kind of level for trees of HOSTILE_PARTITIONS partitions. */
export const REQUESTS: readonly Buffer[] = [
  requestOf({ nodes: [0, 1, 2].map((partition) => nodeOf(partition, 0)) }),
  requestOf({ levels: 3, nodes: [0, 2].map((partition) => nodeOf(partition, 0)) }),
  requestOf({ level: 6, levels: 3, nodes: [nodeOf(0, 5), nodeOf(1, 0), nodeOf(1, 63)] }),
];

/** Returns the request with other bytes in its payload and a correct checksum. */
export function resealed(request: Buffer): Buffer {
  const head = { kind: request[20] as 5, isOnReceipt: false, clock: new Version(), respondsTo: 0 };
  return sealPlain(request, { ...head, dataSet: SENDER.dataSetId });
}

/** A member that receives invalid requests. */
export function hostileSide(): ComparedSide {
  const side = new ComparedSide({ partitionCount: HOSTILE_PARTITIONS });
  for (let index = 0; index < 20; index++) side.set(`key${index}`, `value${index}`);
  return side;
}

/**
 * Sends requests with random faults in their payload. Each gets a status of the interface, a
 * response has the requested length, nothing changes, and no memory remains in use.
 */
export async function sendWrongRequests(rounds: number, seed: number): Promise<void> {
  const random = generator(seed);
  const side = hostileSide();
  const before = contentOf(side.engine);
  const sequences = side.engine.sequences();
  const timers = side.clock.timerCount;
  let refused = 0;
  for (let round = 0; round < rounds; round++) {
    const wrong = Buffer.from(REQUESTS[round % REQUESTS.length]!);
    const flips = 1 + Math.floor(random() * 3);
    for (let flip = 0; flip < flips; flip++) {
      const at = HEAD_BYTES + Math.floor(random() * (wrong.length - HEAD_BYTES));
      wrong[at] = random() < 0.5 ? wrong[at]! ^ (1 << Math.floor(random() * 8)) : random() * 256;
    }
    const { status, body } = await side.receive(resealed(wrong));
    assert.ok([200, 400, 403].includes(status), `seed ${seed}, round ${round}: ${status}`);
    assert.ok(body.length < 65_536, `seed ${seed}, round ${round}: ${body.length} bytes`);
    if (status !== 200) refused++;
  }
  assert.ok(refused > rounds / 10, `${refused} refused`);
  assert.deepEqual(contentOf(side.engine), before);
  assert.deepEqual(side.engine.sequences(), sequences);
  side.clock.advance(20_000);
  assert.equal(side.clock.timerCount, timers);
}
