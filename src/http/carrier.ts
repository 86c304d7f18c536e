/**
 * The contract between a connection and what carries its bytes. A carrier is made for an accepted
 * connection and opened once by its user, which it calls from then on. The specs run one suite of cases
 * on every implementation.
 *
 * - Order. The user's methods are called in the order of events: all bytes before the client's end, all
 *   that was taken before `onEnded`. After `destroy`, and after a failure, only `onClosed` is called.
 *   `onClosed` is always called, once, as the last call.
 * - Calls within calls. The user may call every method of the carrier within any of its own. Within a call
 *   to the carrier, only two methods of the user may be called: `onEnded` within `end`, and `onClosed`
 *   within `destroy`. All others are called in a later turn, or later in this one.
 * - Bytes. Received bytes are only valid during the call: all connections share the buffer. Written bytes
 *   belong to the user again if `write` returns TAKEN or FAILED. If it returns WAITS, they must remain
 *   unchanged until `onTaken` or `onClosed`, whichever is called, unless the carrier copies them.
 * - Failures. A carrier that fails closes itself. Its user learns of it by exactly one of FAILED, `onFailed`
 *   and its own call of `destroy`, and then by `onClosed`.
 * - Ends. The carrier closes itself when both sides have ended, and all bytes of both have passed.
 */

import type { Clock } from '../base/clock.ts';

/** Results of a write. All bytes have been accepted by the system. */
export const TAKEN = 0;
/** The user is called when all bytes have been accepted; until then it must write nothing more. */
export const WAITS = 1;
/** The connection has failed or is closed; nothing more is sent. */
export const FAILED = 2;

/**
 * A look that passes less than this, in bytes, has passed all that had arrived: the event loop reads a
 * socket up to 32 times a turn, as long as each read fills the buffer of 64 KiB (16 KiB for TLS).
 */
export const LOOK_BYTES_MAX = 262_144;

export interface Carrier {
  /** The client's address; empty if it had disconnected by the first use. */
  readonly peerAddress: string;
  /** The ports of both sides, by which the system lists the connection; undefined if it does not. */
  readonly localPort: number | undefined;
  readonly remotePort: number | undefined;
  /** Whether written bytes are copied, so that they may change as soon as `write` has returned. */
  readonly isCopying: boolean;
  /** Written bytes that the system has not accepted. 0 unless a write waits. */
  readonly untakenBytes: number;

  /** Begins to read. Called once. Before it, only the addresses, `write` and `destroy` may be used. */
  open(user: CarrierUser): void;
  /** Writes bytes, at least one. Not called after `end`, nor while an earlier write waits. */
  write(bytes: Buffer): typeof TAKEN | typeof WAITS | typeof FAILED;
  /** Stops reading: until `resume`, no bytes are passed. Repeated calls of either have no effect. */
  pause(): void;
  resume(): void;
  /**
   * Looks once more for bytes that have arrived by now, and calls back in a later turn, when they have been
   * passed to the user. Not all have been if reading was paused meanwhile, or LOOK_BYTES_MAX were passed.
   */
  look(onLooked: () => void): void;
  /** Ends this side after all written bytes, then calls `onEnded`. A repeated call has no effect. */
  end(): void;
  /** Closes immediately. Bytes not taken are dropped. A repeated call has no effect. */
  destroy(): void;
}

/** The part of the server that its carriers share. */
export interface CarrierHost {
  readonly clock: Clock;
  /** The buffer that all connections read into. */
  readonly readBuffer: Buffer;
}

/** The user of a carrier. Its methods must not throw. */
export interface CarrierUser {
  /** Receives the first `length` bytes of the buffer, 64 KiB at most. */
  onBytes(bytes: Buffer, length: number): void;
  /** The client has ended its side: nothing more is received. */
  onInputEnd(): void;
  /** The bytes of the write that waited have been accepted. */
  onTaken(): void;
  /** All bytes and the end of this side have been sent. */
  onEnded(): void;
  /** The connection has failed; it is being closed. */
  onFailed(): void;
  /** The connection is closed, and its system resources are free. */
  onClosed(): void;
}
