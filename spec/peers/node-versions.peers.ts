/**
 * The HTTP vectors, the engine's contract suite and the integration specs, on the
 * other supported versions of Node.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NODES, runProgram } from './tools.ts';

/**
 * Groups and files. Of the specs of WAN, those that replicate between processes are enough: the
 * others run long and hardly depend on Node.
 */
const SPECS = [
  'spec/http/vectors.spec.ts',
  'spec/engine/embedded/embedded-engine.spec.ts',
  'spec/groups/integration.group.ts',
  'spec/integration/wan-killed.spec.ts',
  'spec/integration/wan-restored.spec.ts',
];

for (const { version, program } of NODES) {
  test(`Node ${version} passes the specs`, async (t) => {
    const flags = ['--import', 'tsx', '--test', '--test-concurrency=2', '--test-reporter=tap'];
    const { code, output } = await runProgram(program, [...flags, ...SPECS], {
      node: program,
      env: { ...process.env, SPEC_PROGRAM: 'built' },
    });
    const [passed = ''] = /^# pass \d+$/m.exec(output) ?? [];
    t.diagnostic(passed);
    assert.equal(code, 0, failuresIn(output));
    assert.match(passed, /[1-9]/);
  });
}

/** The failed tests, each with the lines that show the reason. */
function failuresIn(output: string): string {
  const lines = output.split('\n');
  const shown = lines.flatMap((line, index) =>
    /^\s*not ok/.test(line) ? lines.slice(index, index + 20) : [],
  );
  return shown.length > 0 ? shown.join('\n') : output.slice(-4000);
}
