/** The test certificates in this folder, and TLS clients that use them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import type { TlsIdentity } from '../../src/http/tls.ts';

/** Path of a file in this folder. */
export function tlsFile(name: string): string {
  return join(import.meta.dirname, name);
}

/** The identity of a server of that name; with `clientCa` it admits clients of that authority alone. */
export function identity(name: 'server' | 'server-2', clientCa?: string): TlsIdentity {
  return {
    certificate: readFileSync(tlsFile(`${name}.pem`)),
    key: readFileSync(tlsFile(`${name}-key.pem`)),
    clientCa: clientCa === undefined ? undefined : readFileSync(tlsFile(`${clientCa}.pem`)),
  };
}

/** A client of the port that trusts the authority alone; with `name` it has that certificate. */
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

/** Waits until the handshake is done on the client's side; false: the socket was closed before. */
export async function isSecured(socket: TLSSocket): Promise<boolean> {
  return await new Promise((resolve) => {
    socket.once('secureConnect', () => resolve(true));
    socket.once('close', () => resolve(false));
  });
}
