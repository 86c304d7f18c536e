/** The changes that `make mutate` can make, its choice of them, and the specs that it runs. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { coveringSpecs } from './covering-specs.ts';
import { chosenFrom, mutated, mutationsOf, withInsertions } from './mutations.ts';

const TEXT = `import { a } from './a1.ts';
type Size = 3;
/** Comment with 1 < 2. */
export function f(x: number, y: boolean): string {
  assert(x > 1);
  if (x > 9) assert.fail('no');
  if (x <= 7 && !y) throw new Error('no');
  for (let i = 0x10; i < x; i++) x -= i * 2;
  return y ? 'a' + x : 'b';
}
`;

it('mutationsOf returns each change of an operator, bound, constant and branch', () => {
  const lines = TEXT.split('\n');
  const changes = mutationsOf({ 'src/f.ts': TEXT }).map((mutation) => {
    const after = mutated(TEXT, mutation).split('\n');
    const at = after.findIndex((line, index) => line !== lines[index]);
    return `${mutation.kind}: ${after[at]?.trim()}`;
  });
  assert.deepEqual(changes, [
    "branch: if (true) throw new Error('no');",
    "branch: if (false) throw new Error('no');",
    "operator: if (x <= 7 || !y) throw new Error('no');",
    "bound: if (x < 7 && !y) throw new Error('no');",
    "constant: if (x <= 8 && !y) throw new Error('no');",
    "operator: if (x <= 7 && y) throw new Error('no');",
    'constant: for (let i = 17; i < x; i++) x -= i * 2;',
    'bound: for (let i = 0x10; i <= x; i++) x -= i * 2;',
    'operator: for (let i = 0x10; i < x; i++) x += i * 2;',
    'operator: for (let i = 0x10; i < x; i++) x -= i / 2;',
    'constant: for (let i = 0x10; i < x; i++) x -= i * 3;',
    "branch: return !(y) ? 'a' + x : 'b';",
  ]);
});

it('chosenFrom chooses each mutation once, of all kinds alike, and the same for the same seed', () => {
  const all = mutationsOf({ 'src/f.ts': TEXT });
  const chosen = (seed: number, count: number) => chosenFrom(all, count, new Random(seed));
  assert.deepEqual(chosen(7, 8), chosen(7, 8));
  assert.notDeepEqual(chosen(7, 8), chosen(8, 8));
  assert.equal(new Set(chosen(7, 4).map(({ kind }) => kind)).size, 4);
  assert.equal(new Set(chosen(7, 100)).size, all.length);
});

it('coveringSpecs returns the spec that tests the file, then those that take the least time', () => {
  const blocks = [0, 20, 40].map((block) => ({ file: 'src/http/a.ts', block }));
  const run = (spec: string, ms: number, ...reached: number[]) => ({ spec, ms, reached });
  const runs = [
    run('spec/http/near.spec.ts', 200, 0, 1, 2),
    run('spec/slow.spec.ts', 900, 0, 1),
    run('spec/other.spec.ts', 1, 0, 2),
    run('spec/whole.spec.ts', 60, 0, 1, 2),
    run('spec/quick.spec.ts', 50, 0, 1),
    run('spec/http/a.spec.ts', 1000, 1),
  ];
  assert.deepEqual(
    coveringSpecs(blocks[1]!, blocks, runs).map(({ spec }) => spec),
    [
      'spec/http/a.spec.ts',
      'spec/http/near.spec.ts',
      'spec/whole.spec.ts',
      'spec/quick.spec.ts',
      'spec/slow.spec.ts',
    ],
  );
});

it('mutationsOf names the innermost block, in which withInsertions inserts code', () => {
  const places = mutationsOf({ 'src/f.ts': TEXT }).map(({ block }) => block);
  const [inFunction = 0, ...others] = new Set(places);
  assert.deepEqual(others, []);
  const inserted = withInsertions(TEXT, [[inFunction, 'reach(0);']]);
  assert.match(inserted, /: string \{reach\(0\);\n/);
});
