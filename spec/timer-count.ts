/**
 * Counts the timers of the process, including those that do not keep it alive, which Node does not
 * list.
 */
import { createHook } from 'node:async_hooks';

export interface TimerCount {
  /** Returns the number of timers set since that have neither fired nor been cancelled. */
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
      // The hook is notified of ends in a later turn.
      await new Promise(setImmediate);
      return timers.size;
    },
    end: () => {
      hook.disable();
    },
  };
}
