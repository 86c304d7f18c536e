/** What an error that a server replies with says of its command. */
import type { ServerAddress } from '../../base/server-address.ts';

/** The command was surely not done, and may be sent again: at once, elsewhere, or in a moment. */
export const AGAIN = 1;
/** The slot has another primary, which the reply names. */
export const MOVED = 2;
/** This one command belongs to another server, which the reply names. */
export const ASK = 3;
/** The server does not know the script any more. */
export const NO_SCRIPT = 4;
/** There is no memory for the change; it was not made. */
export const NO_MEMORY = 5;
/** The server takes no changes now; it was not made, and will not be at once. */
export const REFUSED_CHANGE = 6;
/** The user may not do it, or is none: see isUnwritten. */
export const NO_RIGHT = 7;
/** A key has a value that this program has not written: see isUnwritten. */
export const WRONG_TYPE = 8;
/** Any other: a fault of this program, of the data, or of the server. */
export const FAULT = 9;

type ErrorKind = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;

const KINDS: ReadonlyMap<string, ErrorKind> = new Map([
  ['MOVED', MOVED],
  ['ASK', ASK],
  ['TRYAGAIN', AGAIN],
  ['CLUSTERDOWN', AGAIN],
  ['LOADING', AGAIN],
  ['MASTERDOWN', AGAIN],
  ['READONLY', AGAIN],
  ['BUSY', AGAIN],
  ['NOSCRIPT', NO_SCRIPT],
  ['OOM', NO_MEMORY],
  ['NOREPLICAS', REFUSED_CHANGE],
  ['MISCONF', REFUSED_CHANGE],
  ['NOPERM', NO_RIGHT],
  ['NOAUTH', NO_RIGHT],
  ['WRONGPASS', NO_RIGHT],
  ['WRONGTYPE', WRONG_TYPE],
]);

/** How Redis and Valkey say so of a command within a script. */
const NO_RIGHT_IN_SCRIPT = /^ERR (?:The user executing the script|ACL failure in script)/;

export function errorKind(text: string): ErrorKind {
  return KINDS.get(firstWord(text)) ?? (NO_RIGHT_IN_SCRIPT.test(text) ? NO_RIGHT : FAULT);
}

/** What an error is about: `WRONGPASS`, for example. */
export function firstWord(text: string): string {
  const end = text.indexOf(' ');
  return end < 0 ? text : text.slice(0, end);
}

/**
 * The server that MOVED or ASK names, told by the server `from`; undefined where it names none. A server
 * that does not know its own host tells the port alone.
 */
export function addressIn(text: string, from: ServerAddress): ServerAddress | undefined {
  const [, host = '', digits] = /^\S+ \d+ (.*):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === undefined || port < 1 || port > 65535) return undefined;
  return { host: isUnknownHost(host) ? from.host : host, port };
}

/** Whether a server says so that its host is that under which it was asked. */
export function isUnknownHost(host: string | null): boolean {
  return host === null || host === '' || host === '?';
}
