/** Messages as a publisher sends them, and invalid ones. */
import { crc32 } from 'node:zlib';
import { LATEST_UPDATE, type MergePolicy } from '../../src/engine/merge-policy.ts';
import {
  CLEAR,
  DELETE,
  FROM_CLIENT,
  type Mutation,
  type Operation,
  SET,
} from '../../src/engine/mutation.ts';
import { Version } from '../../src/engine/version.ts';
import { MessageTexts, unsealedBatch } from '../../src/wan/batch.ts';
import { ChunkPool } from '../../src/wan/chunk-pool.ts';
import { eventBytes } from '../../src/wan/event-codec.ts';
import { Lane } from '../../src/wan/lane.ts';
import {
  BATCH,
  HEAD_BYTES,
  NUMBER_BYTES,
  SECTION_BYTES,
  sealPlain,
} from '../../src/wan/message-format.ts';
import { changeOf as mergedChange } from '../engine/changes.ts';
import { span } from '../engine/results.ts';
import { durableMember, type Member, Network } from './members.ts';

export const SENDER: Buffer = Buffer.alloc(16, 's');
export const WALL_MS = 1_700_000_000_000;

export function changeOf(operation: Operation, key: string, value: string): Mutation {
  const version = new Version().set((WALL_MS % 2 ** 16) * 2 ** 16, Math.floor(WALL_MS / 2 ** 16));
  const life = { expiryMs: WALL_MS + 100_000, maxIdleSeconds: 7, hits: 3, lastAccessSeconds: 9 };
  const stored = { value, contentType: 'text/plain', ...life };
  const all = { version, key, origin: FROM_CLIENT, partition: 0 };
  const made = mergedChange(operation, { ...all, ...(operation === SET ? stored : {}) });
  made.name.copyFrom(span('map'));
  made.path.copyFrom(span('0123456789abcdef'));
  return made;
}

export const CHANGES: readonly Mutation[] = [
  changeOf(SET, 'a', 'x'.repeat(40)),
  changeOf(DELETE, 'b', ''),
  changeOf(CLEAR, '', ''),
];

export function headOf(kind: 1 | 2, dataSet = SENDER) {
  return { kind, isOnReceipt: false, clock: new Version(), dataSet, respondsTo: 0 };
}

/** The names in a message: of its cluster, replication and publisher. */
export const TEXTS = new MessageTexts('dev', 'r', 'p');

/** Returns a batch with these changes in each of its lanes, without its head. */
export function batchOf(
  changes: readonly Mutation[],
  target: Buffer,
  {
    dataSetId = SENDER,
    epoch = 5,
    laneCount = 2,
    firstNumber = 1,
    policy = LATEST_UPDATE as MergePolicy,
  } = {},
): Buffer {
  const sections = Array.from({ length: laneCount }, (_, number) => {
    const lane = new Lane(number, { events: 0, bytes: 0 }, new ChunkPool());
    lane.firstNumber = firstNumber;
    for (const each of changes) lane.append(each, policy, 0, false);
    return { lane, generation: 0, count: changes.length };
  });
  const length = changes.reduce((sum, each) => sum + eventBytes(each), 0);
  const lengths = sections.map(() => length);
  const sender = { dataSetId, epoch, now: () => {} };
  return unsealedBatch(sender, TEXTS, target, sections, lengths, new ChunkPool()).bytes;
}

/** Offset of the first section in a batch of `batchOf`. */
export const SECTION_AT: number = HEAD_BYTES + 24 + TEXTS.bytes.length + 2;

/** Returns a sealed batch of one section with that lane and these numbers of its events. */
export function numberedBatch(
  changes: readonly Mutation[],
  target: Buffer,
  lane: number,
  numbers: readonly number[],
  {
    syncBegan = new Version(),
    ...options
  }: Parameters<typeof batchOf>[2] & {
    readonly syncBegan?: Version;
  } = {},
): Buffer {
  const batch = batchOf(changes, target, { ...options, laneCount: 1 });
  batch.writeUInt16LE(lane, SECTION_AT);
  batch.writeInt32LE(syncBegan.low, SECTION_AT + 12);
  batch.writeInt32LE(syncBegan.high, SECTION_AT + 16);
  for (const [index, number] of numbers.entries()) {
    batch.writeDoubleLE(number, SECTION_AT + SECTION_BYTES + index * NUMBER_BYTES);
  }
  return sealPlain(batch, headOf(BATCH, options.dataSetId));
}

/** Returns a copy of the batch with one to three random bytes of content and a correct checksum. */
export function wrongBatch(batch: Buffer, random: () => number): Buffer {
  const wrong = Buffer.from(batch);
  for (let flips = 1 + Math.floor(random() * 3); flips > 0; flips--) {
    const at = HEAD_BYTES + Math.floor(random() * (wrong.length - HEAD_BYTES));
    wrong[at] = Math.floor(random() * 256);
  }
  return sealPlain(wrong, headOf(BATCH));
}

/** Returns the message with a corrected checksum. */
export function resealed(message: Buffer): Buffer {
  message.writeUInt32LE(crc32(message.subarray(12)), 8);
  return message;
}

/** Returns a member without publishers whose changes are durable at once. */
export function receiver(): Member {
  return durableMember(new Network(), 'm');
}
