/**
 * Cheap assertions always run. They are written `if (…) assert.fail('…')`, so that no argument is
 * built for them. Expensive assertions take time in proportion to the data and run only in the
 * specs, which set GRIDNODE_CHECKS. No expensive assertion is on the path of a request.
 */

/** Whether expensive assertions run. */
export const HAS_EXPENSIVE_ASSERTIONS = process.env.GRIDNODE_CHECKS === 'dear';
