/**
 * The client of a connection as seen by handlers, with room for their own data about it.
 * Tested by connection.spec.ts.
 */
export class Session {
  /** The client's address; empty if it had disconnected by then. */
  readonly peerAddress: string;
  /** Whether the client has ended its side and will send nothing more. */
  hasInputEnded = false;
  /** Whether the application's audit log has a line about this connection. */
  isAudited = false;
  /** Data of the application; initially undefined. */
  memory: unknown = undefined;

  constructor(peerAddress: string) {
    this.peerAddress = peerAddress;
  }
}
