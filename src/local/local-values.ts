/** Values, items and entries as an embedding program gets them. Tested by local-results.spec.ts. */
import { isUtf8 } from 'node:buffer';
import { shownValue, typeFault } from '../base/argument-faults.ts';
import { GridError, reasonOf } from '../base/errors.ts';
import type { BytesOrText } from './plain-bytes.ts';

/** Buffer, or Uint8Array if the program's types have no Buffer. */
export type StoredBytes = typeof globalThis extends {
  Buffer: { alloc(size: number): infer Bytes };
}
  ? Bytes
  : Uint8Array;

/** A value of a map, or an item of a queue. */
export class StoredValue {
  /** A copy of the stored bytes. */
  readonly value: StoredBytes;
  /** The content type stored with the value; undefined for none. */
  readonly contentType: string | undefined;

  /** @internal */
  constructor(value: Buffer, contentType: string | undefined) {
    this.value = value as StoredBytes;
    this.contentType = contentType;
  }

  /** Returns the value as text. Throws GridError VALUE_UNREADABLE if it is not UTF-8. */
  text(): string {
    return readText(this.value);
  }

  /** Returns the value that the bytes describe. Throws GridError VALUE_UNREADABLE if they are not JSON. */
  json<Value = unknown>(): Value {
    return readJson(this.value) as Value;
  }
}

/** An entry of a map. */
export class StoredEntry {
  /** A copy of the stored bytes. */
  readonly value: StoredBytes;
  /** The content type stored with the value; undefined for none. */
  readonly contentType: string | undefined;
  /** Entity tag, as in the field ETag over HTTP, with its quotes. It changes with each write. */
  readonly etag: string;
  /** Time left of the time to live, in seconds, rounded up; 0 for no limit. */
  readonly timeToLiveSeconds: number;
  /** Seconds without a read or write until the entry expires; 0 for no limit. */
  readonly maxIdleSeconds: number;

  /** @internal */
  constructor(
    { value, contentType }: StoredValue,
    etag: string,
    timeToLiveSeconds: number,
    maxIdleSeconds: number,
  ) {
    this.value = value;
    this.contentType = contentType;
    this.etag = etag;
    this.timeToLiveSeconds = timeToLiveSeconds;
    this.maxIdleSeconds = maxIdleSeconds;
  }

  /** As for StoredValue. */
  text(): string {
    return readText(this.value);
  }

  /** As for StoredValue. */
  json<Value = unknown>(): Value {
    return readJson(this.value) as Value;
  }
}

/** How a map's values are written and read. @internal */
export interface ValueForm<Written, Read> {
  /** Content type if the program gives none. */
  readonly contentType: string;
  write(value: Written): BytesOrText;
  /** Throws GridError VALUE_UNREADABLE. `nameOf` returns the name of the value for the message. */
  read(found: StoredValue, nameOf: () => string): Read;
}

/** Values as they are. @internal */
export const AS_BYTES: ValueForm<BytesOrText, StoredValue> = {
  contentType: '',
  write: (value) => value,
  read: (found) => found,
};

/** The forms of values by their names in options. @internal */
export const FORMS: Readonly<Record<'text' | 'json', ValueForm<unknown, unknown>>> = {
  text: {
    contentType: 'text/plain; charset=utf-8',
    write(value) {
      if (typeof value === 'string') return value;
      throw typeFault(`Cannot use ${shownValue(value)} as value: not text`);
    },
    read: ({ value }, nameOf) => readText(value, nameOf),
  },
  json: {
    contentType: 'application/json',
    write: textOfJson,
    read: ({ value }, nameOf) => readJson(value, nameOf),
  },
};

function textOfJson(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    const reason = reasonOf(cause).split('\n', 1)[0];
    throw typeFault(`Cannot use ${shownValue(value)} as value: it has no JSON text: ${reason}`, {
      cause,
    });
  }
  if (text === undefined)
    throw typeFault(`Cannot use ${shownValue(value)} as value: it has no JSON text`);
  return text;
}

function readText(value: StoredBytes, nameOf = theValue): string {
  if (!isUtf8(value)) throw unreadable(nameOf, 'text', 'not UTF-8');
  try {
    return value.toString();
  } catch (cause) {
    // More bytes than a string can have.
    throw unreadable(nameOf, 'text', reasonOf(cause), { cause });
  }
}

function readJson(value: StoredBytes, nameOf = theValue): unknown {
  try {
    return JSON.parse(readText(value, nameOf));
  } catch (cause) {
    if (cause instanceof GridError) throw cause;
    throw unreadable(nameOf, 'JSON', reasonOf(cause), { cause });
  }
}

function theValue(): string {
  return 'the value';
}

function unreadable(nameOf: () => string, form: string, reason: string, options?: ErrorOptions) {
  return new GridError('VALUE_UNREADABLE', { value: nameOf(), form, reason }, options);
}
