/**
 * Lists the names of maps or queues. The store has no list of them, so that no change has to keep
 * one: each call scans the keys of all primaries, in short steps, and keeps the `count` names with
 * the lowest hashes after that of the place. Then it reads the sizes of these.
 *
 * A scan is complete only within one run of a server, and while no slot moves to another server. So
 * a scan begins anew if its connection was replaced or a partition has another primary at its end.
 * A key that moves while its slot is still migrating may be missed.
 *
 * A place is the SHA-1 of the last name, followed by zeros.
 */
import { createHash } from 'node:crypto';
import { isReservedMap } from '../../base/reserved-map.ts';
import { Span } from '../../base/span.ts';
import {
  LIST_PLACE_BYTES,
  LISTED,
  type NameKind,
  type NameReceiver,
  NOT_COUNTED,
  type Receiver,
} from '../engine.ts';
import { header } from './command-buffer.ts';
import type { Dispatcher } from './dispatcher.ts';
import { AWAY, type Failure } from './failure.ts';
import { ITEMS, type KeyKind, type Layout, MAP, RETURNED } from './layout.ts';
import type { Operation } from './operation.ts';
import type { Primary } from './primary.ts';
import { COUNT } from './queue-scripts.ts';
import type { Results } from './redis-result.ts';
import { ARRAY, BULK, kindSet, type Reply } from './reply.ts';
import { NUMBER, READ, runStep } from './run-step.ts';
import type { Servers } from './servers.ts';

/** Maximum number of times that the keys are scanned in a call. */
const SCANS_MAX = 5;
/** Number of keys that one SCAN looks at. */
const KEYS_PER_SCAN = 500;
/** Maximum number of sizes that are read at the same time. */
const SIZES_AT_ONCE = 1000;
const SCAN = header(6, 'SCAN');
const MATCH = Buffer.from('MATCH');
const COUNT_WORD = Buffer.from('COUNT');
const HLEN = header(2, 'HLEN');

interface ScannedNamesOptions {
  readonly dispatcher: Dispatcher;
  readonly layout: Layout;
  readonly servers: Pick<Servers, 'primaryOf'>;
  readonly results: Results;
  /** Notifies the receiver that the operation has no result. */
  fail(receiver: Receiver, failure: Failure): void;
}

/** A name that was found, and the partitions that have a key of it. */
interface FoundName {
  readonly name: Buffer;
  /** A bit for each partition. */
  readonly partitions: Uint8Array;
  size: number;
}

export function listNames(
  options: ScannedNamesOptions,
  kind: NameKind,
  prefix: Span,
  place: Span,
  count: number,
  receiver: NameReceiver,
): void {
  const list = new NameList(options, kind, prefix.toBuffer(), place.toBuffer(), count);
  void list.read().then((failure) => {
    if (failure !== undefined) options.fail(receiver, failure);
    else list.deliver(receiver);
  });
}

/** One call. */
class NameList {
  readonly #options: ScannedNamesOptions;
  readonly #kinds: readonly KeyKind[];
  readonly #pattern: Buffer;
  readonly #count: number;
  /** The places before the first name, and of the last name that may be kept, in hexadecimal. */
  readonly #after: string;
  #last = LAST;
  /** By place. */
  readonly #found = new Map<string, FoundName>();

  constructor(
    options: ScannedNamesOptions,
    kind: NameKind,
    prefix: Buffer,
    place: Buffer,
    count: number,
  ) {
    this.#options = options;
    this.#kinds = kind === 'map' ? [MAP] : [ITEMS, RETURNED];
    this.#pattern = options.layout.scanPattern(this.#kinds, prefix);
    this.#after = place.toString('hex');
    this.#count = count;
  }

