/**
 * Reads the INFO of a server and decides whether it can be used. Tested by store-checks.spec.ts.
 */

import { addressText, type ServerAddress } from '../../base/server-address.ts';
import type { ControlConnection } from './control-connection.ts';
import { ServerError } from './control-connection.ts';
import { errorKind, NO_RIGHT } from './error-reply.ts';
import { type Login, LoginRefused } from './redis-connection.ts';
import { StoreUnusable } from './servers.ts';

const MAJOR_MIN = 7;

/**
 * Resolves with the server's mode: `standalone`, `cluster` or `sentinel`. Rejects with
 * StoreUnusable if the server is older than Redis 7.0; every Valkey is newer.
 */
export async function modeOf(control: ControlConnection): Promise<string> {
  const fields = fieldsIn(await control.ask('INFO', 'server'));
  const version = fields.get('redis_version') ?? '';
  if (!fields.has('valkey_version') && !(Number.parseInt(version, 10) >= MAJOR_MIN)) {
    throw new StoreUnusable(
      `Cannot use the server ${addressText(control.address)}: it is Redis ${version}, ` +
        'but the engine requires Redis 7.0, Valkey 7.2, or a newer version',
    );
  }
  return fields.get('server_mode') ?? fields.get('redis_mode') ?? 'standalone';
}

/** Returns the lines `name:value` of INFO and of CLUSTER INFO. */
export function fieldsIn(text: unknown): ReadonlyMap<string, string> {
  const lines = typeof text === 'string' ? text.split('\r\n') : [];
  return new Map(
    lines.flatMap((line) => {
      const colon = line.indexOf(':');
      return colon < 0 ? [] : [[line.slice(0, colon), line.slice(colon + 1)]];
    }),
  );
}

/**
 * Returns the policy by which a server drops any data when its memory is full, from INFO memory;
 * undefined if it drops none. The `volatile-` policies drop only keys with an expiry set at the
 * server, which no data has.
 */
export function evictionPolicyIn(fields: ReadonlyMap<string, string>): string | undefined {
  const policy = fields.get('maxmemory_policy') ?? '';
  return Number(fields.get('maxmemory')) > 0 && policy.startsWith('allkeys-') ? policy : undefined;
}

/**
 * Returns the error, converted to StoreUnusable if trying again does not help: a wrong password,
 * for example.
 */
export function judged(error: unknown, address: ServerAddress, { user }: Login): Error {
  const { message } = error as Error;
  if (error instanceof LoginRefused) {
    return new StoreUnusable(`Cannot log in to the server ${addressText(address)}: ${message}`);
  }
  if (error instanceof ServerError && errorKind(message) === NO_RIGHT) {
    return new StoreUnusable(
      `Cannot use the server ${addressText(address)}: it refuses ${userText(user)}: ${message}`,
    );
  }
  return error as Error;
}

/** Names the user in a sentence. */
export function userText(user: string | undefined): string {
  return user === undefined ? 'the default user' : `the user "${user}"`;
}
