/**
 * The table of refusals: the reasons why a request is not served, each with a stable code, the
 * status of the response and a text. The text names the rule, the field and the limit. It is the
 * message of the response. If the response has no content, the text is only logged and repeats
 * nothing that the client sent. At `log-level` FINE the code of every refused request is logged.
 * docs/operations.md lists the table. Tested by http/refusals.spec.ts.
 */
import { fill, REQUEST_ERRORS, type ValuesOf } from './errors.ts';

/** A refusal whose response has no content. */
function logged<const Message extends string>(status: number, message: Message) {
  return { status, message, isEmpty: true } as const;
}

/** A refusal whose response contains the message. */
function shown<const Message extends string>(status: number, message: Message) {
  return { status, message, isEmpty: false } as const;
}

/**
 * Refusals because of the head and the framing, before the path is examined (RFC 9110, RFC 9112).
 */
const UNREADABLE = {
  NOT_A_REQUEST: logged(400, 'the bytes are not a request'),
  PROTOCOL_UNKNOWN: logged(400, 'the protocol is not HTTP'),
  VERSION_UNKNOWN: logged(505, 'the version is neither HTTP/1.0 nor HTTP/1.1'),
  TARGET_INVALID: logged(400, 'the target is not a path, absolute URL or asterisk of OPTIONS'),
  SPACES_REPEATED: logged(400, 'the request line has more than one space in a row'),
  TARGET_WITH_FRAGMENT: logged(400, 'the target has a fragment'),
  TARGET_TOO_LONG: logged(
    414,
    'the target is longer than target-bytes-max, {targetBytesMax} bytes',
  ),
  AUTHORITY_INVALID: logged(400, 'the authority of the target is not a host and port'),
  HOST_MISSING: logged(400, 'Host: missing in HTTP/1.1'),
  HOST_REPEATED: logged(400, 'Host: present twice'),
  HOST_INVALID: logged(400, 'Host: not a host and port'),
  CONTENT_TYPE_REPEATED: logged(400, 'Content-Type: present twice'),
  RANGE_REPEATED: logged(400, 'Range: present twice'),
  IF_RANGE_REPEATED: logged(400, 'If-Range: present twice'),
  TIME_TO_LIVE_REPEATED: logged(400, 'Grid-Time-To-Live: present twice'),
  MAX_IDLE_REPEATED: logged(400, 'Grid-Max-Idle: present twice'),
  AUTHORIZATION_REPEATED: logged(400, 'Authorization: present twice'),
  CODING_REPEATED: logged(400, 'Transfer-Encoding: present twice'),
  CODING_UNKNOWN: logged(400, 'Transfer-Encoding: not exactly chunked'),
  CODING_IN_HTTP_1_0: logged(400, 'Transfer-Encoding: not in HTTP/1.0'),
  FIELDS_TOO_LONG: logged(
    431,
    'the fields are longer than header-bytes-max, {headerBytesMax} bytes',
  ),
  FRAMING_TOO_LONG: logged(
    431,
    'chunk extensions and trailers are longer than header-bytes-max, {headerBytesMax} bytes',
  ),
  INPUT_CUT_OFF: logged(400, 'the input ended within the request'),
  HEAD_LATE: logged(
    408,
    'the head was not received within header-timeout-seconds, {headerTimeoutSeconds} s',
  ),
  CONTENT_LATE: logged(
    408,
    'no content was received within body-progress-timeout-seconds, {bodyProgressTimeoutSeconds} s',
  ),
  CONTENT_LATE_AT_STOP: logged(
    408,
    'the member is stopping, and the rest was not received in time',
  ),
  CONTENT_CROWDED_OUT: logged(
    408,
    'ended to free memory for other requests: in-flight-bytes-max, {inFlightBytesMax} bytes',
  ),
  NO_ROOM_FOR_HEAD: shown(
    503,
    'Cannot accept a head of this length now: waiting heads and polls may use half of in-flight-bytes-max, {inFlightBytesMax} bytes',
  ),
} as const;

