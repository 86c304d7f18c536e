/**
 * The events of an embedded member. Listeners are called in a microtask, so that an error that one
 * throws is the program's. Tested by embedding/member-events.spec.ts.
 */
import { EventEmitter } from 'node:events';
import { shownValue, typeFault, valueFault } from '../base/argument-faults.ts';
import type { SettledState } from '../cluster/cluster.ts';
import { checkOptions, unknownName } from '../local/known-options.ts';

/** Address and ports of a member. */
export interface ListeningAt {
  /** The bound address. */
  readonly address: string;
  /** The bound port. */
  readonly port: number;
  /** The port of the health listener; undefined if there is none. */
  readonly healthPort: number | undefined;
  /** The URL of the member, with the first part of every path. */
  readonly url: string;
}

/** The events of a member, with the arguments of their listeners. */
export interface MemberEvents {
  /**
   * The ports are bound: health is served, and everything else once `startMember` resolves. Only for
   * listeners that `startMember` gets with `on`.
   */
  listening(at: ListeningAt): void;
  /** The state of the cluster has changed to this one. */
  state(state: SettledState): void;
  /**
   * The member is to end, reported once: `request` is the path of an HTTP client's request, and the
   * program should call `close`; it is undefined if the program has called `close` or `drain`.
   */
  stopping(request: string | undefined): void;
}

const EVENTS: readonly string[] = ['listening', 'state', 'stopping'];

/** The listeners of a member. @internal */
export class MemberListeners {
  readonly #emitter = new EventEmitter();

  /** `on`: the first listeners, by event. */
  constructor(on: Partial<MemberEvents>) {
    checkOptions(on, EVENTS, 'on');
    for (const [name, listener] of Object.entries(on)) {
      if (listener !== undefined) this.add(name, listener);
    }
  }

  add(name: string, listener: (...values: never[]) => void, isOnce = false): void {
    check(name, listener);
    if (isOnce) this.#emitter.once(name, listener as () => void);
    else this.#emitter.on(name, listener as () => void);
  }

  remove(name: string, listener: (...values: never[]) => void): void {
    check(name, listener);
    this.#emitter.off(name, listener as () => void);
  }

  /** Calls the listeners of the event after the current call. */
  emit<Name extends keyof MemberEvents>(
    name: Name,
    value: Parameters<MemberEvents[Name]>[0],
  ): void {
    if (this.#emitter.listenerCount(name) > 0)
      queueMicrotask(() => this.#emitter.emit(name, value));
  }
}

function check(name: string, listener: unknown): void {
  if (!EVENTS.includes(name)) throw valueFault(unknownName('event', name, EVENTS));
  if (typeof listener === 'function') return;
  throw typeFault(`Cannot use ${shownValue(listener)} as listener of ${name}: not a function`);
}
