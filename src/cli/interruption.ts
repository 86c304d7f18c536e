/**
 * The end of a command by SIGINT or SIGTERM, such as Ctrl-C: it first prints how to continue.
 * Tested by map-transfer.spec.ts.
 */

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Calls `print` before a signal ends the process. Returns a function that stops doing so. */
export function beforeInterruption(print: () => void): () => void {
  const onSignal = (signal: NodeJS.Signals) => {
    stop();
    print();
    // Without a listener it ends the process, and the shell sees which signal it was.
    process.kill(process.pid, signal);
  };
  const stop = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return stop;
}