  /** Finds the names and their sizes. Resolves with the reason if it fails. */
  async read(): Promise<Failure | undefined> {
    for (let left = SCANS_MAX; left > 0; left--) {
      const primaries = this.#primaries();
      const firsts = new Map(primaries.map((primary, partition) => [primary, partition]));
      const ends = await Promise.all([...firsts.values()].map((each) => this.#scan(each)));
      const failure = ends.find((end) => end !== MOVED && end !== COMPLETE);
      if (failure !== undefined) return failure;
      const isSame = this.#primaries().every((each, partition) => each === primaries[partition]);
      if (isSame && !ends.includes(MOVED)) return this.#readSizes(this.#keepLowest());
    }
    return AWAY;
  }

  /** Passes the names that have entries or items, and the result. */
  deliver(receiver: NameReceiver): void {
    const { results } = this.#options;
    const name = new Span();
    for (const { name: bytes, size } of this.#found.values()) {
      if (size > 0) receiver.onName(name.set(bytes, 0, bytes.length), size, NOT_COUNTED);
    }
    const result = results.begin(LISTED);
    if (this.#last !== LAST) {
      result.place.set(Buffer.from(this.#last, 'hex'), 0, LIST_PLACE_BYTES);
    }
    results.deliver(receiver, result);
  }

  /** The primary of each partition. */
  #primaries(): (Primary | undefined)[] {
    const { layout, servers } = this.#options;
    return Array.from({ length: layout.partitionCount }, (_, partition) =>
      servers.primaryOf(layout.slotOf(partition)),
    );
  }

  /** Scans all keys of the primary of the partition. */
  async #scan(partition: number): Promise<Failure | typeof MOVED | typeof COMPLETE> {
    let connection: Operation['connection'];
    let cursor = '0';
    do {
      const step = await this.#scanStep(partition, cursor);
      if (typeof step === 'number') return step;
      connection ??= step.connection;
      if (step.connection !== connection) return MOVED;
      cursor = step.cursor;
    } while (cursor !== '0');
    return COMPLETE;
  }

  #scanStep(partition: number, cursor: string): Promise<ScanStep | Failure> {
    return new Promise((resolve) => {
      runStep<ScanStep>(this.#options.dispatcher, {
        partition,
        traits: READ,
        reading: {
          replyKinds: ARRAYS,
          read: (reply, { connection }) => ({ cursor: this.#readKeys(reply), connection }),
        },
        write: (commands) => {
          commands.begin(SCAN);
          commands.text(cursor);
          commands.bytes(MATCH);
          commands.bytes(this.#pattern);
          commands.bytes(COUNT_WORD);
          commands.number(KEYS_PER_SCAN);
        },
        onDone: resolve,
        onFailed: resolve,
      });
    });
  }

  /** Keeps the names of the keys in the reply. Returns the next cursor. */
  #readKeys(reply: Reply): string {
    const cursor = reply.next().text;
    for (reply.next(); reply.next().kind === BULK; ) {
      const { bytes, start, end } = reply.bytes;
      this.#keep(bytes.subarray(start, end));
    }
    return cursor;
  }

  #keep(key: Buffer): void {
    const { layout } = this.#options;
    for (const kind of this.#kinds) {
      const partition = layout.partitionOfKey(kind, key);
      if (partition === undefined) continue;
      const name = key.subarray(layout.prefix(kind, partition).length);
      if (kind === MAP && isReservedMap(name)) return;
      const place = placeOf(name);
      if (place <= this.#after || place > this.#last) return;
      let found = this.#found.get(place);
      if (found === undefined) {
        const partitions = new Uint8Array(Math.ceil(layout.partitionCount / 8));
        found = { name: Buffer.from(name), partitions, size: 0 };
        this.#found.set(place, found);
        if (this.#found.size >= 2 * this.#count) this.#keepLowest();
      }
      found.partitions[partition >> 3]! |= 1 << (partition & 7);
    }
  }

  /** Drops all but the `count` names with the lowest places. Returns those that remain. */
  #keepLowest(): readonly FoundName[] {
    const places = [...this.#found.keys()].sort();
    for (const place of places.splice(this.#count)) this.#found.delete(place);
    if (places.length === this.#count) this.#last = places.at(-1)!;
    return places.map((place) => this.#found.get(place)!);
  }

  async #readSizes(names: readonly FoundName[]): Promise<Failure | undefined> {
    const { layout } = this.#options;
    let steps: Promise<Failure | undefined>[] = [];
    for (const found of names) {
      for (let partition = 0; partition < layout.partitionCount; partition++) {
        if (((found.partitions[partition >> 3]! >> (partition & 7)) & 1) === 0) continue;
        steps.push(this.#readSize(found, partition));
        if (steps.length < SIZES_AT_ONCE) continue;
        const failure = (await Promise.all(steps)).find((each) => each !== undefined);
        if (failure !== undefined) return failure;
        steps = [];
      }
    }
    return (await Promise.all(steps)).find((each) => each !== undefined);
  }

  /** Adds the number of entries or items in the partition. */
  #readSize(found: FoundName, partition: number): Promise<Failure | undefined> {
    const { dispatcher, layout } = this.#options;
    const isOfMaps = this.#kinds[0] === MAP;
    return new Promise((resolve) => {
      runStep(dispatcher, {
        partition,
        traits: READ,
        reading: NUMBER,
        write: (commands) => {
          commands.begin(isOfMaps ? HLEN : COUNT.header);
          for (const kind of this.#kinds) commands.bytes(layout.key(kind, partition, found.name));
        },
        onDone: (size) => {
          found.size += size;
          resolve(undefined);
        },
        onFailed: resolve,
      });
    });
  }
}

/** The ends of a scan: its keys may have moved meanwhile, or it is complete. */
const MOVED = 'moved';
const COMPLETE = 'complete';
const ARRAYS = kindSet(ARRAY);
/** A place after all names. */
const LAST = 'g';

interface ScanStep {
  readonly cursor: string;
  /** The connection that it was read from. */
  readonly connection: Operation['connection'];
}

function placeOf(name: Buffer): string {
  return createHash('sha1')
    .update(name)
    .digest('hex')
    .padEnd(2 * LIST_PLACE_BYTES, '0');
}
