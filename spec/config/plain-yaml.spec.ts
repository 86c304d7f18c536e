/** The reader of simple YAML: it returns the same document as the other parser, or undefined. */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import fc from 'fast-check';
import { readPlainYaml } from '../../src/config/plain-yaml.ts';
import { parseYaml } from '../../src/config/yaml-document.ts';

/** Texts that it reads. */
const READ = [
  'grid:\n  map:\n    a:\n      time-to-live-seconds: 5\n    b: {max-idle-seconds: 7}\n',
  '# comment\n\ngrid:   # more\n    cluster-name: my member  # name\n\n    x:\n    - a\n    - "b: c"\n',
  'grid:\n  realms:\n    - name: r\n      users: [{username: u, roles: [a, b]}]\n    - name: s\n',
  '{"grid": {"a": 1,\n  "b": ["x", {"c":true}],\n\n  "d": {}}}\n# end',
  'grid:\n  a: $\u007bNAME:x}\n  b: 10.3.10.*\n  c: host:5701\n  d: ~\n  e:\n  "f g": \'h i\'\n  j: -1',
  'grid: {map: {default: {a: b}}}',
];
/** Texts that it does not read, because of their syntax. */
const LEFT = [
  'grid: &a {b: 1}',
  'grid:\n  a: *b',
  'grid:\n  a: !!str 5',
  'grid:\n  a: |\n    text',
  'grid:\n  a: b\n   c',
  'grid:\n  a: "b\\n"',
  "grid:\n  a: 'it''s'",
  'grid:\n\ta: 1',
  'grid:\r\n  a: 1',
  '---\ngrid: {}',
  'grid: {a: 1, a: 2}',
  'grid:\n  a: 1\n  a: 2',
  'grid:\n  a: 1\n b: 2',
  'grid:\n    a: 1\n  b: 2',
  'grid: {a: 1\n}',
  'grid: {a}',
  'a: 1\nb: 2',
  '',
  '[a]',
  `${'{"a":'.repeat(60)}1${'}'.repeat(60)}`,
];

describe('readPlainYaml', () => {
  for (const text of READ) {
    it(`reads ${JSON.stringify(text)}`, () => {
      const { root, problems } = parseYaml(text, 'f');
      assert.equal(problems.count, 0);
      assert.deepEqual(read(text), root);
    });
  }
  for (const text of LEFT) {
    it(`does not read ${JSON.stringify(text).slice(0, 80)}`, () => {
      assert.equal(read(text), undefined);
    });
  }

  it('reports its progress', () => {
    const names = Array.from({ length: 40_000 }, (_, at) => `    m${at}:\n`);
    const offsets: number[] = [];
    readPlainYaml(`grid:\n  map:\n${names.join('')}`, 'f', (offset) => offsets.push(offset));
    assert.equal(offsets.length, 2);
    assert.ok((offsets[0] ?? 0) < (offsets[1] ?? 0));
  });
});

test('readPlainYaml reads any text like the other parser', () => {
  const name = fc.constantFrom(
    'a',
    'm-1',
    'x.y',
    '"q k"',
    "'s'",
    '007',
    'null',
    '~',
    'm*',
    '/p',
    '.5',
  );
  const value = fc.constantFrom(
    ...[
      '1',
      'my name',
      'a:b',
      'a: b',
      '-1',
      '- x',
      '~',
      '',
      'a #c',
      'a#b',
      '{a: 1}',
      '[a, b]',
      '{}',
    ],
    ...['{a:1}', '{"a":1}', '{a}', '[a,b]', '*x', '&x y', '!!str x', '|', "'it''s'", 'x  y', '"é"'],
    ...['é', '{a: [}', 'x=y', 'x ', '"x', 'x -y', '{a: 1} # c', '{a: 1}#c', '{a: {b: [c]}}', '? x'],
  );
  const line = fc.record({
    indent: fc.constantFrom(0, 2, 2, 2, 4, 4, 6, 3),
    begin: fc.constantFrom('', '', '', '- ', '# '),
    name,
    colon: fc.constantFrom(': ', ': ', ':', ' : ', ''),
    value: fc.oneof({ weight: 1, arbitrary: fc.constant('') }, { weight: 2, arbitrary: value }),
    end: fc.constantFrom('\n', '\n', '\n', '\n\n', ' # c\n', ' \n', ''),
  });
  const texts = fc.array(line, { maxLength: 8 }).map((lines) => {
    const written = lines.map(
      (each) =>
        ' '.repeat(each.indent) + each.begin + each.name + each.colon + each.value + each.end,
    );
    return `grid:\n${written.join('')}`;
  });
  fc.assert(
    fc.property(texts, (text) => {
      const root = read(text);
      if (root === undefined) return;
      const other = parseYaml(text, 'f');
      assert.equal(other.problems.count, 0, JSON.stringify(other.problems.listed));
      assert.deepEqual(root, other.root);
    }),
    { numRuns: 2000 },
  );
});

function read(text: string) {
  return readPlainYaml(text, 'f', () => {});
}
