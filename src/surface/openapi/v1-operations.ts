/** The operations of `v1` on maps. Tested by openapi-document.spec.ts. */
import {
  BYTES,
  COUNT,
  COUNT_OR_NULL,
  type DescribedResponse,
  empty,
  json,
  named,
  type OperationParts,
  object,
  type Schema,
  TEXT,
} from './schema.ts';

const ANY = { ...BYTES, '*/*': {} };
const NUMBER_TEXT = { 'text/plain': { schema: { type: 'string', pattern: '^-?[0-9]+$' } } };
const ETAG = field('The version of the entry, in quotes');
const SECONDS = { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 };
const TIME_TO_LIVE = field('Seconds until the entry expires; missing if it does not', SECONDS);
const MAX_IDLE = field('Seconds without use after which the entry expires', SECONDS);
const ENTRY = { ETag: ETAG };
const VALUE = { ...ENTRY, 'Grid-Time-To-Live': TIME_TO_LIVE, 'Grid-Max-Idle': MAX_IDLE };

const LINES = { 'application/x-ndjson': {} };

/** The lines of a request exceed a limit. */
const LINES_TOO_LONG = json(
  'There are more than 10,000 lines, or one is longer than 1 MiB; empty if the content is longer ' +
    'than `body-bytes-max`',
  named('Failure'),
);

const CONDITIONS = {
  'If-Match': field('Succeed only for an entry with one of these tags; `*` for any entry'),
  'If-None-Match': field('Fail for an entry with one of these tags; `*` for any entry'),
};

/** The entry does not meet If-Match or If-None-Match. */
const CHANGED: DescribedResponse = {
  ...json('The entry does not meet the conditions; nothing was changed', named('Failure')),
  headers: ENTRY,
};

const LIST = 'Elements have no order. The last line is a cursor: null, or a text if more is left.';

export const V1_OPERATIONS: OperationParts = {
  listMaps: {
    description: `Lists the maps that the user may read. ${LIST}`,
    responses: { 200: lines('A line for each map: its name, its size and its bytes') },
  },
  listKeys: { description: LIST, responses: { 200: lines('A line for each key') } },
  listEntries: {
    description: LIST,
    responses: {
      200: lines(
        'A line for each entry: key, etag, contentType, length, value, timeToLiveSeconds and ' +
          'maxIdleSeconds; the value is missing if the line would be longer than 1 MiB',
      ),
    },
  },
  describeMap: {
    responses: {
      200: json('The map; also if it has no entries', {
        ...object({ size: COUNT, bytes: COUNT_OR_NULL }, { name: TEXT, nameBase64: TEXT }),
        description: 'The name is in base64 if it is not UTF-8; bytes are null on servers',
      }),
    },
  },
  mapSize: {
    responses: { 200: { description: 'The number of entries, in decimal', content: NUMBER_TEXT } },
  },
  clearV1Map: { responses: { 204: empty('Done') } },
  getV1Entry: {
    description: 'The content type is the one that was sent with the value, or missing.',
    fields: {
      ...CONDITIONS,
      Range: field('One range of bytes, such as `bytes=0-99`'),
      'If-Range': field(
        'Send the range only for an entry with this tag, otherwise the whole value',
      ),
    },
    responses: {
      200: { description: 'The value; may be empty', content: ANY, headers: VALUE },
      206: {
        description: 'A range of the value',
        content: ANY,
        headers: { ...VALUE, 'Content-Range': field('The range and the length of the value') },
      },
      304: { description: 'The entry has a tag of If-None-Match', headers: ENTRY },
      412: CHANGED,
      416: {
        ...json('No byte of the value is in the range', named('Failure')),
        headers: { 'Content-Range': field('The length of the value') },
      },
    },
  },
  putV1Entry: {
    description: 'The value is the content of the request, with its content type.',
    content: ANY,
    fields: {
      ...CONDITIONS,
      'Grid-Time-To-Live': field('Seconds until the entry expires; 0 for never', SECONDS),
      'Grid-Max-Idle': field('Seconds without use after which it expires; 0 for never', SECONDS),
    },
    responses: {
      201: { description: 'The entry is new', headers: ENTRY },
      204: { description: 'The entry has replaced another one', headers: ENTRY },
      412: CHANGED,
    },
  },
  deleteV1Entry: {
    fields: CONDITIONS,
    responses: { 204: empty('Done, also if there was no entry'), 412: CHANGED },
  },
  addToEntry: {
    description:
      'Adds `by`, 1 by default, to the entry, which is 0 if it does not exist. The content is a form.',
    content: {
      'application/x-www-form-urlencoded': {
        schema: object({}, { by: { type: 'string', pattern: '^-?[0-9]{1,19}$' } }),
      },
    },
    responses: {
      200: { description: 'The sum, in decimal', content: NUMBER_TEXT, headers: ENTRY },
    },
  },
  lookUpEntries: {
    description: 'Each line is an object with a key, or keyBase64 if it is not UTF-8.',
    content: LINES,
    responses: {
      200: lines('Lines in the same order: an entry as in a list, or absent; may be empty'),
      413: LINES_TOO_LONG,
    },
  },
  changeEntries: {
    description:
      'Each line is an object: op (set, delete or add), key, value, contentType, timeToLiveSeconds, ' +
      'maxIdleSeconds, ifMatch, ifNoneMatch and by, as far as its operation has a use for them. Bytes ' +
      'that are not UTF-8 are in keyBase64 and valueBase64. Each line is done by itself, in order.',
    content: LINES,
    responses: {
      200: lines('A line for each: status, etag, value of an addition; may be empty'),
      207: lines('Some lines have a status of 400 or more and a message; 503 may have an outcome'),
      413: LINES_TOO_LONG,
    },
  },
};

function lines(description: string): DescribedResponse {
  return { description, content: LINES };
}

function field(description: string, schema: Schema = TEXT): Schema {
  return { description, schema };
}
