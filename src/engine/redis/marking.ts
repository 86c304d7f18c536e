/**
 * The state that changes of maps with a reference to a replication use: the references, the numbers
 * of changes, and the listeners for marks (../marked-changes.ts). Tested by marked-maps.spec.ts.
 */
import { NameCache } from '../../base/name-cache.ts';
import { isReservedMap } from '../../base/reserved-map.ts';
import type { Span } from '../../base/span.ts';
import type { MapReference, MapReferences, MarkedPublisher } from '../marked-changes.ts';
import type { ServerTime } from './server-time.ts';

/** A map with a reference. */
export interface MarkedMap {
  readonly reference: MapReference;
  /** The beginning of its marks: the length of its name, a colon, its name. */
  readonly prefix: Buffer;
}

export class Marking {
  readonly #time: ServerTime;
  #references: MapReferences | undefined;
  /** All publishers. */
  publishers: readonly MarkedPublisher[] = [];
  readonly #maps = new NameCache((map) => this.#read(map));
  #lastNumber = 0;
  /** Called when changes through this member have marked keys of the partition. */
  onMarked: (partition: number) => void = () => {};
  /** Called when a change got no mark, as there was no room. */
  onNotMarked: (publisher: MarkedPublisher) => void = () => {};

  constructor(time: ServerTime) {
    this.#time = time;
  }

  set references(references: MapReferences | undefined) {
    this.#references = references;
    this.#maps.clear();
  }

  /** Whether any map may have a reference. */
  get isActive(): boolean {
    return this.#references !== undefined;
  }

  /** Returns the map if it has a reference. */
  of(map: Span): MarkedMap | undefined {
    return this.#references === undefined ? undefined : this.#maps.of(map);
  }

  /** Returns the number of the next change. */
  nextNumber(): number {
    this.#lastNumber = Math.max(this.#lastNumber + 1, this.#time.wall() * 1000);
    return this.#lastNumber;
  }

  #read(map: Buffer): MarkedMap | undefined {
    const reference = isReservedMap(map) ? undefined : this.#references?.(map);
    return reference && { reference, prefix: markPrefix(map) };
  }
}

/** Returns the beginning of the marks and of the fields of tombstones of a map. */
function markPrefix(map: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${map.length}:`), map]);
}
