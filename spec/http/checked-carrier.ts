/** A carrier in use, with checks of its contract: the order of calls, and what is called within a call. */
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Carrier, type CarrierUser, FAILED, TAKEN, WAITS } from '../../src/http/carrier.ts';
import type { Client } from './carrier-pairs.ts';

/** Limit for the turns of a wait. */
const TURNS_MAX = 1_000_000;

export const USER_CALLS = [
  'onBytes',
  'onInputEnd',
  'onTaken',
  'onEnded',
  'onFailed',
  'onClosed',
] as const;
export type UserCall = (typeof USER_CALLS)[number];

/** A user that records its calls and checks their order. */
export class RecordingUser implements CarrierUser {
  readonly calls: UserCall[] = [];
  readonly chunks: Buffer[] = [];
  readonly buffers = new Set<Buffer>();
  /** Runs within each call. */
  react: (call: UserCall) => void = () => {};
  /** The call of the carrier in progress. */
  within: string | undefined;
  isOver = false;
  isWaiting = false;

  get received(): Buffer {
    return Buffer.concat(this.chunks);
  }

  count(call: UserCall): number {
    return this.calls.filter((each) => each === call).length;
  }

  onBytes(bytes: Buffer, length: number): void {
    assert(length > 0 && length <= 65536);
    assert.equal(this.count('onInputEnd'), 0, 'bytes after the end');
    this.buffers.add(bytes);
    this.chunks.push(Buffer.from(bytes.subarray(0, length)));
    this.#on('onBytes');
  }

  onInputEnd(): void {
    this.#on('onInputEnd');
  }

  onTaken(): void {
    assert(this.isWaiting, 'a write waits');
    this.isWaiting = false;
    this.#on('onTaken');
  }

  onEnded(): void {
    assert(!this.isWaiting, 'everything has been taken');
    this.#on('onEnded');
  }

  onFailed(): void {
    this.#on('onFailed');
  }

  onClosed(): void {
    this.#on('onClosed');
  }

  #on(call: UserCall): void {
    const { within } = this;
    const mayBeWithin = call === 'onEnded' ? 'end' : call === 'onClosed' ? 'destroy' : undefined;
    assert(within === undefined || within === mayBeWithin, `${call} within ${within}`);
    assert.notEqual(this.calls.at(-1), 'onClosed', `${call} after the last call`);
    if (call === 'onFailed') {
      assert(!this.isOver, 'the user knows');
      this.isOver = true;
    } else if (call !== 'onClosed') {
      assert(!this.isOver, `${call} after a failure or destroy`);
      if (call !== 'onBytes' && call !== 'onTaken') assert.equal(this.count(call), 0);
    }
    this.calls.push(call);
    this.within = undefined;
    this.react(call);
    this.within = within;
  }
}

/** A carrier in use: passes on the calls and records what its user knows. */
export class CheckedCarrier<Peer = Client> {
  readonly client: Peer;
  readonly carrier: Carrier;
  readonly user = new RecordingUser();

  constructor({ carrier, client }: { readonly carrier: Carrier; readonly client: Peer }) {
    this.carrier = carrier;
    this.client = client;
  }

  open(): void {
    this.#call('open', () => this.carrier.open(this.user));
  }

  write(bytes: Buffer | string): number {
    const { user, carrier } = this;
    const result = this.#call('write', () => carrier.write(Buffer.from(bytes)));
    if (result === WAITS) user.isWaiting = true;
    else if (result === TAKEN) assert.equal(carrier.untakenBytes, 0);
    if (result === FAILED) user.isOver = true;
    return result;
  }

  /** Writes bytes that are taken, at once or later. */
  async send(bytes: Buffer | string): Promise<void> {
    assert.notEqual(this.write(bytes), FAILED);
    await until(() => !this.user.isWaiting, 'taken');
  }

  pause(): void {
    this.#call('pause', () => this.carrier.pause());
  }

  resume(): void {
    this.#call('resume', () => this.carrier.resume());
  }

  async look(): Promise<void> {
    let hasLooked = false;
    this.#call('look', () => {
      this.carrier.look(() => {
        hasLooked = true;
      });
    });
    assert(!hasLooked, 'a look takes a turn');
    await until(() => hasLooked || this.user.isOver, 'looked');
  }

  end(): void {
    this.#call('end', () => this.carrier.end());
  }

  destroy(): void {
    this.user.isOver = true;
    this.#call('destroy', () => this.carrier.destroy());
  }

  /** Waits for calls of the user. */
  async called(call: UserCall, times = 1): Promise<void> {
    await until(() => this.user.count(call) >= times, call);
  }

  #call<T>(name: string, run: () => T): T {
    const { within } = this.user;
    this.user.within = name;
    const result = run();
    this.user.within = within;
    return result;
  }
}

export async function until(holds: () => boolean, what: string): Promise<void> {
  for (let turns = 0; !holds(); turns++) {
    assert(turns < TURNS_MAX, `waits for: ${what}`);
    await nextTurn();
  }
}

export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn();
}
