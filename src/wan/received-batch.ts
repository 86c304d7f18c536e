/**
 * Parses a received batch, and checks all of it before anything is applied.
 * Tested by message-format.spec.ts.
 */

import { type Viewed, viewed } from '../base/copy-bytes.ts';
import { GridError } from '../base/errors.ts';
import type { FieldReader } from '../base/fields.ts';
import type { SharedSlices } from '../base/slices.ts';
import type { Span } from '../base/span.ts';
import { pathOf } from '../config/setting.ts';
import { policyAt } from '../engine/change-codec.ts';
import { ENGINE_SETTINGS } from '../engine/engine-settings.ts';
import { HIGHER_HITS, LATEST_ACCESS } from '../engine/merge-policy.ts';
import { CLEAR, DATA_SET_ID_BYTES, Mutation } from '../engine/mutation.ts';
import { Version } from '../engine/version.ts';
import { isFieldValue } from '../http/field-values.ts';
import { readEvent } from './event-codec.ts';
import {
  malformed,
  NUMBER_BYTES,
  type OpenedMessage,
  payloadReader,
  publisherHash,
  SECTIONS_MAX,
} from './message-format.ts';
import { MERGE_POLICIES } from './wan-settings.ts';

/** The names in a message. */
export interface MessageNames {
  /** Required name of the target's cluster. */
  readonly clusterName: string;
  /** SHA-256 of the names of the replication and the publisher, as names may be long. */
  readonly publisher: Buffer;
}

export interface ReceivedSection {
  readonly lane: number;
  readonly count: number;
  /** The version at which the events' synchronisation began; none for events of a queue. */
  readonly syncBegan: Version;
  /** Offset of the events' numbers in the payload, and the first of them. */
  readonly numbersAt: number;
  readonly firstNumber: number;
  /** Offsets of the events in the payload. */
  readonly start: number;
  readonly end: number;
}

export interface ReceivedBatch extends MessageNames {
  readonly epoch: number;
  /** The data set that the batch is for. */
  readonly target: Buffer;
  readonly payload: Viewed;
  readonly sections: readonly ReceivedSection[];
}

interface ReceivedHandshake extends MessageNames {
  readonly epoch: number;
}

/** Reads a handshake. Throws GridError WAN_MESSAGE_INVALID. */
export function readHandshake({ payload }: OpenedMessage): ReceivedHandshake {
  const reader = payloadReader(payload);
  const handshake = { epoch: reader.count(1), ...namesFrom(reader) };
  reader.end();
  return handshake;
}

/** Reads a batch except for its events. Throws GridError WAN_MESSAGE_INVALID. */
export function readBatch({ payload }: OpenedMessage): ReceivedBatch {
  const reader = payloadReader(payload);
  const epoch = reader.count(1);
  const target = reader.bytes(DATA_SET_ID_BYTES);
  const names = namesFrom(reader);
  const sectionCount = reader.short();
  if (sectionCount === 0 || sectionCount > SECTIONS_MAX)
    throw malformed(`it has ${sectionCount} sections`);
  const sections: ReceivedSection[] = [];
  const lanes = new Set<string>();
  for (let index = 0; index < sectionCount; index++) {
    const section = readSection(reader, viewed(payload).view);
    const name = `${section.lane} ${section.syncBegan.isNone}`;
    if (lanes.has(name)) throw malformed(`it has lane ${section.lane} twice`);
    lanes.add(name);
    sections.push(section);
  }
  reader.end();
  return { epoch, target, ...names, payload: viewed(payload), sections };
}

function readSection(reader: FieldReader, view: DataView): ReceivedSection {
  const lane = reader.short();
  if (reader.short() !== 0) throw malformed('a section has an unknown flag');
  const count = reader.word();
  const length = reader.word();
  const syncBegan = new Version().set(reader.word(), reader.word());
  if (count === 0) throw malformed('a section is empty');
  const numbersAt = reader.at;
  reader.bytes(count * NUMBER_BYTES);
  const firstNumber = numberAt(view, numbersAt, 0);
  const start = reader.at;
  reader.bytes(length);
  return { lane, count, syncBegan, numbersAt, firstNumber, start, end: reader.at };
}

/** Returns the number of the section's event with that index; `numbersAt` is the section's. */
export function numberAt(view: DataView, numbersAt: number, index: number): number {
  return view.getFloat64(numbersAt + index * NUMBER_BYTES, true);
}

/**
 * Checks every event and its number, in slices. Resolves with the latest version among the events and
 * the beginnings of synchronisations. Rejects with GridError WAN_MESSAGE_INVALID, or without counted
 * reads WAN_READS_UNCOUNTED for an event whose policy compares them.
 */
