/**
 * Whether an address or host name is a loopback one, unreachable from other hosts.
 * Tested by http/served-hosts.spec.ts.
 */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^(::ffff:)?127(\.(\d{1,3}|\*)){3}$/i.test(host);
}
