/**
 * The URL of the servers: `redis://host:6379,host:6379`, or `rediss:` for TLS. IPv6 addresses are
 * in brackets; the default port is 6379. With `?sentinel=NAME` the servers are Sentinels and NAME
 * is the master that they monitor. User and password are separate settings, because URLs are shown
 * and logged.
 */

import { addressText, PORT_MAX, type ServerAddress } from './server-address.ts';
import { SETTINGS_IN_MESSAGES } from './settings-in-messages.ts';

export interface EngineUrl {
  /** The URL as configured. */
  readonly text: string;
  readonly isTls: boolean;
  /** At least one server, without duplicates. */
  readonly servers: readonly ServerAddress[];
  /** Name of the master that the Sentinels monitor; undefined if the servers are not Sentinels. */
  readonly sentinelName: string | undefined;
}

const REDIS_PORT = 6379;
const SCHEMES: Readonly<Record<string, boolean>> = { 'redis:': false, 'rediss:': true };
const FORM = /^([a-z]+:)\/\/([^/?#]*)\/?(?:\?(.*))?$/is;
const SERVER = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]]+))(?::(\d*))?$/i;

/**
 * Throws RangeError with the reason if the URL is invalid. The message never contains a password.
 */
export function parseEngineUrl(text: string): EngineUrl {
  const advice = engineUrlAdvice(text);
  if (hasSecret(text)) throw new RangeError(`Cannot use the URL of the engine: ${advice}`);
  const more = advice === undefined ? '' : `; ${advice}`;
  const fault = (reason: string) =>
    new RangeError(`Cannot use engine URL "${text}": ${reason}${more}`);
  const [, scheme = '', list = '', query] = FORM.exec(text) ?? [];
  const isTls = SCHEMES[scheme.toLowerCase()];
  if (isTls === undefined) {
    throw fault('not redis://HOST:PORT or rediss://HOST:PORT, with further HOST:PORT after commas');
  }
  const servers = new Map<string, ServerAddress>();
  for (const item of list.split(',')) {
    const server = serverIn(item);
    if (typeof server === 'string') throw fault(server);
    servers.set(addressText(server), server);
  }
  return { text, isTls, servers: [...servers.values()], sentinelName: sentinelIn(query, fault) };
}

/** Whether the text may contain a password and must not be shown. */
export function hasSecret(text: string): boolean {
  return text.includes('@') || SECRET_IN_QUERY.test(text);
}

/**
 * Returns how to replace URL parts that only other programs support; undefined if there are none.
 */
export function engineUrlAdvice(text: string): string | undefined {
  const advices = ADVICES.filter(([form]) => form.test(text)).map(([, advice]) => advice);
  return advices.length === 0 ? undefined : advices.join('; ');
}

const SECRET_IN_QUERY = /\?.*(?:user|pass|auth|secret|token)[^&=]*=/is;
const ADVICES: readonly (readonly [RegExp, string])[] = [
  [/^valkey:/i, 'write redis:// for Valkey as well'],
  [/^valkeys:/i, 'write rediss:// for Valkey as well'],
  [
    /^(?:redis\+|rediss\+)?unix:|^redis\+socket:/i,
    'Unix domain sockets are not supported: write HOST:PORT',
  ],
  [/^redis[+-]sentinel:/i, 'write redis://HOST:26379?sentinel=NAME'],
  [/^rediss[+-]sentinel:/i, 'write rediss://HOST:26379?sentinel=NAME'],
  [
    new RegExp(`@|${SECRET_IN_QUERY.source}`, 'is'),
    `set ${SETTINGS_IN_MESSAGES.engineUser} and ${SETTINGS_IN_MESSAGES.enginePassword} instead of a user or ` +
      'password in the URL',
  ],
  [
    /^[a-z+-]+:\/\/[^/?#]*\/\d+(?:[?#]|$)|[?&](?:db|database)=/is,
    `remove the database number: clusters on the same servers are distinguished by ${SETTINGS_IN_MESSAGES.clusterName}`,
  ],
];

/** Returns the server, or the reason why the item is invalid. */
function serverIn(item: string): ServerAddress | string {
  if (item === '') return 'a host is missing';
  const [whole, address, name, port = `${REDIS_PORT}`] = SERVER.exec(item) ?? [];
  if (whole === undefined) return `"${item}" is not HOST:PORT or [ADDRESS]:PORT`;
  const number = Number(port);
  if (port === '' || number < 1 || number > PORT_MAX) {
    return `"${item}" has no port from 1 to ${PORT_MAX}`;
  }
  return { host: address ?? name!, port: number };
}

function sentinelIn(
  query: string | undefined,
  fault: (reason: string) => RangeError,
): string | undefined {
  if (query === undefined) return undefined;
  const [, encoded = ''] = /^sentinel=([^&=#]+)$/.exec(query) ?? [];
  if (encoded === '') throw fault(`"?${query}" is not ?sentinel=NAME`);
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw fault(`"${encoded}" has an invalid percent-escape`);
  }
}
