/** A request that waits for a lock. Tested by cp-actions.spec.ts. */
import assert from 'node:assert';
import type { Clock, Timer } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
import type { Waiter } from '../cluster/cluster.ts';
import type { Call, Wait } from '../surface/action.ts';
import { RETRY_LATER } from '../surface/responses.ts';
import { refuse } from '../v1/v1-calls.ts';
import type { CpGroup } from './cp-groups.ts';
import { fail, respondJson } from './cp-responses.ts';
import type { TakenLock } from './cp-state.ts';
import type { LockWaiter, LockWaits } from './lock-wait.ts';

interface LockRequestParts {
  readonly waits: LockWaits;
  /** Waiting requests. */
  readonly waiting: Set<Waiter>;
  readonly clock: Clock;
}

/** The lock, and the session that wants it. */
interface WantedLock {
  readonly group: CpGroup;
  /** One character per byte. */
  readonly name: string;
  readonly session: number;
}

export class LockRequest implements Wait, Waiter, LockWaiter {
  readonly session: number;
  readonly #call: Call;
  readonly #number: number;
  readonly #parts: LockRequestParts;
  readonly #lock: WantedLock;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(call: Call, parts: LockRequestParts, lock: WantedLock) {
    this.session = lock.session;
    this.#call = call;
    this.#number = call.request.number;
    this.#parts = parts;
    this.#lock = lock;
  }

  begin(seconds: number): void {
    const { waits, waiting, clock } = this.#parts;
    const { group, name } = this.#lock;
    const { request } = this.#call;
    if (this.#call.changeRefusal !== undefined) return this.#call.refuseChange(WAITING);
    this.#call.wait = this;
    waiting.add(this);
    waits.add(group, name, this);
    this.#timer = clock.after(seconds * 1000, () => this.finishNow());
    if (request.awaitItem()) return;
    this.#leave();
    request.refuse('NO_ROOM_TO_WAIT', { bytesMax: request.inFlightBytesMax }, RETRY_LATER);
  }

  onTaken({ fence }: TakenLock): void {
    this.#end(() => respondJson(this.#call, `{"fence":${fence}}`));
  }

  onSessionEnded(): void {
    this.#end(() => refuse(this.#call, 'CP_SESSION_UNKNOWN', { id: this.session }));
  }

  onFault(error: unknown): void {
    this.#end(() => {
      if (!(error instanceof GridError)) throw error;
      fail(this.#call, error);
    });
  }

  /** Ends the wait without the lock: its time is over, or the client has ended its input. */
  finishNow(): void {
    if (this.#isOver) return;
    const lock = JSON.stringify(this.#lock.name.slice(0, NAME_SHOWN_MAX));
    this.#end(() => refuse(this.#call, 'CP_LOCK_HELD', { lock }));
  }

  endWait(): void {
    this.#end(() => this.#call.refuseChange(WAITING));
  }

  onResult(): undefined {
    assert.fail('the wait has no operation of the engine');
  }

  /** Ends the wait, and responds. An error is a fault of the member. */
  #end(respond: () => void): void {
    this.#leave();
    try {
      respond();
    } catch (error) {
      this.#call.request.fail(error, this.#number);
    }
  }

  #leave(): void {
    if (this.#isOver) assert.fail('a wait ends once');
    this.#isOver = true;
    this.#timer?.cancel();
    this.#call.wait = undefined;
    this.#parts.waiting.delete(this);
    this.#parts.waits.remove(this.#lock.group, this.#lock.name, this);
  }
}

const WAITING = 'wait for a lock';
const NAME_SHOWN_MAX = 100;
