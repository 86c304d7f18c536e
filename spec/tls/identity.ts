/** The test certificates in this folder, and TLS clients that use them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import type { TlsIdentity } from '../../src/http/tls.ts';

/** Returns the path of a file in this folder. */
export function tlsFile(name: string): string {
  return join(import.meta.dirname, name);
}

/**
 * Returns the identity of a server with this name; with `authority` it admits only clients of this
 * authority.
 */
export function identity(name: 'server' | 'server-2', authority?: string): TlsIdentity {
  return {
    certificate: readFileSync(tlsFile(`${name}.pem`)),
    key: readFileSync(tlsFile(`${name}-key.pem`)),
    authorities: authority === undefined ? undefined : readFileSync(tlsFile(`${authority}.pem`)),
  };
}

/**
 * Returns a client of the port that trusts only the authority; with `name` it has that certificate.
 */
export function tlsClient(
  port: number,
  name?: 'client' | 'impostor',
  options: ConnectionOptions = {},
): TLSSocket {
  const own =
    name === undefined
      ? {}
      : {
          cert: readFileSync(tlsFile(`${name}.pem`)),
          key: readFileSync(tlsFile(`${name}-key.pem`)),
        };
  const ca = readFileSync(tlsFile('authority.pem'));
  const socket = connect({ host: '127.0.0.1', port, ca, ...own, ...options });
  socket.on('error', () => socket.destroy());
  return socket;
}

/**
 * Waits until the handshake is done on the client's side. Returns false if the socket was closed
 * before.
 */
export async function isSecured(socket: TLSSocket): Promise<boolean> {
  return await new Promise((resolve) => {
    socket.once('secureConnect', () => resolve(true));
    socket.once('close', () => resolve(false));
  });
}