/** Refusals because of the announced content, or of limits for content and connections. */
const UNTAKEN = {
  CONTENT_TOO_LONG: logged(413, 'the content is longer than body-bytes-max, {bodyBytesMax} bytes'),
  CONTENT_CODED: shown(
    415,
    'Cannot accept Content-Encoding "{coding}": send the content unencoded',
  ),
  EXPECTATION_UNKNOWN: shown(417, 'Cannot meet Expect "{expectation}"'),
  NO_ROOM_FOR_CONTENT: shown(
    503,
    'Cannot accept the content of a request: all connections together may have {bytesMax} bytes in flight',
  ),
  NO_ROOM_TO_WAIT: shown(
    503,
    'Cannot wait for an item with a path of this length now: waiting heads and polls may use half of in-flight-bytes-max, {bytesMax} bytes',
  ),
  NO_ROOM_FOR_ANSWERS: shown(
    503,
    'Cannot accept a value from the servers: all connections together may have {bytesMax} bytes in flight',
  ),
  TOO_MANY_CONNECTIONS: shown(503, 'Cannot accept another connection: {connectionsMax} are open'),
} as const;

/** Refusals because of the path and the method. */
const UNROUTED = {
  ESCAPE_INVALID: logged(400, 'an invalid percent-escape in the path'),
  METHOD_NOT_SERVED: logged(501, 'the method is not served on any path'),
  REST_DISABLED: shown(
    403,
    'Cannot serve this path: REST is disabled; {setting} or --enable-group with a group enables it',
  ),
  GROUP_DISABLED: shown(
    403,
    'Cannot serve this path: endpoint group {group} is disabled; {setting} or --enable-group {group} enables it',
  ),
  PATH_UNKNOWN: logged(404, 'the path does not exist'),
  PATH_WITHOUT_NAME: logged(
    400,
    'the path has no name of a map, key or queue, or an unknown name below health',
  ),
  PATH_INCOMPLETE: logged(400, 'the path is incomplete for the method'),
  NAME_MISSING: shown(400, 'Missing {thing} name'),
  NAME_EMPTY: shown(400, 'Cannot use this path: the name or the key is empty'),
  METHOD_NOT_ALLOWED: shown(405, 'Cannot {action}: allowed methods are {methods}'),
  RECOVERING: shown(503, 'Cannot serve this path yet: the member is recovering its data'),
  JOINING: shown(503, 'Cannot serve this path yet: the member is joining its cluster'),
} as const;

/**
 * Refusals because of the host in the client's URL, or of the page that a browser sends the request
 * for.
 */
const OF_OTHER_SITES = {
  HOST_NOT_ALLOWED: shown(
    403,
    'Cannot serve Host "{host}": not a name of this machine; if a proxy forwards the name that its ' +
      'clients use, list it in {setting} or --allowed-hosts',
  ),
  ORIGIN_NOT_ALLOWED: shown(
    403,
    'Cannot serve a page of origin "{origin}": it is neither the Host of the request nor listed in {setting}',
  ),
  SITE_NOT_ALLOWED: shown(
    403,
    'Cannot serve a page of another site: it needs an Origin that {setting} lists',
  ),
} as const;

/**
 * Refusals because of the user, or of the credentials in the content of an administrative request.
 */
const UNTRUSTED = {
  LOGIN_MISSING: shown(401, 'Cannot {action}: a user and a password are required'),
  LOGIN_WRONG: shown(401, 'Cannot {action}: user or password is wrong'),
  LOGIN_THROTTLED: shown(429, 'Cannot {action}: too many logins failed, try again in {seconds} s'),
  NOT_PERMITTED: shown(403, 'Cannot {action}: the user lacks the permission'),
  CREDENTIALS_WRONG: shown(403, 'unauthenticated'),
  CREDENTIALS_THROTTLED: shown(429, 'Cannot log in now: try again in {seconds} s'),
} as const;

