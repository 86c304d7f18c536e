/**
 * node:test follows the asynchronous context of each test through hooks, to find the suite in which
 * a test is defined and the test to which an uncaught error belongs. The hooks are called for every
 * promise, which is an eighth of the processor time of all specs. This module is loaded before
 * node:test (`--import`), so that a group can end the hooks once its tests are defined. After that,
 * an uncaught error fails the group and is printed without the name of its test.
 */
import hooks from 'node:async_hooks';

const { createHook } = hooks;
const created: hooks.AsyncHook[] = [];

hooks.createHook = (callbacks) => {
  const hook = createHook(callbacks);
  created.push(hook);
  return hook;
};

/** Disables the hooks that were created since this module was loaded; prints uncaught errors. */
export function endHooks(): void {
  for (const hook of created) hook.disable();
  process.on('uncaughtExceptionMonitor', (error: NodeJS.ErrnoException) => {
    // The runner has ended: printing that would be the next such error.
    if (error.code !== 'EPIPE') console.error(error);
  });
}