export async function checkEvents(
  { payload, sections }: ReceivedBatch,
  countsReads: boolean,
  slices: SharedSlices,
): Promise<Version> {
  const latest = new Version();
  const change = new Mutation();
  for (const { start, end, count, lane, syncBegan, numbersAt } of sections) {
    if (syncBegan.isAfter(latest)) latest.copyFrom(syncBegan);
    let at = start;
    let before = 0;
    for (let index = 0; index < count; index++) {
      const number = numberAt(payload.view, numbersAt, index);
      if (!Number.isSafeInteger(number) || number <= before)
        throw malformed(`the numbers of lane ${lane} do not rise`);
      before = number;
      const eventAt = at;
      at = readEvent(payload, at, end, change);
      if (at < 0) throw malformed(`event ${index} of lane ${lane} is invalid`);
      const policy = policyAt(payload.bytes, eventAt);
      if (!countsReads && (policy === HIGHER_HITS || policy === LATEST_ACCESS)) {
        throw new GridError('WAN_READS_UNCOUNTED', {
          policy: MERGE_POLICIES[policy],
          setting: pathOf(ENGINE_SETTINGS.engineUrl),
        });
      }
      if (change.version.isAfter(latest)) latest.copyFrom(change.version);
      const pause = index % 64 === 63 ? slices.pause() : undefined;
      if (pause !== undefined) await pause;
    }
    if (at !== end) throw malformed(`lane ${lane} has bytes after its events`);
  }
  return latest;
}

function namesFrom(reader: FieldReader): MessageNames {
  const clusterName = reader.text().toString();
  return { clusterName, publisher: publisherHash(reader.text(), reader.text()) };
}

/** Bytes of the field line apart from the content type: field name, colon and line end. */
const TYPE_LINE_BYTES = 'Content-Type:\r\n'.length;
const PERCENT = 0x25;
const SLASH = 0x2f;

/** The limits of clients' requests, in bytes. */
export interface RequestLimits {
  /** First segment of the paths. */
  readonly segment: string;
  readonly headerBytesMax: number;
  readonly targetBytesMax: number;
  readonly bodyBytesMax: number;
}

/**
 * Applies the limits of clients' requests to changes of other members. A client could not write an
 * entry with an empty key, an over-long value, or a content type that is not a valid field value:
 * such an entry could not be read, or would break responses.
 */
export class EventRules {
  readonly #limits: RequestLimits;
  /** Bytes of a path before the map's name. */
  readonly #pathBytes: number;

  constructor(limits: RequestLimits) {
    this.#limits = limits;
    this.#pathBytes = `/${limits.segment}/rest/maps/`.length;
  }

  /** Returns why no client could have made the change, as the end of a sentence, or undefined. */
  faultOf({ operation, name, key, contentType, value }: Mutation): string | undefined {
    const { headerBytesMax, bodyBytesMax, targetBytesMax } = this.#limits;
    if (operation !== CLEAR && key.length === 0) return 'its key is empty';
    const { bytes, start, end } = contentType;
    if (!isFieldValue(bytes, start, end)) return 'its content type has a control character';
    if (contentType.length + TYPE_LINE_BYTES > headerBytesMax) {
      return `its content type has ${contentType.length} bytes, more than header-bytes-max permits`;
    }
    if (value.length > bodyBytesMax) {
      return `its value has ${value.length} bytes, more than body-bytes-max permits`;
    }
    const plain = this.#pathBytes + name.length + 1 + key.length;
    // Even with every byte escaped as three, short names fit: they need not be read.
    if (this.#pathBytes + 1 + (name.length + key.length) * 3 <= targetBytesMax) return undefined;
    const escapes = escapedBytes(name, true) + escapedBytes(key, false);
    if (plain + escapes * 2 <= targetBytesMax) return undefined;
    return `its map and key have ${name.length} and ${key.length} bytes, more than target-bytes-max permits`;
  }
}

/** Counts the bytes that must be percent-escaped in a path. */
function escapedBytes({ bytes, start, end }: Span, isName: boolean): number {
  let count = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    const isSlash = byte === SLASH && (isName || at === end - 1);
    if (byte <= 0x20 || byte === 0x7f || isSlash || isDelimiter(byte)) count++;
  }
  return count;
}

/** Returns whether the byte is `#`, `?` or `%`. */
function isDelimiter(byte: number): boolean {
  return byte === 0x23 || byte === 0x3f || byte === PERCENT;
}
