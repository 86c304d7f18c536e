/**
 * Parses the address of the member for client commands, and reads the TLS files for authentication.
 * Tested by client-options.spec.ts.
 */
import { DEFAULT_PORT } from '../base/server-address.ts';
import type { MemberLocation } from '../client/member-client.ts';
import { readInput } from './command-input.ts';

export interface AddressOptions {
  readonly address: string;
  readonly ca?: string;
  readonly tlsCertificate?: string;
  readonly tlsKey?: string;
}

/** Throws a TypeError that names the flag or the variable, as returned by `nameOf`. */
export async function locateMember(
  options: AddressOptions,
  nameOf: (flag: keyof AddressOptions) => string,
): Promise<MemberLocation> {
  const { address, ca, tlsCertificate, tlsKey } = options;
  const isUrl = /^https?:\/\//.test(address);
  const port = /:\d+$/.test(address) ? '' : `:${DEFAULT_PORT}`;
  const text = isUrl ? address : `http://${address}${port}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const seen = `Cannot use ${nameOf('address')} ${JSON.stringify(address)}`;
  if (url === undefined || url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    throw new TypeError(`${seen}: not a host and port, or an http or https URL without a path`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new TypeError(`Cannot use ${nameOf('address')}: --user logs in, not the address`);
  }
  for (const [value, flag, other] of [
    [tlsCertificate, '--tls-certificate', tlsKey === undefined ? '--tls-key' : undefined],
    [tlsKey, '--tls-key', tlsCertificate === undefined ? '--tls-certificate' : undefined],
  ]) {
    if (value === undefined) continue;
    const use = `Cannot use ${flag} ${JSON.stringify(value)}`;
    if (other !== undefined) throw new TypeError(`${use}: ${other} is not given`);
    if (url.protocol === 'http:') {
      throw new TypeError(`${use}: ${nameOf('address')} does not begin with https://`);
    }
  }
  const read = (flag: keyof AddressOptions, file: string | undefined) =>
    file === undefined ? undefined : readInput(nameOf(flag), file);
  return {
    url,
    certificates: await read('ca', ca),
    ownCertificate: await read('tlsCertificate', tlsCertificate),
    ownKey: await read('tlsKey', tlsKey),
  };
}
