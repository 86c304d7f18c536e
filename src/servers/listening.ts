/**
 * Selects the address and port that a member listens on: those of the configuration, or the first
 * address of this host that `network.interfaces` matches. If the port is in use and auto-increment
 * is on, the next one is tried.
 */

import { type AddressInfo, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { GridError } from '../base/errors.ts';
import { PORT_MAX } from '../base/server-address.ts';
import { matchingAddress } from '../config/interface-pattern.ts';
import { sourceOf } from '../config/setting-table.ts';
import { ADDRESS_SETTINGS, type ServerConfig } from './server-settings.ts';

/** A server that can listen. */
interface Listener {
  /** Rejects with the system's error. */
  listen(host: string, port: number): Promise<AddressInfo>;
}

/** Starts to listen. Rejects with the system's error, ADDRESS_NOT_HERE or ADDRESS_IN_USE. */
export async function listenAsConfigured(
  server: Listener,
  config: ServerConfig,
): Promise<AddressInfo> {
  const host = hostOf(config);
  const last = lastPort(config);
  for (let port = config.port; ; port++) {
    try {
      return await server.listen(host, port);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || last === config.port)
        throw error;
      if (port < last) continue;
      const shown = isIPv6(host) ? `[${host}]` : host;
      const address = `${shown}:${config.port} to ${last}`;
      throw new GridError('ADDRESS_IN_USE', { address }, { cause: error });
    }
  }
}

function hostOf(config: ServerConfig): string {
  const { host, interfaces, interfacesEnabled } = config;
  if (!interfacesEnabled || sourceOf(config, ADDRESS_SETTINGS.host).kind !== 'default') return host;
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const found = matchingAddress(
    interfaces,
    addresses.map(({ address }) => address),
  );
  if (found !== undefined) return found;
  throw new GridError('ADDRESS_NOT_HERE', { address: interfaces.join(', ') || 'no interface' });
}

/**
 * Returns the last port to try. A port given by a flag is not incremented; port 0, which the system
 * chooses, needs no second try.
 */
function lastPort(config: ServerConfig): number {
  const { port, portAutoIncrement, portCount } = config;
  const isFixed = !portAutoIncrement || port === 0;
  if (isFixed || sourceOf(config, ADDRESS_SETTINGS.port).kind === 'flag') return port;
  return Math.min(port + portCount - 1, PORT_MAX);
}
