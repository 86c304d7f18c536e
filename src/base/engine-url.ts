/**
 * The URL of the store: `redis://host:6379,host:6379`, `rediss:` over TLS, an IPv6 address in brackets,
 * port 6379 where none is given. With `?sentinel=NAME` the servers are Sentinels, and NAME is what they
 * watch. User and password are settings of their own, as a URL is shown and logged.
 */
import { NAMED_SETTINGS } from './named-settings.ts';
import { addressText, type ServerAddress } from './server-address.ts';

export interface EngineUrl {
  /** As given. */
  readonly text: string;
  readonly isTls: boolean;
  /** At least one; each once. */
  readonly servers: readonly ServerAddress[];
  /** What Sentinel watches; undefined where the servers are no Sentinels. */
  readonly sentinelName: string | undefined;
}

const REDIS_PORT = 6379;
const PORT_MAX = 65535;
const SCHEMES: Readonly<Record<string, boolean>> = { 'redis:': false, 'rediss:': true };
const FORM = /^([a-z]+:)\/\/([^/?#]*)\/?(?:\?(.*))?$/is;
const SERVER = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]]+))(?::(\d*))?$/i;

/** Throws RangeError, which names what is wrong; never a password. */
export function parseEngineUrl(text: string): EngineUrl {
  const advice = engineUrlAdvice(text);
  if (hasSecret(text)) throw new RangeError(`Cannot use the URL of the engine: ${advice}`);
  const more = advice === undefined ? '' : `; ${advice}`;
  const fault = (reason: string) =>
    new RangeError(`Cannot use engine URL "${text}": ${reason}${more}`);
  const [, scheme = '', list = '', query] = FORM.exec(text) ?? [];
  const isTls = SCHEMES[scheme.toLowerCase()];
  if (isTls === undefined) {
    throw fault('not redis://HOST:PORT or rediss://HOST:PORT, with more of them after commas');
  }
  const servers = new Map<string, ServerAddress>();
  for (const item of list.split(',')) {
    const server = serverIn(item);
    if (typeof server === 'string') throw fault(server);
    servers.set(addressText(server), server);
  }
  return { text, isTls, servers: [...servers.values()], sentinelName: sentinelIn(query, fault) };
}

/** Whether the text may have a password, so that it must not be shown. */
export function hasSecret(text: string): boolean {
  return text.includes('@') || SECRET_IN_QUERY.test(text);
}

/** What to write instead of parts of URLs that other programs take; undefined where there are none. */
export function engineUrlAdvice(text: string): string | undefined {
  const advices = ADVICES.filter(([form]) => form.test(text)).map(([, advice]) => advice);
  return advices.length === 0 ? undefined : advices.join('; ');
}

const SECRET_IN_QUERY = /\?.*(?:user|pass|auth|secret|token)[^&=]*=/is;
const ADVICES: readonly (readonly [RegExp, string])[] = [
  [/^valkey:/i, 'write redis:// for Valkey, too'],
  [/^valkeys:/i, 'write rediss:// for Valkey, too'],
  [
    /^(?:redis\+|rediss\+)?unix:|^redis\+socket:/i,
    'sockets of the file system are not supported: write HOST:PORT',
  ],
  [/^redis[+-]sentinel:/i, 'write redis://HOST:26379?sentinel=NAME'],
  [/^rediss[+-]sentinel:/i, 'write rediss://HOST:26379?sentinel=NAME'],
  [
    new RegExp(`@|${SECRET_IN_QUERY.source}`, 'is'),
    `set ${NAMED_SETTINGS.engineUser} and ${NAMED_SETTINGS.enginePassword} instead of a user or ` +
      'password in the URL',
  ],
  [
    /^[a-z+-]+:\/\/[^/?#]*\/\d+(?:[?#]|$)|[?&](?:db|database)=/is,
    `leave the number of a database out: clusters on the same servers differ in ${NAMED_SETTINGS.clusterName}`,
  ],
];

/** The server, or what is wrong with it. */
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
    throw fault(`"${encoded}" has an escape that is none`);
  }
}
