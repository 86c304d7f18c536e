/**
 * The responses of the checks before an operation, and failures that many operations share, by
 * status. Each is described once, and operations refer to it.
 * Tested by openapi-document.spec.ts.
 */
import type { Dialect } from '../dialect.ts';
import {
  COUNT,
  type DescribedResponse,
  empty,
  json,
  named,
  object,
  oneOf,
  only,
  TEXT,
} from './schema.ts';

const RETRY_AFTER = {
  description: 'Delay before the next attempt, in seconds',
  schema: COUNT,
};

const FAIL = only('fail');

export const SHARED_SCHEMAS = {
  Failure: object({ status: FAIL, message: { ...TEXT, description: 'The reason' } }),
  FailureInState: {
    ...object({ status: FAIL }, { message: TEXT, state: TEXT }),
    description: 'A failure that depends on the state of the cluster or the member',
  },
} as const;

/** A response and its name in the document. */
export interface SharedResponse {
  readonly name: string;
  readonly response: DescribedResponse;
}

/** Returns the shared responses by status. */
export function sharedResponses({ badValueStatus }: Dialect): ReadonlyMap<number, SharedResponse> {
  const responses: readonly (readonly [number, string, DescribedResponse])[] = [
    [400, 'BadRequest', failure('The request is invalid; empty if its syntax is')],
    [401, 'Unauthorized', failure('User and password are missing or wrong', CHALLENGE)],
    [
      403,
      'Forbidden',
      failure(
        'The group is disabled, the credentials are wrong, the user lacks the permission, or the ' +
          'request is from a page of another site',
      ),
    ],
    [404, 'NotFound', failure('It does not exist')],
    [408, 'RequestTimeout', empty('The request was not received in time')],
    [409, 'Conflict', failure('The operation is not possible in the present state')],
    [413, 'ContentTooLarge', empty('The content is longer than `body-bytes-max`')],
    [415, 'UnsupportedMediaType', failure('The content has a Content-Encoding')],
    [417, 'ExpectationFailed', failure('Expect has a value other than 100-continue')],
    [
      429,
      'TooManyRequests',
      failure('Too many logins have failed', { 'Retry-After': { ...RETRY_AFTER, required: true } }),
    ],
    [
      500,
      'InternalServerError',
      badValueStatus === 500
        ? failure(
            'A value is invalid, or the cluster refuses the operation; empty after an unexpected ' +
              'failure, which is in the log',
            OUTCOME,
          )
        : empty('An unexpected failure, which is in the log'),
    ],
    [
      503,
      'ServiceUnavailable',
      failure(
        'The member cannot do this now; empty if a queue is full or a health check fails',
        UNAVAILABLE,
      ),
    ],
  ];
  return new Map(responses.map(([status, name, response]) => [status, { name, response }]));
}

const CHALLENGE = {
  'WWW-Authenticate': {
    description: 'The challenge of HTTP Basic',
    schema: { ...TEXT, pattern: '^Basic ' },
    required: true,
  },
};
const OUTCOME = {
  'Grid-Outcome': {
    description: 'Whether the operation was not done, or may have been done',
    schema: oneOf('not-applied', 'unknown'),
  },
};
const UNAVAILABLE = { 'Retry-After': RETRY_AFTER, ...OUTCOME };

function failure(description: string, headers?: DescribedResponse['headers']): DescribedResponse {
  const response = json(description, named('Failure'));
  return headers === undefined ? response : { ...response, headers };
}
