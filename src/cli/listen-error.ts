/**
 * Names what is wrong with an address that the member was told to listen on.
 */
import { GridError } from '../base/errors.ts';

/**
 * The error of listening in our own words; undefined when `error` is about something else. `host` and
 * `port` are what was asked for, where the error does not tell.
 */
export function listenError(error: unknown, host: string, mainPort: number): GridError | undefined {
  if (error instanceof GridError) return error.code.startsWith('ADDRESS_') ? error : undefined;
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (!(error instanceof Error) || code === undefined || !SYSTEM_CALLS.has(syscall ?? '')) {
    return undefined;
  }
  // The port that the error names may be the second one.
  const { port = mainPort } = error as { port?: number };
  const { address: seenHost = host, port: seenPort = port } = error as ListenFailure;
  const shown = seenHost.includes(':') ? `[${seenHost}]` : seenHost;
  const address = `${shown}:${seenPort}`;
  const cause = { cause: error };
  switch (code) {
    case 'EADDRINUSE':
      return new GridError('ADDRESS_IN_USE', { address }, cause);
    case 'EADDRNOTAVAIL':
      return new GridError('ADDRESS_NOT_HERE', { address }, cause);
    case 'EACCES':
    case 'EPERM':
      return new GridError('ADDRESS_FORBIDDEN', { address }, cause);
    case 'ENOTFOUND':
      return new GridError('ADDRESS_UNUSABLE', { address, reason: 'no such host name' }, cause);
    default:
      return new GridError('ADDRESS_UNUSABLE', { address, reason: code }, cause);
  }
}

/** What the system's error may tell of the address. */
interface ListenFailure {
  readonly address?: string;
  readonly port?: number;
}

const SYSTEM_CALLS: ReadonlySet<string> = new Set(['listen', 'bind', 'getaddrinfo']);
