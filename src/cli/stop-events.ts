/**
 * What comes to a running process from outside its work: the signals to stop and to read its files
 * again, and failures that nothing caught. Registered once and kept until the process ends, so that
 * a signal that comes while the member still starts is not lost.
 */
import type { EventEmitter } from 'node:events';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
/** Node opens its debugger at the first, on a port; the second ends a process that does not listen. */
const IGNORED_SIGNALS = ['SIGUSR1', 'SIGUSR2'] as const;
/** A signal so soon after the first is the first, sent to the process and to its group, in milliseconds. */
const SAME_SIGNAL_MS = 250;

export class StopEvents {
  /** The first signal, by name. */
  readonly first: Promise<string>;
  /** The signal after it, of either kind, 250 ms later or more. */
  readonly second: Promise<string>;
  /** What was thrown or rejected and not caught. */
  readonly failure: Promise<unknown>;
  /** Told of signals that mean nothing here. */
  onIgnored: (signal: string) => void = () => {};
  #onReload: (() => void) | undefined;
  /** Whether a signal to reload waits for somebody to do it. */
  #isReloadDue = false;

  /** `source` is the process, or in tests what stands for it; `now` in milliseconds. */
  constructor(source: EventEmitter, now: () => number = () => performance.now()) {
    const [first, second, failure] = [deferred<string>(), deferred<string>(), deferred<unknown>()];
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

  /** Who reads the files again, from now on; at once, if that has been asked for before. */
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
