/**
 * Lists the names of maps or queues. The store has no list of them, so that no change has to keep
 * one: each call scans all keys (scanned-keys.ts) and keeps the `count` names with the lowest hashes
 * after that of the place. Then it reads the sizes of these.
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
import type { Failure } from './failure.ts';
import { ITEMS, type KeyKind, MAP, RETURNED } from './layout.ts';
import { COUNT } from './queue-scripts.ts';
import type { Results } from './redis-result.ts';
import { NUMBER, READ, runStep } from './run-step.ts';
import { type KeyScanOptions, scanKeys } from './scanned-keys.ts';

/** Maximum number of sizes that are read at the same time. */
const SIZES_AT_ONCE = 1000;
const HLEN = header(2, 'HLEN');

interface ScannedNamesOptions extends KeyScanOptions {
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
    const failure = await scanKeys(this.#options, this.#pattern, (key) => this.#keep(key));
    return failure ?? (await this.#readSizes(this.#keepLowest()));
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

/** A place after all names. */
const LAST = 'g';

function placeOf(name: Buffer): string {
  return createHash('sha1')
    .update(name)
    .digest('hex')
    .padEnd(2 * LIST_PLACE_BYTES, '0');
}
