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
