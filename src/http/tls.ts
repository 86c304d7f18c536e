/**
 * TLS in front of connections (1.2 and up): takes accepted sockets through their handshakes and passes
 * on the secure ones. The owner bounds the time and the count of handshakes. One that fails, plain text
 * on the port included, ends its socket and nothing else.
 *
 * The handshakes are those of a tls.Server that does not listen itself. So sockets beyond a limit are
 * closed before TLS begins, and each socket is counted from its first moment on.
 */
import type { Socket } from 'node:net';
import type { Server, TLSSocket, TlsOptions } from 'node:tls';
import type { Deadlines, Timed } from './deadlines.ts';

/** The identity of the server, and the authorities of its clients; PEM texts, but for a key store. */
export interface TlsIdentity {
  /** The certificate, followed by those that lead to its authority. */
  readonly certificate?: Buffer | undefined;
  readonly key?: Buffer | undefined;
  /** Certificate and key in one, as PKCS12, instead of the two. */
  readonly keyStore?: Buffer | undefined;
  /** Passphrase of the key or key store. */
  readonly passphrase?: string | undefined;
  /** Clients must show a certificate of one of these authorities; undefined: they need none. */
  readonly clientCa: Buffer | undefined;
}

export class Handshakes {
  readonly #server: Server;
  readonly #deadlines: Deadlines;
  readonly #onEnded: () => void;
  readonly #underWay = new Map<Socket, Handshake>();

  /**
   * Throws OpenSSL's error about an identity that it cannot use. `onEnded` is called for each handshake
   * that has ended, after `onSecure` if it succeeded.
   */
  constructor(
    identity: TlsIdentity,
    deadlines: Deadlines,
    onSecure: (socket: TLSSocket) => void,
    onEnded: () => void,
  ) {
    this.#deadlines = deadlines;
    this.#onEnded = onEnded;
    // Loaded here: servers without TLS start sooner.
    this.#server = process.getBuiltinModule('node:tls').createServer(
      {
        ...secureContextOf(identity),
        requestCert: identity.clientCa !== undefined,
        rejectUnauthorized: identity.clientCa !== undefined,
        ALPNProtocols: ['http/1.1', 'http/1.0'],
        // Node's own limit begins anew with every byte.
        handshakeTimeout: 0,
      },
      (socket) => {
        socket.allowHalfOpen = true;
        onSecure(socket);
        this.#end((socket as TLSSocket & Wrapping)._parent);
      },
    );
  }

  /** Handshakes under way. */
  get count(): number {
    return this.#underWay.size;
  }

  /** Begins the handshake of a socket, which must be done by `deadlineMs`. */
  begin(socket: Socket, deadlineMs: number): void {
    const handshake = new Handshake(socket, this.#deadlines, deadlineMs);
    this.#underWay.set(socket, handshake);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#end(socket));
    // A client that ends its side within the handshake has gone.
    socket.allowHalfOpen = false;
    this.#server.emit('connection', socket);
  }

  /** Handshakes that begin from now on use this identity. Throws the errors of the constructor. */
  renew(identity: TlsIdentity): void {
    this.#server.setSecureContext(secureContextOf(identity));
  }

  /** Cuts off the handshakes under way. */
  destroy(): void {
    for (const socket of this.#underWay.keys()) socket.destroy();
  }

  #end(socket: Socket): void {
    this.#underWay.get(socket)?.leave();
    if (this.#underWay.delete(socket)) this.#onEnded();
  }
}

class Handshake implements Timed {
  readonly #socket: Socket;
  readonly #deadlines: Deadlines;
  readonly #place: number;

  constructor(socket: Socket, deadlines: Deadlines, deadlineMs: number) {
    this.#socket = socket;
    this.#deadlines = deadlines;
    this.#place = deadlines.enter(this);
    deadlines.set(this.#place, deadlineMs);
  }

  onDeadline(): void {
    this.#socket.destroy();
  }

  leave(): void {
    this.#deadlines.leave(this.#place);
  }
}

/** The identity as Node takes it. */
export function secureContextOf(identity: TlsIdentity): TlsOptions {
  const { certificate, key, keyStore, passphrase, clientCa } = identity;
  return {
    minVersion: 'TLSv1.2',
    ...(keyStore === undefined ? { cert: certificate, key } : { pfx: keyStore }),
    ...(passphrase === undefined ? {} : { passphrase }),
    ...(clientCa === undefined ? {} : { ca: clientCa }),
  };
}

/** The part of Node's TLS sockets that its types leave out: the socket below. */
interface Wrapping {
  readonly _parent: Socket;
}
