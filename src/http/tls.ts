/**
 * TLS handshakes (1.2 and later): performs the handshakes of accepted sockets and passes on the secure
 * sockets. The owner limits the duration and the number of handshakes. A failed handshake, including plain
 * text on the port, only ends its socket.
 *
 * The handshakes are performed by a tls.Server that does not listen itself. So sockets beyond a limit can
 * be closed before TLS begins, and each socket is counted from the moment it is accepted.
 */
import type { Socket } from 'node:net';
import type { Server, TLSSocket, TlsOptions } from 'node:tls';
import type { Deadlines, Timed } from './deadlines.ts';

/** One side's identity, and the authorities of the other. All PEM texts, except the key store. */
export interface TlsIdentity {
  /** The certificate, followed by the intermediate certificates up to its authority. */
  readonly certificate?: Buffer | undefined;
  readonly key?: Buffer | undefined;
  /** Certificate and key as PKCS12, instead of the two above. */
  readonly keyStore?: Buffer | undefined;
  /** Passphrase of the key or key store. */
  readonly passphrase?: string | undefined;
  /** End of the certificate's validity, in ms since 1970. */
  readonly expiryMs?: number | undefined;
  /**
   * The authorities of the other side's certificates. Undefined: clients need no certificate, and servers
   * are verified by the authorities of the system.
   */
  readonly authorities?: Buffer | undefined;
}

export class Handshakes {
  readonly #server: Server;
  readonly #deadlines: Deadlines;
  readonly #onEnded: () => void;
  readonly #underWay = new Map<Socket, Handshake>();

  /**
   * Throws OpenSSL's error if the identity is unusable. `onEnded` is called at the end of each handshake,
   * after `onSecure` if it succeeded.
   */
  constructor(
    identity: TlsIdentity,
    deadlines: Deadlines,
    onSecure: (socket: TLSSocket) => void,
    onEnded: () => void,
  ) {
    this.#deadlines = deadlines;
    this.#onEnded = onEnded;
    // Loaded only here, so that servers without TLS start sooner.
    this.#server = process.getBuiltinModule('node:tls').createServer(
      {
        ...secureContextOf(identity),
        requestCert: identity.authorities !== undefined,
        rejectUnauthorized: identity.authorities !== undefined,
        ALPNProtocols: ['http/1.1', 'http/1.0'],
        // The timeout that Node implements starts again with every byte.
        handshakeTimeout: 0,
      },
      (socket) => {
        socket.allowHalfOpen = true;
        onSecure(socket);
        this.#end((socket as TLSSocket & Wrapping)._parent);
      },
    );
  }

  /** Number of handshakes under way. */
  get count(): number {
    return this.#underWay.size;
  }

  /** Begins the handshake of a socket, which must be completed by `deadlineMs`. */
  begin(socket: Socket, deadlineMs: number): void {
    const handshake = new Handshake(socket, this.#deadlines, deadlineMs);
    this.#underWay.set(socket, handshake);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#end(socket));
    // A client that ends its side during the handshake has disconnected.
    socket.allowHalfOpen = false;
    this.#server.emit('connection', socket);
  }

  /** Sets the identity for new handshakes. Throws the errors of the constructor. */
  setIdentity(identity: TlsIdentity): void {
    this.#server.setSecureContext(secureContextOf(identity));
  }

  /** Destroys the sockets of all handshakes under way. */
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

/** Returns the identity as options for Node's TLS. */
export function secureContextOf(identity: TlsIdentity): TlsOptions {
  const { certificate, key, keyStore, passphrase, authorities } = identity;
  return {
    minVersion: 'TLSv1.2',
    ...(keyStore === undefined ? { cert: certificate, key } : { pfx: keyStore }),
    ...(passphrase === undefined ? {} : { passphrase }),
    ...(authorities === undefined ? {} : { ca: authorities }),
  };
}

/** The part of Node's TLS sockets that is missing in its types: the underlying socket. */
interface Wrapping {
  readonly _parent: Socket;
}
