/**
 * A carrier that accepts every write and only retains the last one, so that only the server's cost is
 * measured.
 */
import { type Carrier, type CarrierUser, TAKEN } from '../../src/http/carrier.ts';

export class NullCarrier implements Carrier {
  readonly peerAddress = '';
  readonly localPort = undefined;
  readonly remotePort = undefined;
  readonly isCopying = false;
  readonly untakenBytes = 0;
  bytesWritten = 0;
  /** Bytes of the last write, which the next one may overwrite. */
  #last: Buffer = Buffer.alloc(0);
  #user: CarrierUser | undefined;

  get lastText(): string {
    return this.#last.toString('latin1');
  }

  /** Passes received bytes to the user. */
  receive(bytes: Buffer): void {
    this.#user?.onBytes(bytes, bytes.length);
  }

  open(user: CarrierUser): void {
    this.#user = user;
  }

  write(bytes: Buffer): typeof TAKEN {
    this.bytesWritten += bytes.length;
    this.#last = bytes;
    return TAKEN;
  }

  pause(): void {}
  resume(): void {}
  look(): void {}
  end(): void {}
  destroy(): void {}
}
