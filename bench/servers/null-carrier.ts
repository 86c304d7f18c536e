/**
 * A carrier that accepts every write and stores nothing, so that only the server's cost is measured.
 */
import { type Carrier, type CarrierUser, TAKEN } from '../../src/http/carrier.ts';

export class NullCarrier implements Carrier {
  readonly peerAddress = '';
  readonly localPort = undefined;
  readonly remotePort = undefined;
  readonly isCopying = false;
  readonly untakenBytes = 0;
  bytesWritten = 0;
  #user: CarrierUser | undefined;

  /** Passes received bytes to the user. */
  receive(bytes: Buffer): void {
    this.#user?.onBytes(bytes, bytes.length);
  }

  open(user: CarrierUser): void {
    this.#user = user;
  }

  write(bytes: Buffer): typeof TAKEN {
    this.bytesWritten += bytes.length;
    return TAKEN;
  }

  pause(): void {}
  resume(): void {}
  look(): void {}
  end(): void {}
  destroy(): void {}
}
