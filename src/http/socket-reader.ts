/**
 * Reading from accepted sockets into one buffer for all of them. A socket that is read as a stream
 * takes a new buffer of 64 KiB from the allocator for every read and leaves it to the collector; that
 * is a fifth of a server's time for a small request (bench: socket-reader, whose figure includes the
 * client's share). Node reads into a given buffer where a socket is made with `onread`, but a server
 * makes its sockets without: so the connection's handle is moved to a socket made here.
 *
 * A TLS socket, and one that has no such handle (other runtimes, tests), is read as a stream; that is
 * slower and otherwise the same.
 */
import { Socket, type SocketConstructorOpts } from 'node:net';

/** Most that is read at once, in bytes. */
export const READ_BYTES_MAX = 65536;

/** Takes bytes 0 to `length - 1`; they are valid during the call only. */
type OnRead = (bytes: Buffer, length: number) => void;

/**
 * Begins to read the socket, which its server has accepted with `pauseOnConnect`. Returns the socket to
 * use from then on, instead of the one given.
 */
export function readInto(buffer: Buffer, accepted: Socket, onRead: OnRead): Socket {
  const { _handle: handle, encrypted } = accepted as Handled;
  if (encrypted || typeof handle?.useUserBuffer !== 'function') {
    accepted.on('data', (chunk: Buffer) => onRead(chunk, chunk.length));
    accepted.resume();
    return accepted;
  }
  (accepted as Handled)._handle = null;
  accepted.destroy();
  const options: HandleOptions = {
    handle,
    allowHalfOpen: true,
    onread: {
      buffer,
      callback(length) {
        onRead(buffer, length);
        return true;
      },
    },
  };
  return new Socket(options).resume();
}

/** The part of Node's sockets that its types leave out. */
interface Handled {
  _handle?: { useUserBuffer?: unknown } | null;
  /** Of a TLS socket. */
  readonly encrypted?: true;
}

interface HandleOptions extends SocketConstructorOpts {
  readonly handle: object;
  readonly onread: {
    readonly buffer: Buffer;
    callback(length: number): boolean;
  };
}
