import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasColours } from '../../src/cli/terminals.ts';

const cases: readonly (readonly [NodeJS.ProcessEnv, boolean])[] = [
  [{}, true],
  [{ TERM: 'xterm' }, true],
  [{ TERM: 'dumb' }, false],
  [{ TERM: 'dumb', FORCE_COLOR: '1' }, true],
  [{ FORCE_COLOR: '0' }, false],
  [{ FORCE_COLOR: 'false' }, false],
  [{ FORCE_COLOR: '' }, true],
  [{ NO_COLOR: '1' }, false],
  [{ NO_COLOR: '1', FORCE_COLOR: '1' }, false],
  [{ NO_COLOR: '' }, true],
];
for (const [environment, expected] of cases) {
  test(`hasColours with ${JSON.stringify(environment)} is ${expected}`, () => {
    assert.equal(hasColours(environment), expected);
  });
}
