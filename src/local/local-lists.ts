/**
 * Lists of maps, keys and entries for the program that embeds the member, as async iterators. Each
 * short call of the engine has a turn of the event loop, so that a long list delays nothing else.
 * Tested by local-results.spec.ts.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Span } from '../base/span.ts';
import { LIST_COUNT_MAX, LIST_START, NOT_COUNTED, type Receiver } from '../engine/engine.ts';
import type { LocalData, StoredEntry } from './local-data.ts';
import type { LocalName } from './local-name.ts';
import type { BytesOrText } from './plain-bytes.ts';

export interface ListOptions {
  /** Lists only the names or keys that begin with these bytes; up to 65,536. */
  readonly prefix?: BytesOrText;
}

/** A map in a list. */
export interface ListedMap {
  /** A Buffer with the bytes of the name. */
  readonly name: Uint8Array;
  /** Number of entries, above 0. */
  readonly size: number;
  /** Bytes that the entries occupy; undefined if they are stored on servers. */
  readonly bytes: number | undefined;
}

/** An entry in a list. */
export interface ListedEntry extends Omit<StoredEntry, 'value'> {
  /** A Buffer with the bytes of the key. */
  readonly key: Uint8Array;
  /** A Buffer with the stored bytes; undefined if there are more than 1 MiB: then `get` returns them. */
  readonly value: Uint8Array | undefined;
  /** Number of bytes of the value. */
  readonly length: number;
}

/** Lists maps. @internal */
export function listMaps(data: LocalData, { prefix = '' }: ListOptions) {
  const beginning = data.prefixes.copyOf(prefix);
  return inCalls<ListedMap>(data, 'maps', (place, add, { onResult }) => {
    const onName = (name: Span, size: number, bytes: number) =>
      add({ name: name.toBuffer(), size, bytes: bytes === NOT_COUNTED ? undefined : bytes });
    data.engine.names('map', beginning, place, LIST_COUNT_MAX, { onName, onResult });
  });
}

/** Lists the keys of a map. @internal */
export function listKeys(data: LocalData, map: LocalName, { prefix = '' }: ListOptions) {
  const beginning = data.prefixes.copyOf(prefix);
  return inCalls<Uint8Array>(data, map.shown, (place, add, { onResult }) => {
    const onEntry = (key: Span) => add(key.toBuffer());
    data.engine.entries(map.span, beginning, place, LIST_COUNT_MAX, {
      hasNoValues: true,
      onEntry,
      onResult,
    });
  });
}

/** Lists the entries of a map. @internal */
export function listEntries(data: LocalData, map: LocalName, { prefix = '' }: ListOptions) {
  const beginning = data.prefixes.copyOf(prefix);
  return inCalls<ListedEntry>(data, map.shown, (place, add, { onResult }) => {
    data.engine.entries(map.span, beginning, place, LIST_COUNT_MAX, {
      onEntry(key, entry, length) {
        const found = data.foundEntry(entry)!;
        const value = found.value.length === length ? found.value : undefined;
        add({ ...found, key: key.toBuffer(), value, length });
      },
      onResult,
    });
  });
}

/**
 * Yields the elements of a list. `call`: calls the engine to list from the place on, with a function
 * that adds an element, and the receiver of the result.
 */
async function* inCalls<Element>(
  data: LocalData,
  name: string,
  call: (place: Span, add: (element: Element) => void, receiver: Receiver) => void,
): AsyncGenerator<Element, void, undefined> {
  for (let place = LIST_START; place.length > 0; ) {
    const elements: Element[] = [];
    await nextTurn();
    place = await data.ask(
      name,
      undefined,
      (receiver) => call(place, (element) => elements.push(element), receiver),
      (answer) => Span.of(answer.place.toBuffer()),
    );
    for (const element of elements) yield element;
  }
}
