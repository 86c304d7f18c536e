/**
 * The client of a connection as seen by handlers, with room for their own data about it.
 * Tested by connection.spec.ts.
 */
import type { Carrier } from './carrier.ts';

export class Session {
  readonly #carrier: Pick<Carrier, 'peerAddress'>;
  #peerAddress: string | undefined;
  /** Whether the client has ended its side and will send nothing more. */
  hasInputEnded = false;
  /** Whether the application's audit log has a line about this connection. */
  isAudited = false;
  /** Data of the application; initially undefined. */
  memory: unknown = undefined;

  constructor(carrier: Pick<Carrier, 'peerAddress'>) {
    this.#carrier = carrier;
  }

  /** The client's address; empty if it had disconnected by the first use. */
  get peerAddress(): string {
    this.#peerAddress ??= this.#carrier.peerAddress;
    return this.#peerAddress;
  }
}
