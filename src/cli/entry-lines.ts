/**
 * Entries as lines of JSON, as `map export` writes them, and the requests that set them.
 * Tested by map-transfer.spec.ts.
 */
import { isUtf8 } from 'node:buffer';
import type { ContentStream, MemberRequest } from '../client/member-client.ts';
import { ROUTES } from '../member/routes.ts';
import type { Client } from './client.ts';
import { LINE_BYTES_MAX } from './line-blocks.ts';

export interface EntryLine {
  readonly key?: string;
  readonly keyBase64?: string;
  readonly value?: string;
  readonly valueBase64?: string;
  readonly contentType?: string;
  readonly contentTypeBase64?: string;
  readonly length?: number;
  readonly timeToLiveSeconds?: number;
  readonly maxIdleSeconds?: number;
}

/** Returns the line of a bulk request that sets an entry; undefined if it is too long for one. */
export function bulkLine(entry: EntryLine): Buffer | undefined {
  const { key, keyBase64, value, valueBase64, contentType, contentTypeBase64 } = entry;
  const { timeToLiveSeconds = 0, maxIdleSeconds = 0 } = entry;
  const members = {
    op: 'set',
    key,
    keyBase64,
    value,
    valueBase64,
    contentType,
    contentTypeBase64,
    timeToLiveSeconds,
    maxIdleSeconds,
  };
  const bytes = Buffer.from(`${JSON.stringify(members)}\n`);
  return bytes.length > LINE_BYTES_MAX ? undefined : bytes;
}

/** Returns the request that sets an entry with this value, whatever that of the line is. */
export function putCall(
  client: Client,
  map: string,
  entry: EntryLine,
  body: Buffer | ContentStream,
): MemberRequest {
  const { key, keyBase64, contentType = '', contentTypeBase64 } = entry;
  const bytes = Buffer.from(key ?? keyBase64 ?? '', key === undefined ? 'base64' : 'utf8');
  const type =
    contentTypeBase64 === undefined
      ? Buffer.from(contentType)
      : Buffer.from(contentTypeBase64, 'base64');
  return client.requestOf(ROUTES.putV1Entry, [map, bytes], {
    body,
    ...(type.length === 0 ? {} : { contentType: type.toString('latin1') }),
    fields: {
      'Grid-Time-To-Live': String(entry.timeToLiveSeconds ?? 0),
      'Grid-Max-Idle': String(entry.maxIdleSeconds ?? 0),
    },
  });
}

/** Returns the member of a line for bytes: the text, or with the name and `Base64` if not UTF-8. */
export function bytesMember<Name extends string>(
  name: Name,
  bytes: Buffer,
): Readonly<Partial<Record<Name | `${Name}Base64`, string>>> {
  const member = isUtf8(bytes)
    ? { [name]: bytes.toString() }
    : { [`${name}Base64`]: bytes.toString('base64') };
  return member as Partial<Record<Name | `${Name}Base64`, string>>;
}
