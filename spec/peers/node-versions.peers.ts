/**
 * The HTTP vectors, the carriers, the engine's contract suite and the integration specs, on the other
 * supported versions of Node; and the integration specs on sockets, on every version.
 */
import assert from 'node:assert/strict';
import { describe, it, type TestContext, test } from 'node:test';
import { NODES, runProgram } from './tools.ts';

const INTEGRATION = 'spec/groups/integration.group.ts';

/**
 * Groups and files. Of the specs of WAN, those that replicate between processes are enough: the
 * others run long and hardly depend on Node.
 */
const SPECS = [
  'spec/http/vectors.spec.ts',
  'spec/http/carrier.spec.ts',
  'spec/http/handle-carrier.spec.ts',
  'spec/http/tcp-handles.spec.ts',
  'spec/engine/embedded/embedded-engine.spec.ts',
  INTEGRATION,
  'spec/integration/wan-killed.spec.ts',
  'spec/integration/wan-restored.spec.ts',
];

for (const { version, program } of NODES) {
  test(`Node ${version} passes the specs`, (t) => pass(t, program, SPECS));
}

// In turn they would take longer than all other specs: they mostly wait.
describe('Servers on sockets', { concurrency: 2 }, () => {
  // The variable makes servers use sockets, as Node would print a deprecation.
  const environment = { NODE_PENDING_DEPRECATION: '1' };
  const all = [{ version: 20, program: process.execPath }, ...NODES];
  for (const { version, program } of all) {
    it(`pass the specs on Node ${version}`, (t) => pass(t, program, [INTEGRATION], environment));
  }
});

/** Runs spec files with a version of Node. */
async function pass(
  context: TestContext,
  program: string,
  specs: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  const flags = ['--import', 'tsx', '--test', '--test-concurrency=2', '--test-reporter=tap'];
  const { code, output } = await runProgram(program, [...flags, ...specs], {
    node: program,
    env: { ...process.env, SPEC_PROGRAM: 'built', ...environment },
  });
  const [passed = ''] = /^# pass \d+$/m.exec(output) ?? [];
  context.diagnostic(passed);
  assert.equal(code, 0, failuresIn(output));
  assert.match(passed, /[1-9]/);
}

/** The failed tests, each with the lines that show the reason. */
function failuresIn(output: string): string {
  const lines = output.split('\n');
  const shown = lines.flatMap((line, index) =>
    /^\s*not ok/.test(line) ? lines.slice(index, index + 20) : [],
  );
  return shown.length > 0 ? shown.join('\n') : output.slice(-4000);
}
