/** The client of a connection as handlers know it, and a place for their own data about it. */
export class Session {
  /** The client's address; empty where it had gone at once. */
  readonly peerAddress: string;
  /** Whether the client has sent all that it will send. */
  hasInputEnded = false;
  /** The application's own; undefined at first. */
  memory: unknown = undefined;

  constructor(peerAddress: string) {
    this.peerAddress = peerAddress;
  }
}
