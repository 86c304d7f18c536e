/**
 * Connections beyond the limit: each gets a response and is closed. It is read for a while, so that a TCP
 * reset cannot discard the response. If there are too many at a time, the others are closed immediately
 * after the response.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { REFUSALS, refusalText } from '../base/refusals.ts';
import { type Carrier, type CarrierUser, FAILED } from './carrier.ts';
import { statusLine } from './status.ts';
import type { TrafficMeter } from './traffic-meter.ts';

/** Time for which a refused connection is read, in ms. */
const READ_MS = 2000;
/** Default limit for the refused connections that are read at a time. */
const READ_COUNT_MAX = 128;

export class RefusedConnections {
  readonly #clock: Clock;
  readonly #meter: TrafficMeter;
  readonly #readCountMax: number;
  readonly #read = new Set<Refused>();

  constructor(clock: Clock, meter: TrafficMeter, readCountMax: number = READ_COUNT_MAX) {
    this.#clock = clock;
    this.#meter = meter;
    this.#readCountMax = readCountMax;
  }

  /** Responds that the limit is reached, and ends the connection. `dateLine`: the Date field. */
  add(carrier: Carrier, connectionsMax: number, dateLine: string): void {
    const { status } = REFUSALS.TOO_MANY_CONNECTIONS;
    const message = refusalText('TOO_MANY_CONNECTIONS', { connectionsMax });
    const body = JSON.stringify({ status: 'fail', message });
    const response = Buffer.from(
      `${statusLine(status)}${dateLine}Content-Type: application/json\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
    this.#meter.countSent(response.length);
    if (this.#read.size >= this.#readCountMax) {
      // Both take effect before they return, so that the descriptor is free when the next connection of a
      // flood is accepted.
      carrier.write(response);
      carrier.destroy();
      return;
    }
    new Refused(carrier, this.#read, this.#clock, this.#meter).answer(response);
  }

  /** Ends all connections that are being read. */
  destroy(): void {
    for (const refused of this.#read) refused.destroy();
  }
}

/** A refused connection that is being read. */
class Refused implements CarrierUser {
  readonly #carrier: Carrier;
  readonly #all: Set<Refused>;
  readonly #timer: Timer;
  readonly #meter: TrafficMeter;

  constructor(carrier: Carrier, all: Set<Refused>, clock: Clock, meter: TrafficMeter) {
    this.#carrier = carrier;
    this.#all = all;
    this.#meter = meter;
    this.#timer = clock.after(READ_MS, () => this.destroy());
    all.add(this);
    carrier.open(this);
  }

  answer(response: Buffer): void {
    if (this.#carrier.write(response) !== FAILED) this.#carrier.end();
  }

  destroy(): void {
    this.#carrier.destroy();
  }

  onClosed(): void {
    this.#timer.cancel();
    this.#all.delete(this);
  }

  onBytes(_: Buffer, length: number): void {
    this.#meter.countReceived(length);
  }

  onInputEnd(): void {}
  onTaken(): void {}
  onEnded(): void {}
  onFailed(): void {}
}
