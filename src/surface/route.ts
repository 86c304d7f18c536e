/**
 * A row of the table of the surface: one method of one path, with everything that depends on it.
 * The router, the checks of a request, the client's commands and the pages read it. Rows are data:
 * each part has a file of them (`*-routes.ts`) that imports no code, and beside it a file with an
 * action for each (`*-actions.ts`); src/member/routes.ts lists them all. The properties that all
 * rows of a kind have are stated once, in the functions here. Tested by surface.spec.ts.
 */

import type { Compatibility } from '../config/compatibility.ts';
import type { EndpointGroup } from '../config/endpoint-group.ts';
import type { Kind } from '../security/permissions.ts';

export interface Route {
  /** POST below `rest/` also serves PUT, and GET also HEAD if the path has no row for it. */
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  /**
   * Path after `/{segment}/`. A part in braces is variable and not empty; `{key}` takes all the
   * rest, except one trailing slash, and may be empty below `v1/`, where its action refuses it. A
   * last part `*` is every path of the table that begins so, and every unknown one.
   */
  readonly path: string;
  readonly group: EndpointGroup;
  readonly permission: Permission;
  readonly summary: string;
  /** Statuses of the action itself; statusesOf adds those of the checks before it. */
  readonly statuses: readonly [number, ...number[]];
  /** Parameters; those in the body in order, after the credentials. Others are ignored. */
  readonly parameters: readonly Parameter[];
  /**
   * Whether it changes maps or queues; such operations are refused while the cluster is PASSIVE.
   */
  readonly changesData: boolean;
  /** Whether it may wait for an item or another member; its action decides which calls do. */
  readonly mayWait: boolean;
  /**
   * The part of the path in the audit log: the whole path, or all but the last part, which is an
   * item.
   */
  readonly audited: 'path' | 'name';
  /**
   * Bytes that its content may have beyond `body-bytes-max`; such content is urgent (in-flight.ts).
   */
  readonly furtherContentBytes: number;
  /** Whether it is served before the member has started. */
  readonly isServedWhileStarting: boolean;
  /** Whether other methods of the path are answered 400 because a further part is missing. */
  readonly isIncomplete: boolean;
  /** Whether the last part of the path is accepted in any case of its letters. */
  readonly isInAnyCase: boolean;
  /**
   * The only dialect that has the row, instead of the common one of that path and method, if any.
   * Its path is one of the common rows; undefined for a row of all dialects.
   */
  readonly dialect: Compatibility | undefined;
  /** The client's command, without the words for its parameters; empty if it has none. */
  readonly command: string;
  /** The client's description of the command, if the summary does not describe it; else empty. */
  readonly about: string;
}

export interface Parameter {
  readonly name: string;
  readonly place: 'path' | 'query' | 'body';
  /** A document is a text that the client reads from a file or from standard input. */
  readonly kind: 'text' | 'integer' | 'document';
  /** Maximum length of the decoded text, in bytes. */
  readonly bytesMax: number;
  /** Range of an integer. */
  readonly least: number;
  readonly most: number;
  /** Whether it may be empty. */
  readonly isOptional: boolean;
}

/** Who may use an operation. */
export interface Permission {
  /**
   * - `none`: anyone
   * - `health`: a user, if HTTP Basic is required for health
   * - `user`: a user, if HTTP Basic is required
   * - `credentials`: a client with the cluster's credentials in the body
   * - `member`: another member, with these credentials in HTTP Basic if security is on
   */
  readonly login: 'none' | 'health' | 'user' | 'credentials' | 'member';
  /** Kind of data on which a user needs the action, if permissions are configured. */
  readonly kind: Kind | undefined;
  /** Bits of the actions that the user needs, all of them. */
  readonly need: number;
}

/** Paths that begin with a text and are not resources: their group, and how they are refused. */
export interface Prefix {
  /** Beginning of the path after `/{segment}/`. */
  readonly prefix: string;
  readonly group: EndpointGroup;
  /** By default PATH_UNKNOWN. */
  readonly refusal?: UnknownPath;
  /** Refusal of a path with an empty part after the prefix, if it differs. */
  readonly nameless?: UnknownPath;
  /** The thing that the message of a POST without its name names, in the dialect that has one. */
  readonly thing?: 'map' | 'queue';
}

