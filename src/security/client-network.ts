/**
 * The network that failed logins and waiting computations are counted by: of IPv6 the /64 that a client
 * chooses its addresses from, of IPv4 the address. An IPv4 address that a socket for both families
 * reports counts as such.
 */
export function networkOf(address: string): string {
  const plain = withoutMapping(address);
  if (!plain.includes(':')) return plain;
  const [numbers = '', zone] = plain.split('%');
  const [head = '', tail] = numbers.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const rest = tail === '' ? 0 : tail.split(':').length;
    while (groups.length + rest < GROUPS && groups.length < NETWORK_GROUPS) groups.push('0');
    groups.push(...tail.split(':'));
  }
  const network = groups.slice(0, NETWORK_GROUPS).join(':');
  // Each interface has a network of addresses that hold on its link only.
  return zone === undefined ? network : `${network}%${zone}`;
}

/** Removes the prefix of an IPv4 address that a socket for both families reports. */
export function withoutMapping(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

const GROUPS = 8;
const NETWORK_GROUPS = 4;
