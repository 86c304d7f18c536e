/** Builds a publisher's messages and reads the responses. Tested by publisher.spec.ts. */
import { FieldWriter, textBytes } from '../base/fields.ts';
import { Version } from '../engine/version.ts';
import type { ChunkPool } from './chunk-pool.ts';
import type { LaneChunk } from './lane-chunk.ts';
import {
  BATCH,
  BATCH_RESPONSE,
  HANDSHAKE,
  HANDSHAKE_RESPONSE,
  HEAD_BYTES,
  type MessageHead,
  malformed,
  NUMBER_BYTES,
  type OpenedMessage,
  openMessage,
  payloadReader,
  SECTION_BYTES,
  sealedChecksum,
  sealPlain,
} from './message-format.ts';
import { RESPONSE_BYTES_MAX } from './wan-transport.ts';

/** The sender's fields in every message. */
export interface Sender {
  readonly dataSetId: Buffer;
  /** Epoch of the sender's last start; may be raised. */
  readonly epoch: number;
  now(version: Version): void;
}

/** The events of a lane as a batch contains them. */
export interface LaneEvents {
  /** Number of the lane. */
  readonly number: number;
  /** The version at which the events' synchronisation began; none for events of the queue. */
  readonly syncBegan: Version;
  /** Returns the number of the event with that index. */
  numberOf(index: number): number;
  /** Copies the first `count` events. Returns the offset after them. */
  copyTo(to: Buffer, at: number, count: number): number;
}

/** A lane's events in a batch. */
export interface Section<Events extends LaneEvents = LaneEvents> {
  readonly lane: Events;
  readonly count: number;
}

/** The texts with which a message identifies its publisher and target, encoded. */
export class MessageTexts {
  readonly bytes: Buffer;

  constructor(clusterName: string, replication: string, publisherId: string) {
    this.bytes = Buffer.concat([clusterName, replication, publisherId].map(textBytes));
  }
}

export function headOf(sender: Sender, kind: 1 | 2 | 5, isOnReceipt = false): MessageHead {
  const clock = new Version();
  sender.now(clock);
  return { kind, isOnReceipt, clock, dataSet: sender.dataSetId, respondsTo: 0 };
}

export function handshakeMessage(sender: Sender, texts: MessageTexts): Buffer {
  const bytes = Buffer.alloc(HEAD_BYTES + 8 + texts.bytes.length);
  new FieldWriter(bytes, HEAD_BYTES).count(sender.epoch).put(texts.bytes);
  return sealPlain(bytes, headOf(sender, HANDSHAKE));
}

/** A batch before its head is written. */
interface UnsealedBatch {
  /** Length of the events, in bytes. */
  readonly eventBytes: number;
  /** The chunk that holds the message, and the message in it. */
  readonly memory: LaneChunk;
  readonly bytes: Buffer;
}

/** Builds a batch of sections whose events have these lengths in bytes, and numbers the records. */
export function unsealedBatch(
  sender: Sender,
  texts: MessageTexts,
  target: Buffer,
  sections: readonly Section[],
  lengths: readonly number[],
  pool: ChunkPool,
): UnsealedBatch {
  const eventBytes = lengths.reduce((sum, length) => sum + length, 0);
  const fixed = HEAD_BYTES + 8 + target.length + texts.bytes.length + 2;
  const eventCount = sections.reduce((sum, { count }) => sum + count, 0);
  const length = fixed + sections.length * SECTION_BYTES + eventCount * NUMBER_BYTES + eventBytes;
  const memory = pool.acquire(length, 0);
  const bytes = memory.bytes.subarray(0, length);
  const writer = new FieldWriter(bytes, HEAD_BYTES);
  writer.count(sender.epoch).put(target).put(texts.bytes).short(sections.length);
  for (const [index, { lane, count }] of sections.entries()) {
    writer.short(lane.number).short(0).word(count).word(lengths[index]!);
    writer.word(lane.syncBegan.low >>> 0).word(lane.syncBegan.high >>> 0);
    for (let event = 0; event < count; event++) writer.count(lane.numberOf(event));
    writer.at = lane.copyTo(bytes, writer.at, count);
  }
  return { eventBytes, memory, bytes };
}

export function batchHead(sender: Sender, isOnReceipt: boolean): MessageHead {
  return headOf(sender, BATCH, isOnReceipt);
}

interface HandshakeResponse extends OpenedMessage {
  /** The latest epoch of the sender that the target has recorded; 0 for none. */
  readonly epoch: number;
}

/** Reads the response to a handshake. Rejects with GridError WAN_MESSAGE_INVALID. */
export async function readHandshakeResponse(
  body: Uint8Array,
  message: Buffer,
): Promise<HandshakeResponse> {
  const { opened, reader } = await openResponse(body, message, HANDSHAKE_RESPONSE);
  return { ...opened, epoch: reader.count(0) };
}

export interface BatchResponse extends OpenedMessage {
  /** 0, or the reason why not all events were applied (message-format.ts). */
  readonly reason: number;
  /** One element per section of the batch. */
  readonly sections: readonly SectionResponse[];
}

interface SectionResponse {
  /** Number of records that need not be sent again. */
  readonly done: number;
  /** Entries not taken, and events rejected, since a section first began with its first number. */
  readonly notTaken: number;
  readonly rejected: number;
}

/** Reads the response to a batch. Rejects with GridError WAN_MESSAGE_INVALID. */
export async function readBatchResponse(
  body: Uint8Array,
  message: Buffer,
  sections: readonly Pick<Section, 'count'>[],
): Promise<BatchResponse> {
  const { opened, reader } = await openResponse(body, message, BATCH_RESPONSE);
  const reason = reader.short() & 0xff;
  if (reader.short() !== sections.length) throw malformed('its number of sections does not match');
  const responses = sections.map(({ count }) => ({
    done: Math.min(count, reader.word()),
    notTaken: reader.count(0),
    rejected: reader.count(0),
  }));
  return { ...opened, reason, sections: responses };
}

/** Opens the response to a message. Rejects with GridError WAN_MESSAGE_INVALID. */
export async function openResponse(body: Uint8Array, message: Buffer, kind: 3 | 4 | 6) {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const opened = await openMessage(bytes, RESPONSE_BYTES_MAX);
  if (opened.kind !== kind) throw malformed(`its kind is ${opened.kind}`);
  if (opened.respondsTo !== sealedChecksum(message))
    throw malformed('it responds to another message');
  return { opened, reader: payloadReader(opened.payload) };
}
