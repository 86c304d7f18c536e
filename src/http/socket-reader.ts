/**
 * Reads from accepted sockets into one buffer shared by all. A socket that is read as a stream allocates a
 * new buffer of 64 KiB for every read and leaves it to the garbage collector. That is a fifth of a
 * server's time for a small request (bench: socket-reader, whose figure includes the client's share). Node
 * reads into a provided buffer only if the socket was created with the option `onread`. A server creates
 * its sockets without it, so the connection's handle is moved to a socket created here.
 *
 * A TLS socket, and one without such a handle (other runtimes, tests), is read as a stream. That is slower
 * and otherwise equivalent. Tested by carrier.spec.ts.
 */
import { Socket, type SocketConstructorOpts } from 'node:net';
import type { CarrierUser } from './carrier.ts';

/** Maximum number of bytes returned by one read. */
export const READ_BYTES_MAX = 65536;

/** Receives the first `length` bytes, which are only valid during the call. */
type Reader = Pick<CarrierUser, 'onBytes'>;

/**
 * Begins to read a socket that its server has accepted with `pauseOnConnect`. Returns the socket to use
 * from then on instead of `accepted`.
 */
export function readInto(buffer: Buffer, accepted: Socket, reader: Reader): Socket {
  const { _handle: handle, encrypted } = accepted as Handled;
  if (encrypted || typeof handle?.useUserBuffer !== 'function') {
    return readStream(accepted, reader);
  }
  (accepted as Handled)._handle = null;
  accepted.destroy();
  const options: HandleOptions = {
    handle,
    allowHalfOpen: true,
    onread: {
      buffer,
      callback(length) {
        reader.onBytes(buffer, length);
        return true;
      },
    },
  };
  return new Socket(options).resume();
}

/** A function of its own: a closure in the one above would keep `accepted` alive with each connection. */
function readStream(socket: Socket, reader: Reader): Socket {
  socket.on('data', (chunk: Buffer) => {
    if (!socket.destroyed) reader.onBytes(chunk, chunk.length);
  });
  return socket.resume();
}

/** The part of Node's sockets that is missing in its types. */
interface Handled {
  _handle?: { useUserBuffer?: unknown } | null;
  /** Set on TLS sockets. */
  readonly encrypted?: true;
}

interface HandleOptions extends SocketConstructorOpts {
  readonly handle: object;
  readonly onread: {
    readonly buffer: Buffer;
    callback(length: number): boolean;
  };
}
