/** The changes that `make mutate` can make, its choice of them, and the specs that it runs. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { coveringSpecs } from './covering-specs.ts';
import { chosenFrom, mutated, mutationsOf } from './mutations.ts';

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

it('coveringSpecs returns the spec that tests the file, then the nearest importers', () => {
  const imports: Record<string, string[]> = {
    'src/http/a.ts': [],
    'src/http/b.ts': ['src/http/a.ts'],
    'src/c.ts': ['src/http/b.ts'],
    'spec/http/other.spec.ts': ['src/http/a.ts'],
    'spec/rest/near.spec.ts': ['src/http/a.ts'],
    'spec/http/b.spec.ts': ['src/http/b.ts'],
    'spec/a.spec.ts': ['src/c.ts'],
    'spec/types.spec.ts': [],
    'spec/apart.spec.ts': ['src/d.ts'],
  };
  const importsOf = (file: string) => [
    ...(imports[file] ?? []).map((path) => ({ path, typesOnly: false, names: [] })),
    ...(file === 'spec/types.spec.ts'
      ? [{ path: 'src/http/a.ts', typesOnly: true, names: [] }]
      : []),
  ];
  const specs = coveringSpecs('src/http/a.ts', 'spec/a.spec.ts', Object.keys(imports), importsOf);
  assert.deepEqual(specs, [
    'spec/a.spec.ts',
    'spec/http/other.spec.ts',
    'spec/rest/near.spec.ts',
    'spec/http/b.spec.ts',
  ]);
});
