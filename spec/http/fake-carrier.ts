/**
 * An in-memory carrier for the specs of the HTTP server, with its client's side. Sent bytes are
 * recorded. Received bytes are passed immediately or, if reading is paused, when it resumes. After
 * the call they are overwritten, and so is their copy in the parser's memory, which the names, keys
 * and values of requests refer to. The kernel accepts everything unless configured otherwise.
 * Neither time nor a turn of the event loop passes.
 */
import assert from 'node:assert/strict';
import type { Clock } from '../../src/base/clock.ts';
import { type Carrier, type CarrierUser, FAILED, TAKEN, WAITS } from '../../src/http/carrier.ts';
import { llhttp } from '../../src/http/llhttp.ts';

const READ_BYTES_MAX = 65536;
/** The value of overwritten bytes. */
const OVERWRITTEN = 0xdd;

type Defer = (run: () => void) => void;

export class FakeCarrier implements Carrier {
  readonly peerAddress = '';
  readonly localPort = undefined;
  readonly remotePort = undefined;
  readonly isCopying = false;
  /** Everything that was written. */
  readonly sent: Buffer[] = [];
  /** Whether the server has ended its side. */
  writableEnded = false;
  /** Whether the carrier is closed or, with `closesLate`, closing. */
  isDestroyed = false;
  isPaused = false;
  /** Whether the kernel accepts no written bytes. */
  isStuck = false;
  /** Whether a carrier that is destroyed is closed only by `close`. */
  closesLate = false;
  /** The clock whose turns a look takes, instead of those of `defer`. */
  clock: Clock | undefined;
  readonly #defer: Defer;
  #user: CarrierUser | undefined;
  /** Received bytes that have not been read. */
  readonly #unread: Buffer[] = [];
  /** The bytes of the write that waits, and a copy of them. */
  #waiting: { readonly bytes: Buffer; readonly copy: Buffer } | undefined;
  #hasClientEnded = false;
  #hasInputEnded = false;
  #hasOutputEnded = false;
  #isReset = false;
  #isClosed = false;

  /** `defer` runs the carrier's work of a later turn, such as further reads. */
  constructor(defer: Defer = (run) => process.nextTick(run)) {
    this.#defer = defer;
  }

  open(user: CarrierUser): void {
    assert.equal(this.#user, undefined, 'opened twice');
    this.#user = user;
    this.isPaused = false;
    if (this.unreadBytes > 0 || this.#hasClientEnded) this.#defer(() => this.#read());
  }

  /** The bytes sent so far, one character per byte. */
  get text(): string {
    return Buffer.concat(this.sent).toString('latin1');
  }

  get untakenBytes(): number {
    return this.#waiting?.bytes.length ?? 0;
  }

  /** Received bytes that have not been read, as in the kernel's receive buffer. */
  get unreadBytes(): number {
    return this.#unread.reduce((sum, { length }) => sum + length, 0);
  }

  write(bytes: Buffer): typeof TAKEN | typeof WAITS | typeof FAILED {
    if (this.isDestroyed || this.#isReset) {
      this.isDestroyed = true;
      return FAILED;
    }
    assert.equal(this.#waiting, undefined, 'a write waits');
    assert(bytes.length > 0 && !this.writableEnded);
    const copy = Buffer.from(bytes);
    this.sent.push(copy);
    if (!this.isStuck) return TAKEN;
    this.#waiting = { bytes, copy };
    return WAITS;
  }

  /** Makes the kernel accept the bytes that wait, and all later ones. */
  unstick(): void {
    this.isStuck = false;
    this.take();
  }

  /** Makes the kernel accept the bytes that wait. */
  take(): void {
    if (this.#waiting === undefined) return;
    const { bytes, copy } = this.#waiting;
    assert(bytes.equals(copy), 'bytes that waited have been overwritten');
    this.#waiting = undefined;
    if (!this.isDestroyed) this.#user?.onTaken();
    if (this.writableEnded) this.#endOutput();
  }

  end(): void {
    if (this.writableEnded || this.isDestroyed) return;
    this.writableEnded = true;
    if (this.#waiting === undefined) this.#endOutput();
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    if (this.#unread.length > 0) this.#defer(() => this.#read());
  }

  look(onLooked: () => void): void {
    const endOfTurn: Defer = (run) => (this.clock ? this.clock.endOfTurn(run) : this.#defer(run));
    endOfTurn(() => endOfTurn(() => this.isDestroyed || onLooked()));
  }

  destroy(): void {
    if (this.isDestroyed) return;
    this.isDestroyed = true;
    if (!this.closesLate) this.close();
  }

  /** Completes the close of a carrier that closes late. */
  close(): void {
    if (this.#isClosed) return;
    this.isDestroyed = true;
    this.#isClosed = true;
    this.#user?.onClosed();
  }

  /** Receives bytes from the client, as a socket reads them: at most 64 KiB at a time. */
  receive(bytes: Buffer | string): void {
    const all = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    for (let at = 0; at < all.length; at += READ_BYTES_MAX) {
      this.#unread.push(Buffer.from(all.subarray(at, at + READ_BYTES_MAX)));
    }
    this.#read();
  }

  /** Ends the client's side. */
  receiveEnd(): void {
    this.#hasClientEnded = true;
    this.#read();
  }

  /** The connection fails: a write fails from now on, and the user is called in a later turn. */
  reset(): void {
    this.#isReset = true;
    this.#defer(() => this.fail());
  }

  /** The connection has failed. */
  fail(): void {
    const isKnown = this.isDestroyed;
    this.isDestroyed = true;
    if (!isKnown) this.#user?.onFailed();
    if (!this.closesLate) this.#defer(() => this.close());
  }

  #read(): void {
    while (!this.isPaused && !this.isDestroyed && this.#user !== undefined) {
      const chunk = this.#unread.shift();
      if (chunk === undefined) break;
      this.#user.onBytes(chunk, chunk.length);
      chunk.fill(OVERWRITTEN);
      const { memory, inputAddress } = llhttp();
      memory.fill(OVERWRITTEN, inputAddress, inputAddress + chunk.length);
    }
    if (this.#unread.length === 0 && this.#hasClientEnded) this.#endInput();
  }

  #endInput(): void {
    if (this.#hasInputEnded || this.isDestroyed || this.#user === undefined) return;
    this.#hasInputEnded = true;
    this.#user.onInputEnd();
    this.#closeIfEnded();
  }

  #endOutput(): void {
    if (this.isDestroyed) return;
    this.#hasOutputEnded = true;
    this.#user?.onEnded();
    this.#closeIfEnded();
  }

  #closeIfEnded(): void {
    if (this.#hasInputEnded && this.#hasOutputEnded) this.#defer(() => this.destroy());
  }
}
