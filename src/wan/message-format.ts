/**
 * The messages between a publisher and the members of other clusters. The body of a request is one
 * message, and so is the body of the response. All numbers are little-endian. A message begins with
 * a head:
 *
 *     0  frame (../base/frame.ts): "gridWAN\n"; the format is 4
 *    20  kind, one byte: 1 handshake, 2 batch, 3 response to a handshake, 4 response to a batch,
 *        5 request for hash trees, 6 response to that (tree-messages.ts describes both payloads)
 *    21  flags, one byte: 1 the payload is deflated (RFC 1951), 2 acknowledge the batch on receipt;
 *        at 22 zero, two bytes
 *    24  length of the inflated payload, in bytes; that of the payload if it is not deflated
 *    28  the sender's clock, a version: low word, at 32 high word
 *    36  id of the sender's data set, 16 bytes
 *    52  in a response the CRC-32 of the message that it responds to, to detect a stray response;
 *        otherwise zero
 *    56  payload
 *
 * Texts are those of ../base/fields.ts. The payload of a handshake:
 *
 *     0  epoch of the sender, a double: microseconds since 1970 of its start, or later
 *     8  three texts: required name of the target's cluster, name of the replication, publisher id
 *
 * The payload of the response to a handshake:
 *
 *     0  the latest recorded epoch of the sender's data set, a double; 0 for none
 *
 * The payload of a batch:
 *
 *     0  epoch, a double; at 8 the id of the data set that the batch is for, 16 bytes
 *    24  the three texts of a handshake
 *        then two bytes: number of sections, 1 to 1024; then the sections
 *
 * A section contains the events of one lane. The partitions of the sender are spread over its
 * lanes, or each is one. Each event has a number; the numbers of a lane rise, with gaps, in each
 * epoch of each publisher. Entries of a synchronisation are numbered apart. The numbers ensure that
 * no event is applied twice. A section that begins before the latest one of its lane is refused
 * with 409, and the sender begins a later epoch. A forged batch, whatever its numbers, therefore
 * hides at most as many later events as it contains. A section:
 *
 *     0  lane, two bytes, each once, and once more with entries of a synchronisation; at 2 zero, two
 *        bytes
 *     4  number of events, 1 or more; at 8 their length in bytes
 *    12  for entries of a synchronisation the version at which it began: low word, at 16 high word;
 *        none for events of the queue
 *    20  for each event its number, a double: 1 or more, and more than that of the event before
 *        then the events (event-codec.ts)
 *
 * The payload of the response to a batch:
 *
 *     0  reason why not all events were applied, one byte: 0 all were, 1 no memory, 2 disk, 3 the
 *        target's data set is another one, 4 engine closed, 5 cluster PASSIVE, 6 servers accept no
 *        changes; at 1 zero
 *     2  number of sections, two bytes; at 4 then 20 bytes per section:
 *
 *     0  how many of its events, from the first on, need not be sent again
 *     4  entries of the synchronisation that the target did not take, a double; at 12 events that it
 *        skipped, as no client could have written them, a double. Both are counted since a section
 *        of the lane first began with the number of this one's first event
 */

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { viewed } from '../base/copy-bytes.ts';
import { GridError } from '../base/errors.ts';
import { FieldReader } from '../base/fields.ts';
import { frameFault, writeFrame } from '../base/frame.ts';
import { DATA_SET_ID_BYTES } from '../engine/mutation.ts';
import { Version } from '../engine/version.ts';

export const HANDSHAKE = 1;
export const BATCH = 2;
export const HANDSHAKE_RESPONSE = 3;
export const BATCH_RESPONSE = 4;
export const TREES_REQUEST = 5;
export const TREES_RESPONSE = 6;

type Kind = 1 | 2 | 3 | 4 | 5 | 6;

/** Length of a message's head, in bytes. */
export const HEAD_BYTES = 56;
/** Maximum number of lanes of a publisher of a member that stores its own data. */
export const LANES_MAX = 32;
/** Maximum number of sections of a batch. */
export const SECTIONS_MAX = 1024;
/** Length of a section before the numbers of its events, and of each number, in bytes. */
export const SECTION_BYTES = 20;
export const NUMBER_BYTES = 8;
/** Length of a section in the response to a batch, in bytes. */
export const SECTION_RESPONSE_BYTES = 20;

/** Epochs per millisecond: two starts in one millisecond (after a clock change) get two epochs. */
export const EPOCHS_A_MS = 1000;

const MAGIC = 'gridWAN\n';
/** Beginning of a message of the formats 1 and 2. */
const OLDER_MAGIC = 'GWAN';
const FORMAT = 4;
const IS_DEFLATED = 1;
const IS_ON_RECEIPT = 2;
const KNOWN_FLAGS = IS_DEFLATED | IS_ON_RECEIPT;
/** The fastest level, which achieves most of the compression. */
const DEFLATE_LEVEL = 1;

const deflate = promisify<Buffer, object, Buffer>(deflateRaw);
const inflate = promisify<Buffer, object, Buffer>(inflateRaw);

/** The fields of a message's head that describe the message and its sender. */
export interface MessageHead {
  readonly kind: Kind;
  readonly isOnReceipt: boolean;
  readonly clock: Version;
  /** Id of the sender's data set. */
  readonly dataSet: Buffer;
  /** CRC-32 of the message that this one responds to, or 0. */
  readonly respondsTo: number;
}

/** A message whose head was checked. */
export interface OpenedMessage extends MessageHead {
  /** The inflated payload. */
  readonly payload: Buffer;
  readonly checksum: number;
}

export function malformed(reason: string): GridError {
  return new GridError('WAN_MESSAGE_INVALID', { reason });
}

