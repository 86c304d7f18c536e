/** The address of a server. */
export interface ServerAddress {
  /** A name, or an IP address without brackets. */
  readonly host: string;
  /** 1 to 65535. */
  readonly port: number;
}

/** As in a URL. */
export function addressText({ host, port }: ServerAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
