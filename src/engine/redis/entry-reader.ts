/**
 * Reads the entries of one partition as ../partition-entries.ts describes it.
 * Tested by entry-reader.spec.ts.
 */
import { Span } from '../../base/span.ts';
import { LIST_START, LISTED, type NameReceiver } from '../engine.ts';
import { Mutation, SET } from '../mutation.ts';
import {
  type EntriesRead,
  LISTED_ENTRY_BYTES_MAX,
  LISTED_MAPS_MAX,
  type PartitionEntries,
} from '../partition-entries.ts';
import { header } from './command-buffer.ts';
import { type EntryPage, requestPage, startOf } from './entry-page.ts';
import type { Failure } from './failure.ts';
import { CLOCK, MAP } from './layout.ts';
import { CONFIRM_READ } from './marked-scripts.ts';
import type { Results } from './redis-result.ts';
import { BULK, kindSet, NIL, type Reply } from './reply.ts';
import { commandStep, NUMBER, READ, UPKEEP } from './run-step.ts';
import { listNames } from './scanned-names.ts';
import type { ServerTime } from './server-time.ts';
import { StoredValue } from './stored-value.ts';

/** Limits for the elements that one call looks at, and for their bytes. */
const LOOKED_MAX = 1000;
const LOOKED_BYTES_MAX = 1_048_576;
const HGET = header(3, 'HGET');
const NO_PREFIX = Buffer.alloc(0);

/** The stored bytes of an entry; empty if there is none. */
const STORED = {
  replyKinds: kindSet(BULK, NIL),
  read: (reply: Reply): Buffer => (reply.kind === NIL ? NO_PREFIX : reply.bytes.toBuffer()),
};

interface ConfirmOptions extends Pick<Parameters<typeof listNames>[0], 'dispatcher' | 'layout'> {
  /** Replicas that must have a change of the map. */
  replicaCount(map: Span): number;
}

type PartitionEntriesOptions = ConfirmOptions &
  Parameters<typeof listNames>[0] & { readonly results: Results; readonly time: ServerTime };

export class RedisPartitionEntries implements Omit<PartitionEntries, 'partitionCount'> {
  readonly #options: PartitionEntriesOptions;
  readonly #stored = new StoredValue();

  constructor(options: PartitionEntriesOptions) {
    this.#options = options;
  }

  async readEntries(
    map: Buffer,
    partition: number,
    place: Buffer | undefined,
    { count, bytes }: Parameters<PartitionEntries['readEntries']>[3],
  ): Promise<EntriesRead | undefined> {
    const page = await new Promise<EntryPage | Failure>((resolve) => {
      requestPage(
        this.#options,
        map,
        place ?? startOf(partition),
        {
          prefix: NO_PREFIX,
          count,
          bytes,
          passesAny: true,
          lookedMax: LOOKED_MAX,
          lookedBytesMax: LOOKED_BYTES_MAX,
          valueBytesMax: LISTED_ENTRY_BYTES_MAX,
        },
        resolve,
      );
    });
    if (typeof page === 'number' || !(await this.#confirm(map, partition))) return undefined;
    const entries: Mutation[] = [];
    const longKeys: Buffer[] = [];
    for (const { key, stored, length } of page.entries) {
      if (length > 0) {
        longKeys.push(key);
        continue;
      }
      const entry = this.#entryIn(stored, map, key);
      if (entry === null) return undefined;
      if (entry !== undefined) entries.push(entry);
    }
    return { entries, longKeys, place: page.place, beganAgain: page.beganAgain };
  }

  async readEntry(map: Buffer, key: Buffer): ReturnType<PartitionEntries['readEntry']> {
    const { layout, dispatcher } = this.#options;
    const partition = layout.partitionOf(Span.of(key));
    const words = [layout.key(MAP, partition, map), key];
    const stored = await commandStep(dispatcher, partition, READ, STORED, HGET, words);
    if (stored === undefined || !(await this.#confirm(map, partition))) return undefined;
    const entry = stored.length === 0 ? undefined : this.#entryIn(stored, map, key);
    return entry === null ? undefined : { entry };
  }

  readMaps(place: Buffer | undefined): ReturnType<PartitionEntries['readMaps']> {
    const names: Buffer[] = [];
    return new Promise((resolve) => {
      const receiver: NameReceiver = {
        onName: (name) => void names.push(name.toBuffer()),
        onResult: ({ outcome, place: next }) => {
          if (outcome !== LISTED) return resolve(undefined);
          resolve({ names, place: next.length === 0 ? undefined : next.toBuffer() });
        },
      };
      const from = place === undefined ? LIST_START : Span.of(place);
      listNames(this.#options, 'map', Span.of(NO_PREFIX), from, LISTED_MAPS_MAX, receiver);
    });
  }

  /** Returns undefined for an expired entry, null for one that this version cannot read. */
  #entryIn(bytes: Buffer, map: Buffer, key: Buffer): Mutation | undefined | null {
    const stored = this.#stored;
    if (!stored.read(Span.of(bytes))) return null;
    if (stored.endMs !== 0 && stored.endMs <= this.#options.time.wall()) return undefined;
    return entryOf(stored, map, key);
  }

  #confirm(map: Buffer, partition: number): Promise<boolean> {
    return confirmRead(this.#options, partition, this.#options.replicaCount(Span.of(map)));
  }
}

/** Returns the stored entry as a SET. Name and key keep using the given bytes. */
export function entryOf(stored: StoredValue, map: Buffer, key: Buffer): Mutation {
  const entry = new Mutation();
  entry.operation = SET;
  entry.name.set(map, 0, map.length);
  entry.key.set(key, 0, key.length);
  entry.version.set(stored.versionLow, stored.versionHigh);
  entry.maker = stored.maker;
  entry.path.copyFrom(stored.path);
  entry.value.copyFrom(stored.value);
  entry.contentType.copyFrom(stored.contentType);
  entry.expiryMs = stored.maxIdleSeconds === 0 ? stored.endMs : stored.lastMs;
  entry.maxIdleSeconds = stored.maxIdleSeconds;
  return entry;
}

/** Resolves with whether the partition's state that was read before is on that many replicas. */
export async function confirmRead(
  { dispatcher, layout }: Pick<ConfirmOptions, 'dispatcher' | 'layout'>,
  partition: number,
  replicaCount: number,
): Promise<boolean> {
  if (replicaCount === 0) return true;
  const traits = { ...UPKEEP, replicaCount, isReplicated: true };
  const words = [layout.prefix(CLOCK, partition).toBuffer()];
  const { header: command } = CONFIRM_READ;
  return (await commandStep(dispatcher, partition, traits, NUMBER, command, words)) !== undefined;
}
