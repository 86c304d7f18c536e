/** Chooses the address of a member and formats it. */
import { networkInterfaces } from 'node:os';
import { addressText } from '../base/server-address.ts';

/**
 * Returns the address that the member reports: the configured one (host, or host and port), or else
 * the bound one.
 */
export function publicAddress(
  configured: string | undefined,
  bound: { readonly address: string; readonly port: number },
): string {
  if (configured === undefined)
    return addressText({ host: publicHost(bound.address), port: bound.port });
  const [, host, port] = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(configured) ?? [];
  if (host !== undefined && port !== undefined) return `${host}:${port}`;
  return addressText({ host: configured.replace(/^\[|\]$/g, ''), port: bound.port });
}

/**
 * Returns the host that the member reports: the bound one; if all interfaces are bound, the first
 * address that is not a loopback address.
 */
function publicHost(boundHost: string): string {
  if (boundHost !== '::' && boundHost !== '0.0.0.0') return boundHost;
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const outside = addresses.filter((each) => !each.internal && !each.address.startsWith('fe80:'));
  const chosen = outside.find((each) => each.family === 'IPv4') ?? outside[0];
  return chosen?.address ?? '127.0.0.1';
}
