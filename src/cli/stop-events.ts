/**
 * The events that end or reload a running process: signals to stop, signals to reload, and uncaught
 * errors. The handlers are registered once and remain until the process ends, so a signal that arrives
 * while the member starts is not lost. Tested by serve.spec.ts.
 */
import type { EventEmitter } from 'node:events';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
/** By default Node opens a debugger port at the first; the second ends a process without a handler. */
const IGNORED_SIGNALS = ['SIGUSR1', 'SIGUSR2'] as const;
/** A signal this soon after the first is the same one, sent to the process and to its group, in ms. */
const SAME_SIGNAL_MS = 250;

export class StopEvents {
  /** The first signal, by name. */
  readonly first: Promise<string>;
  /** The next signal, of either kind, at least SAME_SIGNAL_MS after the first. */
  readonly second: Promise<string>;
  /** The uncaught error or rejection. */
  readonly failure: Promise<unknown>;
  /** Called with each signal that has no effect. */
  onIgnored: (signal: string) => void = () => {};
  #onReload: (() => void) | undefined;
  /** Whether a signal to reload was received while `onReload` was not set. */
  #isReloadDue = false;

  /** `source` is the process, or a substitute in tests; `now` is in milliseconds. */
  constructor(source: EventEmitter, now: () => number = () => performance.now()) {
    const first = deferred<string>();
    const second = deferred<string>();
    const failure = deferred<unknown>();
    this.first = first.promise;
    this.second = second.promise;
    this.failure = failure.promise;
    let firstMs: number | undefined;
    for (const name of SIGNALS) {
      source.on(name, () => {
        if (firstMs === undefined) first.resolve(name);
        else if (now() - firstMs >= SAME_SIGNAL_MS) second.resolve(name);
        firstMs ??= now();
      });
    }
    for (const name of IGNORED_SIGNALS) source.on(name, () => this.onIgnored(name));
    source.on('SIGHUP', () => {
      this.#isReloadDue = true;
      this.#reload();
    });
    source.on('uncaughtException', failure.resolve);
    source.on('unhandledRejection', failure.resolve);
  }

  /** Sets the function that reloads. It is called at once if a signal was received before. */
  set onReload(reload: () => void) {
    this.#onReload = reload;
    this.#reload();
  }

  #reload(): void {
    if (!this.#isReloadDue || this.#onReload === undefined) return;
    this.#isReloadDue = false;
    this.#onReload();
  }
}

interface Deferred<Value> {
  readonly promise: Promise<Value>;
  resolve(value: Value): void;
}

function deferred<Value>(): Deferred<Value> {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
