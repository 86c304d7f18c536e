/** The address of a server. Tested by engine-url.spec.ts. */
export interface ServerAddress {
  /** Host name, or IP address without brackets. */
  readonly host: string;
  /** 1 to 65535. */
  readonly port: number;
}

/** Returns the address as in a URL. */
export function addressText({ host, port }: ServerAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether an address or host name is a loopback one, unreachable from other hosts. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^(::ffff:)?127(\.(\d{1,3}|\*)){3}$/i.test(host);
}

/** The largest port. */
export const PORT_MAX = 65_535;
/** The port of a member whose configuration or address names none. */
export const DEFAULT_PORT = 5701;
