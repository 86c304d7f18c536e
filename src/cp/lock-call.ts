/** The calls that take and release locks. Tested by cp-actions.spec.ts. */
import type { Clock } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
import type { Waiter } from '../cluster/cluster.ts';
import { naturalIn } from '../engine/decimal.ts';
import type { Call } from '../surface/action.ts';
import { Parameters, shownText } from '../v1/parameters.ts';
import { readForm, refuse, withoutQuery } from '../v1/v1-calls.ts';
import { textOf } from './byte-text.ts';
import type { CpGroup } from './cp-groups.ts';
import type { Cp } from './cp-part.ts';
import { FenceContent, fail, respondDone, respondJson } from './cp-responses.ts';
import { SESSION, WAIT, WAIT_SECONDS_MAX } from './cp-routes.ts';
import { LockRequest } from './lock-request.ts';
import {
  HELD,
  type LockOutcome,
  type LockReceiver,
  type LockWork,
  NO_SESSION,
  NOT_HELD,
  RELEASED,
  TAKEN,
} from './lock-work.ts';
import { areNames, shownName } from './path-names.ts';
import { perform } from './steps.ts';

interface LockCallParts {
  readonly cp: Pick<Cp, 'groups' | 'state' | 'waits'>;
  /** Waiting requests. */
  readonly waiting: Set<Waiter>;
  readonly clock: Clock;
  readonly content: FenceContent;
}

export function lockCalls({ cp, waiting, clock }: Omit<LockCallParts, 'content'>) {
  const parts = { cp, waiting, clock, content: new FenceContent() };
  const taking = new Parameters([SESSION, WAIT]);
  const releasing = new Parameters([SESSION]);
  return {
    takeCpLock: {
      waits: () => true,
      run: withoutQuery((call) => {
        if (!readForm(call, call.request.content, taking) || !areNames(call)) return;
        const session = sessionIn(call, taking);
        const seconds = session === undefined ? undefined : waitIn(call, taking);
        if (session !== undefined && seconds !== undefined)
          new LockCall(call, parts, session, seconds).begin();
      }),
    },
    releaseCpLock: withoutQuery((call) => {
      if (!readForm(call, call.request.content, releasing) || !areNames(call)) return;
      const session = sessionIn(call, releasing);
      if (session !== undefined) new LockCall(call, parts, session, undefined).begin();
    }),
  };
}

/** Takes or releases a lock, and responds. */
class LockCall implements LockReceiver {
  readonly #call: Call;
  readonly #number: number;
  readonly #parts: LockCallParts;
  readonly #session: number;
  readonly #seconds: number | undefined;

  /** `seconds`: the time to wait for the lock; undefined: the call releases it. */
  constructor(call: Call, parts: LockCallParts, session: number, seconds: number | undefined) {
    this.#call = call;
    this.#number = call.request.number;
    this.#parts = parts;
    this.#session = session;
    this.#seconds = seconds;
  }

  begin(): void {
    const { groups } = this.#parts.cp;
    const name = textOf(this.#call.name);
    const group = groups.findNow(name);
    if (group === undefined) this.#find(name);
    else this.#use(group);
  }

  onLock(outcome: LockOutcome, work: LockWork): void {
    if (outcome === TAKEN) respondJson(this.#call, this.#parts.content.of(work.fence));
    else if (outcome === RELEASED) {
      // The name is valid until the response.
      this.#parts.cp.waits.onFree(work.group, work.name);
      respondDone(this.#call);
    } else if (outcome === HELD) this.#wait(work);
    else this.#refuse(outcome);
  }

  onFault(error: unknown): void {
    if (error instanceof GridError) fail(this.#call, error);
    else this.#call.request.fail(error, this.#number);
  }

  #find(name: string): void {
    perform(
      this.#parts.cp.groups.find(name),
      (group) => {
        if (group !== undefined) this.#use(group);
        else this.#refuse(this.#seconds === undefined ? NOT_HELD : NO_SESSION);
      },
      (error) => this.onFault(error),
    );
  }

  #use(group: CpGroup): void {
    const { state, waits } = this.#parts.cp;
    const { key } = this.#call;
    const work = state.lockWork(group, key, this.#session, this);
    if (this.#seconds === undefined) work.release();
    else work.take(!waits.has(group, key));
  }

  /** Waits for a lock that is held, if the call may. */
  #wait({ group, name, session }: LockWork): void {
    const call = this.#call;
    const seconds = this.#seconds;
    if (seconds === undefined || seconds === 0 || !call.request.mayWait)
      return refuse(call, 'CP_LOCK_HELD', { lock: shownName(name) });
    const { waiting, clock, cp } = this.#parts;
    const wanted = { group, name: textOf(name), session };
    new LockRequest(call, { waits: cp.waits, waiting, clock }, wanted).begin(seconds);
  }

  #refuse(outcome: typeof NO_SESSION | typeof NOT_HELD): void {
    const call = this.#call;
    const session = this.#session;
    if (outcome === NO_SESSION) refuse(call, 'CP_SESSION_UNKNOWN', { id: session });
    else refuse(call, 'CP_LOCK_NOT_HELD', { lock: shownName(call.key), session });
  }
}

/** Returns the session of the form; undefined if the request has been refused. */
function sessionIn(call: Call, form: Parameters): number | undefined {
  const value = form.get(SESSION);
  if (value === undefined) {
    refuse(call, 'PARAMETER_MISSING', { name: SESSION });
    return undefined;
  }
  const session = naturalIn(value.bytes, value.start, value.end);
  if (session >= 0) return session;
  const values = { name: SESSION, seen: shownText(value), expected: 'the id of a session' };
  refuse(call, 'PARAMETER_INVALID', values);
  return undefined;
}

function waitIn(call: Call, form: Parameters): number | undefined {
  const value = form.get(WAIT);
  if (value === undefined) return 0;
  const seconds = naturalIn(value.bytes, value.start, value.end);
  if (seconds <= WAIT_SECONDS_MAX) return seconds;
  const expected = `an integer from 0 to ${WAIT_SECONDS_MAX}`;
  refuse(call, 'PARAMETER_INVALID', { name: WAIT, seen: shownText(value), expected });
  return undefined;
}
