/** Classifies the error replies of servers by what they mean for the command. */
import type { ServerAddress } from '../../base/server-address.ts';

/**
 * The command was certainly not done and may be sent again: at once, elsewhere, or shortly after.
 */
export const AGAIN = 1;
/** The slot has another primary, which the reply names. */
export const MOVED = 2;
/** Only this command belongs to another server, which the reply names. */
export const ASK = 3;
/** The server does not have the script. */
export const NO_SCRIPT = 4;
/** The server has no memory for the change, which was not made. */
export const NO_MEMORY = 5;
/** The server accepts no changes for now; this one was not made. */
export const REFUSED_CHANGE = 6;
/** The user lacks the right, or is unknown to the server: see isUnwritten. */
export const NO_RIGHT = 7;
/** A key has a value that this program did not write: see isUnwritten. */
export const WRONG_TYPE = 8;
/** Any other error: a fault of this program, of the data, or of the server. */
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

/** The error of Redis and Valkey when a command within a script is not permitted. */
const NO_RIGHT_IN_SCRIPT = /^ERR (?:The user executing the script|ACL failure in script)/;

export function errorKind(text: string): ErrorKind {
  return KINDS.get(firstWord(text)) ?? (NO_RIGHT_IN_SCRIPT.test(text) ? NO_RIGHT : FAULT);
}

/** Returns the code of an error, such as `WRONGPASS`. */
export function firstWord(text: string): string {
  const end = text.indexOf(' ');
  return end < 0 ? text : text.slice(0, end);
}

/**
 * Returns the server that a MOVED or ASK error names, or undefined if the error names no server.
 * `from` is the server that replied: one that does not know its own host reports only the port.
 */
export function addressIn(text: string, from: ServerAddress): ServerAddress | undefined {
  const [, host = '', digits] = /^\S+ \d+ (.*):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === undefined || port < 1 || port > 65535) return undefined;
  return { host: isUnknownHost(host) ? from.host : host, port };
}

/** Whether the reported host stands for the address that the client connected to. */
export function isUnknownHost(host: string | null): boolean {
  return host === null || host === '' || host === '?';
}
