import assert from 'node:assert/strict';
import { test } from 'node:test';
import { versionFault } from '../../src/cli/node-version.ts';

test('versionFault names versions before 20.20, and no others', () => {
  for (const version of ['v20.20.0', 'v20.21.3', 'v21.0.0', 'v22.3.0', 'v100.0.0-nightly']) {
    assert.equal(versionFault(version), '', version);
  }
  for (const version of ['v20.19.9', 'v20.2.0', 'v18.20.8', 'v8.0.0', 'v0.12.18']) {
    assert.equal(
      versionFault(version),
      `Cannot run on Node ${version}: gridnode needs Node 20.20 or newer`,
    );
  }
});