/** Refusals because of parameter values, or of the member's configuration. */
const UNFIT = {
  PARAMETERS_MISSING: shown(400, 'This endpoint expects at least {count} parameters'),
  PARAMETER_UNREADABLE: shown(400, 'Cannot read parameter {number}: {reason}'),
  QUERY_NOT_ALLOWED: shown(400, 'Cannot {action}: the path has no query, the request has {seen}'),
  PARAMETER_UNKNOWN: shown(400, 'Cannot use the parameter "{name}": known are {known}'),
  PARAMETER_REPEATED: shown(400, 'Cannot use the parameter "{name}": it is repeated'),
  PARAMETER_CODED: shown(400, 'Cannot use the parameter "{name}": its value has an invalid escape'),
  PARAMETER_INVALID: shown(400, 'Cannot use {name}={seen}: not {expected}'),
  PARAMETER_MISSING: shown(400, 'Cannot do this without the parameter "{name}"'),
  CP_GROUP_METADATA: shown(400, 'Cannot use group METADATA: it has no sessions and no locks'),
  CP_NAME_TOO_LONG: shown(
    400,
    'Cannot use a {thing} of {bytes} bytes: the limit is {bytesMax} bytes',
  ),
  CP_UUID_INVALID: shown(400, 'Cannot remove CP member {seen}: not a uuid'),
  CP_MEMBER_UNKNOWN: shown(400, 'Cannot remove CP member {seen}: there is no such CP member'),
  CP_GROUP_INVALID: shown(400, 'Cannot remove CP group {group}: METADATA, or no such group'),
  CP_SESSION_INVALID: shown(400, 'Cannot close CP session {seen}: not a number'),
  CP_SESSION_NONE: shown(400, 'Cannot close CP session {id}: there is no such session'),
  FORM_TOO_LONG: shown(400, 'Cannot read the parameters: they are longer than 65536 bytes'),
  LINES_TOO_MANY: shown(413, 'Cannot read the lines: there are more than {linesMax}'),
  LINE_TOO_LONG: shown(413, 'Cannot read line {number}: it is longer than {bytesMax} bytes'),
  LINE_INVALID: shown(400, 'Cannot use line {number}: {reason}'),
  ENTITY_TAGS_INVALID: shown(
    400,
    'Cannot use {field}: {seen}: neither * nor 1 to 16 entity tags in quotes',
  ),
  LIFETIME_INVALID: shown(400, 'Cannot use {field}: {seen}: not an integer from 0 to 2147483647'),
  POLL_TIME_INVALID: shown(400, 'Cannot poll for {seen} seconds: not an integer up to {most}'),
  STATE_INVALID: shown(400, 'Cannot change to state {seen}: not one of {states}'),
  VERSION_INVALID: shown(400, 'Cannot change to version {seen}: not a cluster version'),
  LOG_LEVEL_INVALID: shown(400, "Invalid level '{seen}', known levels are: {levels}"),
  CONFIG_INVALID: shown(400, '{faults}'),
  JOIN_DISABLED: shown(400, 'TCP-IP join mechanism is not enabled in the cluster.'),
  MEMBERS_MISSING: shown(400, 'Cannot change the member list to {seen}: it names no member'),
} as const;

/**
 * Refusals because of the engine, the disk or the cluster, or of a failure of the member itself.
 */
const UNDONE = {
  QUEUE_FULL: logged(503, 'the queue is full'),
  CP_NOT_FOUND: logged(404, 'there is no such CP group or member'),
  CP_LOCK_NOT_HELD: shown(409, 'Cannot release lock {lock}: session {session} does not hold it'),
  CP_LOCK_FREE: shown(404, 'Cannot get the holder of lock {lock}: nobody holds it'),
  ENTRY_ABSENT: shown(404, 'Cannot {action}: there is no such entry'),
  ENTRY_CHANGED: shown(412, 'Cannot {action}: the entry does not meet If-Match or If-None-Match'),
  RANGE_OUTSIDE: shown(416, 'Cannot {action}: no byte of {range} is among {length} bytes'),
  ...REQUEST_ERRORS,
  WAN_MESSAGE_TOO_LONG: logged(
    REQUEST_ERRORS.WAN_MESSAGE_TOO_LONG.status,
    REQUEST_ERRORS.WAN_MESSAGE_TOO_LONG.message,
  ),
  FAILED: logged(500, 'an unexpected failure; see the log'),
} as const;

export const REFUSALS = {
  ...UNREADABLE,
  ...UNTAKEN,
  ...UNROUTED,
  ...OF_OTHER_SITES,
  ...UNTRUSTED,
  ...UNFIT,
  ...UNDONE,
} as const;

export type RefusalCode = keyof typeof REFUSALS;

/** The codes whose texts have only HTTP limits as values. */
export type UnreadableCode = keyof typeof UNREADABLE;

/** The values for the placeholders of a refusal's text. */
export type RefusalValues<Code extends RefusalCode> = ValuesOf<(typeof REFUSALS)[Code]['message']>;

/** Returns the text of a refusal with these values. */
export function refusalText<Code extends RefusalCode>(
  code: Code,
  values: RefusalValues<Code>,
): string {
  return fill(REFUSALS[code].message, values);
}

/** Whether the response has no content, because the text is only logged. */
export function isEmptyRefusal(code: RefusalCode): boolean {
  const row = REFUSALS[code];
  return 'isEmpty' in row && row.isEmpty;
}
