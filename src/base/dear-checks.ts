/**
 * Assertions have two prices. A cheap one is made always, as `if (…) assert.fail('…')`: without an argument
 * that is made for it. A dear one costs time in proportion to the data, and is made only in the specs, which
 * set GRIDNODE_CHECKS. None of those is on the path of a request.
 */

/** Whether dear assertions are made. */
export const HAS_DEAR_CHECKS = process.env.GRIDNODE_CHECKS === 'dear';
