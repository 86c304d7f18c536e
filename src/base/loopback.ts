/** Whether an address or host name is this host's own, which nobody outside reaches. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.(\d{1,3}|\*)){3}$/.test(host);
}
