/** Counts the timers of the process, also those that do not keep it running, which Node does not list. */
import { createHook } from 'node:async_hooks';

export interface TimerCount {
  /** Timers set since, that have neither come due nor been cancelled. */
  count(): Promise<number>;
  end(): void;
}

/** Counts timers that are set from now on. */
export function countTimers(): TimerCount {
  const timers = new Set<number>();
  const hook = createHook({
    init: (id, type) => {
      if (type === 'Timeout') timers.add(id);
    },
    destroy: (id) => {
      timers.delete(id);
    },
  });
  hook.enable();
  return {
    count: async () => {
      // The hook is told of ends in a later turn.
      await new Promise(setImmediate);
      return timers.size;
    },
    end: () => {
      hook.disable();
    },
  };
}
