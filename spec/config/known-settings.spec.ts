/**
 * Every setting that a file may hold, in both forms: each is stated once with a value of its type,
 * and is used, named in a warning or refused; each is misspelt once, and the line and the right name
 * are told. Generated from the known settings themselves.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Form, type KnownContent, knownSettings } from '../../src/config/known-settings.ts';
import { StatementReader } from '../../src/config/statements.ts';
import type { ValueType } from '../../src/config/value-type.ts';
import { parseXml } from '../../src/config/xml-document.ts';
import { parseYaml } from '../../src/config/yaml-document.ts';
import { load, type Stated, xmlOf, yamlOf } from './documents.ts';

interface KnownPath {
  /** For yamlOf or xmlOf. */
  readonly steps: readonly string[];
  readonly types: readonly ValueType[];
}

/** Every path that a value may stand at. */
function pathsOf(content: KnownContent, form: Form, around: readonly string[] = []): KnownPath[] {
  const below: [string, KnownContent, readonly ValueType[]][] = [];
  for (const [name, node] of content.children) {
    const isNamed = form === 'xml' && node.steps.includes('{}');
    below.push([isNamed ? `${name}{}` : name, node.content, node.types]);
  }
  if (content.named) below.push([freeName(around), content.named.content, content.named.types]);
  if (content.item) below.push(['[]', content.item.content, content.item.types]);
  if (content.isOpen) below.push(['some-other-name', EMPTY, []]);
  return below.flatMap(([step, inner, types]) => {
    const steps = [...around, step];
    const isValue = types.length > 0 || inner === EMPTY;
    return [...(isValue ? [{ steps, types }] : []), ...pathsOf(inner, form, steps)];
  });
}

const EMPTY: KnownContent = { children: new Map(), isOpen: false };

function freeName(around: readonly string[]): string {
  return around.at(-1) === 'endpoint-groups' ? 'DATA' : 'some';
}

/** A value of the type, and of our own where the path is a setting of ours. */
function fittingValue({ steps, types }: KnownPath): string {
  const [type] = types;
  if (steps.at(-1) === 'DATA') return 'true';
  if (types.some(({ accepts, expects }) => expects.startsWith('an integer') && accepts('5'))) {
    return '5';
  }
  if (type === undefined || type.expects === 'a text') return '10.3.10.*';
  if (type.expects === 'true or false') return 'true';
  const word = /^one of ([^,]+)/.exec(type.expects)?.[1];
  return word ?? /from (-?\d+)/.exec(type.expects)?.[1] ?? '5';
}

/** A letter of the last name twice, where it can be told from others. */
function misspell({ text, line }: Stated, name: string, form: Form): string {
  const lines = text.split('\n');
  const wrong = `${name}${name.at(-1)}`;
  const before = lines[line - 1] ?? '';
  const after =
    form === 'yaml' ? before.replace(`"${name}":`, `"${wrong}":`) : before.replace(name, wrong);
  assert.notEqual(after, before, `${name} in ${before}`);
  const rest = lines.slice(line).join('\n').replace(`</${name}>`, `</${wrong}>`);
  const closed = form === 'xml' ? after.replace(`</${name}>`, `</${wrong}>`) : after;
  return [...lines.slice(0, line - 1), closed, rest].join('\n');
}

const statedIn = { yaml: yamlOf, xml: xmlOf };
/** Names that refer to others, which this document has not. */
const REFERENCES = /-authentication,@?realm$/;

for (const form of ['yaml', 'xml'] as const) {
  const known = knownSettings(form, []);
  const all = pathsOf(known, form).filter(
    ({ steps }) => steps[0] !== 'import' && !REFERENCES.test(steps.join()),
  );

  describe(`Known settings in ${form}`, () => {
    it('are as many as the original has', () => {
      assert.ok(all.length > (form === 'yaml' ? 900 : 1000), `${all.length}`);
    });

    it('are each used, named in a warning, or refused', async () => {
      for (const path of all) {
        const { text } = statedIn[form]('grid', path.steps, fittingValue(path));
        const { config, structured, warnings, refused } = await load(`known.${form}`, text);
        const isUsed =
          structured.length > 0 || [...config.sources.values()].some(({ kind }) => kind === 'file');
        const isChosen = path.steps.at(-1)?.endsWith('{}') === true;
        const last = path.steps.findLast((step) => /^@?[a-z]/i.test(step) && step !== 'DATA');
        const name = isChosen ? 'some' : (last ?? '');
        const isNamed = warnings.some((warning) => warning.includes(name.replace(/[@{}]/g, '')));
        assert.ok(isUsed || isNamed || refused.length > 0, `nothing is said of\n${text}`);
      }
    });

    it('are each an error where one letter is wrong, with line and right name', () => {
      for (const path of all) {
        const last = path.steps.findLastIndex(
          (step) => !/^(\[\]|some|DATA|some-other-name)$/.test(step),
        );
        const steps = path.steps.slice(0, last + 1);
        const name = steps.at(-1)?.replace(/[@{}]/g, '') ?? '';
        const stated = statedIn[form]('grid', steps, 'text');
        const text = misspell(stated, name, form);
        const { root } = (form === 'yaml' ? parseYaml : parseXml)(text, 'wrong');
        const reader = new StatementReader();
        if (root !== undefined) reader.read(root.node, known);
        const [{ at, message } = { at: undefined, message: '' }] = reader.problems;
        assert.equal(at?.line, stated.line, text);
        assert.match(message, new RegExp(`did you mean .*"(attribute )?${name}"`));
      }
    });
  });
}
