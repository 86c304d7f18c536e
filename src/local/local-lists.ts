/**
 * Lists of maps, keys and entries for the program that embeds the member, as async iterators. Each
 * short call of the engine has a turn of the event loop, so that a long list delays nothing else.
 * Tested by local-results.spec.ts.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Span } from '../base/span.ts';
import { LIST_COUNT_MAX, LIST_START, NOT_COUNTED, type Receiver } from '../engine/engine.ts';
import { checkOptions } from './known-options.ts';
import type { LocalData } from './local-data.ts';
import type { LocalName } from './local-name.ts';
import type { StoredBytes, StoredEntry } from './local-values.ts';
import type { BytesOrText } from './plain-bytes.ts';

/** Elements to list. */
export interface ListOptions {
  /** Lists only the names or keys that begin with these bytes; up to 65,536. */
  readonly prefix?: BytesOrText;
}

/** A map in a list. */
export interface ListedMap {
  /** The bytes of the name. */
  readonly name: StoredBytes;
  /** Number of entries, above 0. */
  readonly size: number;
  /** Bytes that the entries occupy; undefined if they are stored on servers. */
  readonly bytes: number | undefined;
}

/** An entry in a list. */
export interface ListedEntry extends Omit<StoredEntry, 'value' | 'text' | 'json'> {
  /** The bytes of the key. */
  readonly key: StoredBytes;
  /** The stored bytes; undefined if there are more than 1 MiB: then `get` returns them. */
  readonly value: StoredBytes | undefined;
  /** Number of bytes of the value. */
  readonly length: number;
}

/** Lists maps. @internal */
export function listMaps(data: LocalData, options: ListOptions) {
  const beginning = prefixOf(data, options);
  return inCalls<ListedMap>(data, 'maps', (place, add, { onResult }) => {
    const onName = (name: Span, size: number, bytes: number) =>
      add({
        name: name.toBuffer() as StoredBytes,
        size,
        bytes: bytes === NOT_COUNTED ? undefined : bytes,
      });
    data.engine.names('map', beginning, place, LIST_COUNT_MAX, { onName, onResult });
  });
}

/** Lists the keys of a map. @internal */
export function listKeys(data: LocalData, map: LocalName, options: ListOptions) {
  const beginning = prefixOf(data, options);
  return inCalls<StoredBytes>(data, map.shown, (place, add, { onResult }) => {
    const onEntry = (key: Span) => add(key.toBuffer() as StoredBytes);
    data.engine.entries(map.span, beginning, place, LIST_COUNT_MAX, {
      hasNoValues: true,
      onEntry,
      onResult,
    });
  });
}

/** Lists the entries of a map. @internal */
export function listEntries(data: LocalData, map: LocalName, options: ListOptions) {
  const beginning = prefixOf(data, options);
  return inCalls<ListedEntry>(data, map.shown, (place, add, { onResult }) => {
    data.engine.entries(map.span, beginning, place, LIST_COUNT_MAX, {
      onEntry(key, entry, length) {
        const found = data.foundEntry(entry)!;
        const value = found.value.length === length ? found.value : undefined;
        add({ ...found, key: key.toBuffer() as StoredBytes, value, length });
      },
      onResult,
    });
  });
}

/** Returns a copy of the prefix. */
function prefixOf(data: LocalData, options: ListOptions): Span {
  checkOptions(options, ['prefix']);
  const { prefix = '' } = options;
  return data.prefixes.copyOf(prefix);
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
