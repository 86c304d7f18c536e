/**
 * Converts a system error of listening to a GridError that names the address and the reason.
 * Tested by cli/serve.spec.ts.
 */
import { GridError } from '../base/errors.ts';
import { addressText } from '../base/server-address.ts';

/**
 * Returns an error of listening as a GridError, and undefined for any other error. `host` and `mainPort`
 * are the configured ones, used if the error does not name them.
 */
export function listenError(error: unknown, host: string, mainPort: number): GridError | undefined {
  if (error instanceof GridError) return error.code.startsWith('ADDRESS_') ? error : undefined;
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (!(error instanceof Error) || code === undefined || !SYSTEM_CALLS.has(syscall ?? '')) {
    return undefined;
  }
  const failure = error as ListenFailure;
  const address = addressText({ host: failure.address ?? host, port: failure.port ?? mainPort });
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

/** The fields of a system error that may name the address. */
interface ListenFailure {
  readonly address?: string;
  readonly port?: number;
}

const SYSTEM_CALLS: ReadonlySet<string> = new Set(['listen', 'bind', 'getaddrinfo']);
