/**
 * A sink that sets the path of some changes, and the check that the records of the log have these
 * paths.
 */
import assert from 'node:assert/strict';
import { crc32 } from 'node:zlib';
import { FROM_REPLAY, type Mutation } from '../../src/engine/mutation.ts';
import { ADMITTED, type MutationSink } from '../../src/engine/mutation-sink.ts';
import type { Version } from '../../src/engine/version.ts';
import { LOG, parseSegmentName } from '../../src/persistence/segment.ts';
import { type Files, visitMutations } from './damaged-directory.ts';

/** A sink that precedes the one that writes the log. */
export class PathSink implements MutationSink {
  admit(mutation: Mutation): typeof ADMITTED {
    if (mutation.origin === FROM_REPLAY) return ADMITTED;
    const path = pathOf(mutation.version);
    mutation.path.set(path, 0, path.length);
    return ADMITTED;
  }

  abandon(): void {}

  record(): void {}

  durable(): number {
    return Number.POSITIVE_INFINITY;
  }
}

/**
 * Returns the path of the change with this version: none for every second change, otherwise of 1 to
 * 16 data sets.
 */
export function pathOf({ low, high }: Version): Buffer {
  const mixed = crc32(`${high} ${low}`);
  const count = mixed % 2 === 0 ? 0 : 1 + ((mixed >>> 1) % 16);
  const path = Buffer.alloc(count * 16, mixed & 0xff);
  for (let at = 0; at < path.length; at += 16) path.writeInt32LE(Math.imul(low, at + 1), at);
  return path;
}

/**
 * Asserts that records of the log have their paths, and records of snapshots have none. Returns the
 * paths found.
 */
export function checkPaths(files: Files): number {
  let count = 0;
  visitMutations(files, ({ path, version }, name, at) => {
    const isLog = parseSegmentName(name)?.kind === LOG;
    const wanted = isLog ? pathOf(version) : Buffer.alloc(0);
    assert.ok(path.toBuffer().equals(wanted), `${name} at ${at}`);
    if (wanted.length > 0) count++;
  });
  return count;
}
