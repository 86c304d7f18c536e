/**
 * Reads and removes the marks of publishers, as ../marked-changes.ts describes. The marks are read in
 * their order, then the entries and tombstones of their keys in one script. Marks whose keys have
 * neither are left out: the entry was evicted, or a clear has removed it.
 * Tested by waiting-changes.spec.ts.
 */
import { Span } from '../../base/span.ts';
import {
  type MarkedPublisher,
  WAITING_VALUE_BYTES_MAX,
  type WaitingChange,
  type WaitingChanges,
  type WaitingRoom,
} from '../marked-changes.ts';
import { CLEAR, DELETE, Mutation } from '../mutation.ts';
import { header } from './command-buffer.ts';
import { confirmRead, entryOf } from './entry-reader.ts';
import { MAP, MARKED, TOMBSTONES } from './layout.ts';
import { READ_WAITING } from './marked-scripts.ts';
import { commandStep, NUMBER, READ, STRINGS, UPKEEP } from './run-step.ts';
import { type KeyScanOptions, scanKeys } from './scanned-keys.ts';
import type { ServerTime } from './server-time.ts';
import { readOrigin, StoredValue } from './stored-value.ts';

/** Maximum number of keys in a read, during which the server does nothing else. */
const KEYS_MAX = 1000;
/** Beginning of the origin in a tombstone; the version comes first. */
const TOMBSTONE_ORIGIN_AT = 13;
const COLON = 0x3a;
const RANGE = header(8, 'ZRANGEBYSCORE');
const REMOVE_RANGE = header(4, 'ZREMRANGEBYSCORE');
const ZCARD = header(2, 'ZCARD');
const UNLINK = header(2, 'UNLINK');
const FROM_FIRST = Buffer.from('-inf');
const TO_LAST = Buffer.from('+inf');
const WITH_SCORES = Buffer.from('WITHSCORES');
const LIMIT = Buffer.from('LIMIT');
const ZERO = Buffer.from('0');

interface WaitingChangesOptions extends KeyScanOptions {
  readonly time: ServerTime;
  /** Replicas that must have a change of the map. */
  replicaCount(map: Span): number;
}

/** A mark: a key that waits, or a map that was cleared. */
interface Mark {
  readonly bytes: Buffer;
  readonly number: number;
  readonly map: Buffer;
  /** Empty for a clear. */
  readonly key: Buffer;
}

export class RedisWaitingChanges {
  readonly #options: WaitingChangesOptions;
  readonly #stored = new StoredValue();

  constructor(options: WaitingChangesOptions) {
    this.#options = options;
  }

  async read(
    publisher: MarkedPublisher,
    partition: number,
    after: number,
    room: WaitingRoom,
  ): Promise<WaitingChanges | undefined> {
    const count = Math.min(room.count, KEYS_MAX);
    const found = await commandStep(this.#options.dispatcher, partition, READ, STRINGS, RANGE, [
      this.#marksKey(publisher.name, partition),
      Buffer.from(`(${after}`),
      TO_LAST,
      WITH_SCORES,
      LIMIT,
      ZERO,
      Buffer.from(`${count}`),
    ]);
    if (found === undefined) return undefined;
    const marks = marksIn(found);
    if (marks.length === 0) return { changes: [], readTo: after, hasMore: false };
    const states = await this.#readStates(partition, marks, room.bytes);
    if (states === undefined || states.length === 0) return undefined;
    const read = marks.slice(0, states.length / 2);
    if (!(await this.#confirm(partition, read))) return undefined;
    const changes: WaitingChange[] = [];
    for (const [index, mark] of read.entries()) {
      const change = this.#changeOf(mark, states[2 * index]!, states[2 * index + 1]!);
      if (change === undefined) return undefined;
      if (change.entry !== undefined || change.removal !== undefined) changes.push(change);
    }
    const hasMore = read.length < marks.length || marks.length === count;
    return { changes, readTo: read.at(-1)!.number, hasMore };
  }

  acknowledge(
    publisher: MarkedPublisher,
    partition: number,
    number: number,
  ): Promise<number | undefined> {
    return commandStep(this.#options.dispatcher, partition, UPKEEP, NUMBER, REMOVE_RANGE, [
      this.#marksKey(publisher.name, partition),
      FROM_FIRST,
      Buffer.from(`${number}`),
    ]);
  }