export type UnknownPath = 'PATH_UNKNOWN' | 'PATH_WITHOUT_NAME' | 'NAME_EMPTY';

/** Rows by the names of their actions, and prefixes. */
export type Rows = Readonly<Record<string, Route | Prefix>>;

type Stated = Pick<Route, 'method' | 'path' | 'group' | 'permission' | 'summary' | 'statuses'>;
type Further = Partial<Omit<Route, keyof Stated>>;
/** Properties of a row that its kind does not determine. */
type Others = Further & Partial<Pick<Route, 'statuses'>>;

export const ANYONE = { login: 'none', kind: undefined, need: 0 } as const;
export const USER_FOR_HEALTH = { login: 'health', kind: undefined, need: 0 } as const;
export const USER = { login: 'user', kind: undefined, need: 0 } as const;
const CREDENTIALS = { login: 'credentials', kind: undefined, need: 0 } as const;
export const MEMBER = { login: 'member', kind: undefined, need: 0 } as const;

/** Maximum length of a document, in bytes. */
const DOCUMENT_BYTES_MAX = 1_048_576;

export function route<const Row extends Stated & Further>(row: Row): Route & Row {
  return sameShape(row);
}

/**
 * Returns an object of the shape of all rows, with further properties after them: the checks of a
 * request see objects of one shape, which V8 reads without a lookup.
 */
export function sameShape<Row extends Partial<Route>>(row: Row): Route & Row {
  const blank: Route = {
    method: 'GET',
    path: '',
    group: 'DATA',
    permission: CREDENTIALS,
    summary: '',
    statuses: [200],
    parameters: [],
    changesData: false,
    mayWait: false,
    audited: 'path',
    furtherContentBytes: 0,
    isServedWhileStarting: false,
    isIncomplete: false,
    isInAnyCase: false,
    dialect: undefined,
    command: '',
    about: '',
  };
  return Object.assign(blank, row);
}

/** An operation that reads information other than maps and queues. */
export function informing(
  group: EndpointGroup,
  path: string,
  summary: string,
  others: Others = {},
): Route {
  const kind = { method: 'GET', permission: USER, statuses: [200] } as const;
  return route({ ...kind, group, path, summary, ...others });
}

/** An administrative operation: a POST with the credentials and the parameters in its body. */
export function administering(
  group: EndpointGroup,
  path: string,
  summary: string,
  others: Others = {},
): Route & { readonly permission: typeof CREDENTIALS } {
  const kind = { method: 'POST', permission: CREDENTIALS, statuses: [200] } as const;
  return route({ ...kind, group, path, summary, ...others });
}

/** A text in the body. */
export function text(name: string, bytesMax = Number.POSITIVE_INFINITY): Parameter {
  return { ...NO_RANGE, name, place: 'body', kind: 'text', bytesMax, isOptional: false };
}

/** A text in the body that may be empty. */
export function optionalText(name: string, bytesMax: number): Parameter {
  return { ...text(name, bytesMax), isOptional: true };
}

/** A configuration text in the body. */
export function document(name: string): Parameter {
  return { ...text(name, DOCUMENT_BYTES_MAX), kind: 'document' };
}

/** An integer in the path. The part may be empty, as the action refuses it. */
export function integerInPath(name: string, most: number): Parameter {
  const least = Number.NEGATIVE_INFINITY;
  return { ...text(name), place: 'path', kind: 'integer', least, most };
}

/** A text in the query, which may be missing. */
export function textInQuery(name: string): Parameter {
  return { ...optionalText(name, Number.POSITIVE_INFINITY), place: 'query' };
}

/** An integer in the query, which may be missing. */
export function integerInQuery(name: string, least: number, most: number): Parameter {
  return { ...textInQuery(name), kind: 'integer', least, most };
}

const NO_RANGE = { least: 0, most: 0 };

/**
 * Returns the possible statuses of an operation: its own, and those of the checks before it, of the
 * engine and of faults.
 */
export function statusesOf({ permission, statuses }: Route): ReadonlySet<number> {
  const { login } = permission;
  const ofLogin = login === 'none' ? [] : login === 'credentials' ? [429] : [401, 429];
  return new Set([...statuses, ...ofLogin, 400, 403, 408, 413, 415, 417, 500, 503]);
}