/** Returns the head's inflated length in bytes; 0 if not deflated, or if the head is incomplete. */
export function inflatedBytes(bytes: Buffer): number {
  if (bytes.length < HEAD_BYTES || (bytes[21]! & IS_DEFLATED) === 0) return 0;
  return bytes.readUInt32LE(24);
}

/**
 * Checks the head, and inflates the payload. Rejects with GridError WAN_MESSAGE_INVALID, or
 * WAN_MESSAGE_TOO_LONG for an inflated payload of more than `inflatedMax` bytes.
 */
export async function openMessage(bytes: Buffer, inflatedMax: number): Promise<OpenedMessage> {
  if (bytes.toString('latin1', 0, OLDER_MAGIC.length) === OLDER_MAGIC) throw otherFormat(bytes[4]!);
  const message = viewed(bytes);
  const fault = frameFault(message, bytes.length, MAGIC);
  if (fault !== undefined) throw malformed(`it ${fault.what}`);
  const { view } = message;
  const format = view.getUint32(12, true);
  if (format !== FORMAT) throw otherFormat(format);
  if (bytes.length < HEAD_BYTES) throw malformed('it is shorter than its head');
  const kind = bytes[20]!;
  const flags = bytes[21]!;
  if (kind < HANDSHAKE || kind > TREES_RESPONSE) throw malformed(`its kind is ${kind}`);
  if ((flags & ~KNOWN_FLAGS) !== 0 || view.getUint16(22, true) !== 0) {
    throw malformed('it has an unknown flag');
  }
  const inflatedLength = view.getUint32(24, true);
  if (inflatedLength > inflatedMax) {
    throw new GridError('WAN_MESSAGE_TOO_LONG', { bytes: inflatedLength, bytesMax: inflatedMax });
  }
  const isDeflated = (flags & IS_DEFLATED) !== 0;
  const body = bytes.subarray(HEAD_BYTES);
  if (!isDeflated && inflatedLength !== body.length) throw malformed('its lengths differ');
  return {
    kind: kind as Kind,
    isOnReceipt: (flags & IS_ON_RECEIPT) !== 0,
    clock: new Version().set(view.getInt32(28, true), view.getInt32(32, true)),
    dataSet: bytes.subarray(36, 36 + DATA_SET_ID_BYTES),
    respondsTo: view.getInt32(52, true),
    payload: isDeflated ? await inflated(body, inflatedLength) : body,
    checksum: sealedChecksum(bytes),
  };
}

function otherFormat(format: number): GridError {
  return malformed(
    `its format is ${format}, this version reads ${FORMAT}: both members need the same version of gridnode`,
  );
}

/** Inflates the payload. Never produces more than `length` bytes. */
async function inflated(body: Buffer, length: number): Promise<Buffer> {
  let payload: Buffer | undefined;
  try {
    payload = await inflate(body, { maxOutputLength: Math.max(1, length) });
  } catch (error) {
    throw malformed(`it cannot be inflated, ${(error as NodeJS.ErrnoException).code}`);
  }
  if (payload.length !== length) throw malformed('its inflated length does not match');
  return payload;
}

/** Seals a message like sealPlain, with the payload deflated if that makes it shorter. */
export async function sealDeflated(bytes: Buffer, head: MessageHead): Promise<Buffer> {
  const inflatedLength = bytes.length - HEAD_BYTES;
  const payload = await deflate(bytes.subarray(HEAD_BYTES), { level: DEFLATE_LEVEL });
  if (payload.length >= inflatedLength) return sealPlain(bytes, head);
  const message = Buffer.concat([Buffer.alloc(HEAD_BYTES), payload]);
  return writeHead(message, head, inflatedLength, IS_DEFLATED);
}

/** Writes the head into the first HEAD_BYTES; the rest is the payload. Returns the message. */
export function sealPlain(bytes: Buffer, head: MessageHead): Buffer {
  return writeHead(bytes, head, bytes.length - HEAD_BYTES, 0);
}

/** Returns the CRC-32 in the head of a sealed message. */
export function sealedChecksum(message: Buffer): number {
  return message.readInt32LE(8);
}

function writeHead(
  bytes: Buffer,
  { kind, isOnReceipt, clock, dataSet, respondsTo }: MessageHead,
  inflatedLength: number,
  flags: number,
): Buffer {
  const message = viewed(bytes);
  const { view } = message;
  bytes[20] = kind;
  bytes[21] = flags | (isOnReceipt ? IS_ON_RECEIPT : 0);
  view.setUint16(22, 0, true);
  view.setUint32(24, inflatedLength, true);
  view.setInt32(28, clock.low, true);
  view.setInt32(32, clock.high, true);
  bytes.set(dataSet, 36);
  view.setInt32(52, respondsTo, true);
  writeFrame(message, bytes.length, MAGIC, FORMAT);
  return bytes;
}

/** Returns a reader of the payload, which throws GridError WAN_MESSAGE_INVALID. */
export function payloadReader(payload: Buffer): FieldReader {
  return new FieldReader(payload, 0, (what) => malformed(`its payload ${what}`));
}

/** Returns the SHA-256 by which a publisher is known, from the names of its replication and itself. */
export function publisherHash(replication: Buffer, publisherId: Buffer): Buffer {
  const hash = createHash('sha256');
  // The lengths separate the names.
  for (const name of [replication, publisherId]) hash.update(`${name.length} `).update(name);
  return hash.digest();
}

/** Returns the beginning of an epoch in ms since 1970. */
export function epochMs(epoch: number): number {
  return epoch / EPOCHS_A_MS;
}
