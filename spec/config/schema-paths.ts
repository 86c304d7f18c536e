/** Every setting that a file may contain, and documents that set it, spelt correctly or not. */
import assert from 'node:assert/strict';
import type { Form, SectionSchema } from '../../src/config/document-schema.ts';
import type { ValueType } from '../../src/config/setting.ts';
import { type Stated, xmlOf, yamlOf } from './documents.ts';

export interface SchemaPath {
  /** Steps for yamlOf or xmlOf. */
  readonly steps: readonly string[];
  readonly types: readonly ValueType[];
}

/**
 * Returns the settings that can be the only one of a document. An import and a realm also need the
 * thing that they name.
 */
export function schemaPaths(content: SectionSchema, form: Form): SchemaPath[] {
  return pathsOf(content, form).filter(
    ({ steps }) => steps[0] !== 'import' && !/-authentication,@?realm$/.test(steps.join()),
  );
}

/**
 * Whether a member can use a document with only this setting. A publisher also needs endpoints, and
 * a reference needs a replication.
 */
export function isWhole({ steps }: SchemaPath): boolean {
  return !/^wan-replication\W.*batch-publisher|^map\W.*wan-replication-ref/.test(steps.join('.'));
}

/** Returns a document that sets this path to a value of its type. */
export function stated(form: Form, path: SchemaPath): Stated {
  return { yaml: yamlOf, xml: xmlOf }[form]('grid', path.steps, fittingValue(path));
}

/** Returns a document in which the last name of the path is misspelt, and that name. */
export function misspelt(form: Form, { steps }: SchemaPath): Stated & { readonly name: string } {
  const last = steps.findLastIndex((step) => !/^(\[\]|some|DATA|some-other-name)$/.test(step));
  const known = steps.slice(0, last + 1);
  const name = known.at(-1)?.replace(/[@{}]/g, '') ?? '';
  const right = { yaml: yamlOf, xml: xmlOf }[form]('grid', known, 'text');
  return { name, line: right.line, text: misspell(right, name, form) };
}

/** Returns every path of a value. */
function pathsOf(content: SectionSchema, form: Form, around: readonly string[] = []): SchemaPath[] {
  const below: [string, SectionSchema, readonly ValueType[]][] = [];
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

const EMPTY: SectionSchema = { children: new Map(), isOpen: false };

function freeName(around: readonly string[]): string {
  return around.at(-1) === 'endpoint-groups' ? 'DATA' : 'some';
}

/** Returns a value of the type, which is also valid if gridnode uses the setting. */
function fittingValue({ steps, types }: SchemaPath): string {
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

/** Doubles the last letter of the name in its line and in its closing tag. */
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
