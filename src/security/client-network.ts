/** The network of a client's address. */
import { partsOfAddress } from '../config/interface-pattern.ts';

/**
 * Returns the network that failed logins and waiting computations are counted by: for IPv6 the /64,
 * within which a client chooses its addresses; for IPv4 the address. An IPv4 address in the mapped
 * form of a dual-stack socket counts as the IPv4 address.
 */
export function networkOf(address: string): string {
  const plain = withoutMapping(address);
  if (!plain.includes(':')) return plain;
  const [numbers = '', zone] = plain.split('%');
  const network = partsOfAddress(numbers, ':').slice(0, NETWORK_GROUPS).join(':');
  // The addresses of this network are valid only on the link of the interface that the zone names.
  return zone === undefined ? network : `${network}%${zone}`;
}

/** Removes the prefix with which a dual-stack socket reports an IPv4 address. */
export function withoutMapping(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

const NETWORK_GROUPS = 4;
