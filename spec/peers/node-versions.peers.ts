/**
 * The HTTP vectors over real sockets, the engine's contract suite and the integration specs, on the
 * other supported versions of Node.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { NODES, ROOT, runProgram } from './tools.ts';

/** Long specs that hardly depend on Node; `wan-process.spec.ts` covers WAN over sockets. */
const EXCLUDED = ['wan.spec.ts', 'wan-killed.spec.ts', 'wan-sync.spec.ts'];
const INTEGRATION = readdirSync(join(ROOT, 'spec/integration'))
  .filter((name) => name.endsWith('.spec.ts') && !EXCLUDED.includes(name))
  .map((name) => `spec/integration/${name}`);

const SPECS = [
  'spec/http/socket-vectors.spec.ts',
  'spec/engine/embedded/embedded-engine.spec.ts',
  ...INTEGRATION,
];

for (const { version, program } of NODES) {
  test(`Node ${version} passes the specs`, async (t) => {
    const flags = ['--import', 'tsx', '--test', '--test-concurrency=2', '--test-reporter=tap'];
    const { code, output } = await runProgram(program, [...flags, ...SPECS], { node: program });
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
