/**
 * Parses a received batch, and checks all of it before anything is applied.
 * Tested by message-format.spec.ts.
 */

import { createHash } from 'node:crypto';
import { type Viewed, viewed } from '../base/copy-bytes.ts';
import type { SharedSlices } from '../base/slices.ts';
import { DATA_SET_ID_BYTES, Mutation } from '../engine/mutation.ts';
import { Version } from '../engine/version.ts';
import { readEvent } from './event-codec.ts';
import { LANES_MAX, malformed, type OpenedMessage, PayloadReader } from './message-format.ts';

/** The names in a message. */
export interface MessageNames {
  /** Required name of the target's cluster. */
  readonly clusterName: string;
  /** Hash of the names of the replication and the publisher, as names may be long. */
  readonly publisher: string;
}

export interface ReceivedSection {
  readonly lane: number;
  readonly firstNumber: number;
  readonly count: number;
  /** The version at which the events' synchronisation began; none for events of a queue. */
  readonly syncBegan: Version;
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
  const reader = new PayloadReader(payload);
  const handshake = { epoch: reader.count(1), ...namesFrom(reader) };
  if (!reader.isAtEnd) throw malformed('its payload is too long');
  return handshake;
}

/** Reads a batch except for its events. Throws GridError WAN_MESSAGE_INVALID. */
export function readBatch({ payload }: OpenedMessage): ReceivedBatch {
  const reader = new PayloadReader(payload);
  const epoch = reader.count(1);
  const target = reader.bytes(DATA_SET_ID_BYTES);
  const names = namesFrom(reader);
  const sectionCount = reader.short();
  if (sectionCount === 0 || sectionCount > LANES_MAX)
    throw malformed(`it has ${sectionCount} sections`);
  const sections: ReceivedSection[] = [];
  const lanes = new Set<number>();
  for (let index = 0; index < sectionCount; index++) {
    const lane = reader.short();
    if (lane >= LANES_MAX || lanes.has(lane))
      throw malformed(`it has lane ${lane}, or has it twice`);
    lanes.add(lane);
    if (reader.short() !== 0) throw malformed('a section has an unknown flag');
    const count = reader.word();
    const length = reader.word();
    const firstNumber = reader.count(1);
    const syncBegan = reader.version();
    if (count === 0 || !Number.isSafeInteger(firstNumber + count)) {
      throw malformed('a section is empty or its numbers are too high');
    }
    const start = reader.at;
    reader.bytes(length);
    sections.push({ lane, firstNumber, count, syncBegan, start, end: reader.at });
  }
  if (!reader.isAtEnd) throw malformed('its payload is too long');
  return { epoch, target, ...names, payload: viewed(payload), sections };
}

/**
 * Checks every event, in slices. Resolves with the latest version among the events and the
 * beginnings of synchronisations. Rejects with GridError WAN_MESSAGE_INVALID.
 */
export async function checkEvents(
  { payload, sections }: ReceivedBatch,
  slices: SharedSlices,
): Promise<Version> {
  const latest = new Version();
  const change = new Mutation();
  for (const { start, end, count, lane, syncBegan } of sections) {
    if (syncBegan.isAfter(latest)) latest.copyFrom(syncBegan);
    let at = start;
    for (let index = 0; index < count; index++) {
      at = readEvent(payload, at, end, change);
      if (at < 0) throw malformed(`event ${index} of lane ${lane} is invalid`);
      if (change.version.isAfter(latest)) latest.copyFrom(change.version);
      const pause = index % 64 === 63 ? slices.pause() : undefined;
      if (pause !== undefined) await pause;
    }
    if (at !== end) throw malformed(`lane ${lane} has bytes after its events`);
  }
  return latest;
}

function namesFrom(reader: PayloadReader): MessageNames {
  const clusterName = reader.text().toString();
  const hash = createHash('sha256');
  for (const name of [reader.text(), reader.text()]) {
    // The lengths separate the names.
    hash.update(`${name.length} `).update(name);
  }
  return { clusterName, publisher: hash.digest('base64') };
}