  async drop({ name }: Pick<MarkedPublisher, 'name'>, partition: number): Promise<boolean> {
    const key = this.#marksKey(name, partition);
    return (
      (await commandStep(this.#options.dispatcher, partition, UPKEEP, NUMBER, UNLINK, [key])) !==
      undefined
    );
  }

  counts(
    { name }: Pick<MarkedPublisher, 'name'>,
    partitions: readonly number[],
  ): Promise<(number | undefined)[]> {
    return Promise.all(
      partitions.map((partition) =>
        commandStep(this.#options.dispatcher, partition, READ, NUMBER, ZCARD, [
          this.#marksKey(name, partition),
        ]),
      ),
    );
  }

  async dropOthers(names: readonly Buffer[]): Promise<number | undefined> {
    const { layout } = this.#options;
    const kept = new Set(names.map((name) => name.toString('latin1')));
    const others = new Map<string, Set<number>>();
    const note = (key: Buffer): void => {
      const partition = layout.partitionOfKey(MARKED, key);
      if (partition === undefined) return;
      const name = key.toString('latin1', layout.prefix(MARKED, partition).length);
      if (!kept.has(name)) others.set(name, (others.get(name) ?? new Set()).add(partition));
    };
    const pattern = layout.scanPattern([MARKED], Buffer.alloc(0));
    if ((await scanKeys(this.#options, pattern, note)) !== undefined) return undefined;
    let total = 0;
    for (const [text, partitions] of others) {
      const name = Buffer.from(text, 'latin1');
      const counts = await this.counts({ name }, [...partitions]);
      const drops = await Promise.all([...partitions].map((each) => this.drop({ name }, each)));
      if (counts.includes(undefined) || drops.includes(false)) return undefined;
      for (const count of counts) total += count ?? 0;
    }
    return total;
  }

  #marksKey(name: Buffer, partition: number): Buffer {
    return this.#options.layout.key(MARKED, partition, name);
  }

  /** Reads entries and tombstones of the marks, from the first one on, within the limit. */
  #readStates(
    partition: number,
    marks: readonly Mark[],
    bytes: number,
  ): Promise<readonly Buffer[] | undefined> {
    const { layout } = this.#options;
    const hashes = new Map<string, number>();
    const keys = [layout.prefix(TOMBSTONES, partition).toBuffer()];
    const words: Buffer[] = [];
    for (const { bytes: mark, map, key } of marks) {
      const text = map.toString('latin1');
      let hash = hashes.get(text);
      if (hash === undefined) {
        hash = keys.push(layout.key(MAP, partition, map)) - 1;
        hashes.set(text, hash);
      }
      words.push(Buffer.from(`${hash}`), Buffer.from(`${mark.length - key.length}`), mark);
    }
    const limits = [bytes, WAITING_VALUE_BYTES_MAX].map((limit) => Buffer.from(`${limit}`));
    const command = READ_WAITING.headerWith(words.length, keys.length - 1);
    return commandStep(this.#options.dispatcher, partition, READ, STRINGS, command, [
      ...keys,
      ...limits,
      ...words,
    ]);
  }

  /** Resolves with whether the state that was read is on as many replicas as the maps require. */
  async #confirm(partition: number, marks: readonly Mark[]): Promise<boolean> {
    const { replicaCount } = this.#options;
    const counts = marks.map(({ map }) => replicaCount(Span.of(map)));
    return await confirmRead(this.#options, partition, Math.max(...new Set(counts)));
  }

  /** Returns what waits, perhaps nothing; undefined if this version cannot read it. */
  #changeOf(mark: Mark, entry: Buffer, tombstone: Buffer): WaitingChange | undefined {
    const { number } = mark;
    let removal: Mutation | undefined;
    if (tombstone.length >= TOMBSTONE_ORIGIN_AT) {
      removal = newChange(mark.key.length === 0 ? CLEAR : DELETE, mark);
      removal.version.set(tombstone.readInt32BE(4), tombstone.readInt32BE(0));
      if (tombstone.length > TOMBSTONE_ORIGIN_AT) {
        readOrigin(tombstone, TOMBSTONE_ORIGIN_AT, tombstone.length, removal);
      }
    }
    if (entry.length === 0) return { number, entry: undefined, removal };
    const stored = this.#stored;
    if (!stored.read(Span.of(entry))) return undefined;
    const change = entryOf(stored, mark.map, mark.key);
    if (stored.endMs === 0 || stored.endMs > this.#options.time.wall()) {
      return { number, entry: change, removal };
    }
    removal = newChange(DELETE, mark);
    removal.version.copyFrom(change.version).stepBack();
    removal.maker = change.maker;
    removal.path.copyFrom(change.path);
    return { number, entry: undefined, removal };
  }
}

function newChange(operation: Mutation['operation'], { map, key }: Mark): Mutation {
  const change = new Mutation();
  change.operation = operation;
  change.name.set(map, 0, map.length);
  change.key.set(key, 0, key.length);
  return change;
}

/** Reads marks, each followed by its number. */
function marksIn(found: readonly Buffer[]): Mark[] {
  const marks: Mark[] = [];
  for (let at = 0; at + 1 < found.length; at += 2) {
    const bytes = found[at]!;
    const nameAt = bytes.indexOf(COLON) + 1;
    const keyAt = nameAt + Number(bytes.toString('latin1', 0, nameAt - 1));
    const map = bytes.subarray(nameAt, keyAt);
    const number = Number(found[at + 1]!.toString('latin1'));
    marks.push({ bytes, number, map, key: bytes.subarray(keyAt) });
  }
  return marks;
}
