/**
 * Known settings, stated and misspelt, as real processes: `gridnode config` shows, warns or tells why
 * one is refused, and ends with 0; misspelt ones end with 2. SOAK_SIZE / 1000 of each, in turn from
 * all over the known settings.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Form, type KnownContent, knownSettings } from '../../src/config/known-settings.ts';
import { writeConfig, xmlOf, yamlOf } from '../config/documents.ts';

const EXECUTABLE = join(import.meta.dirname, '../../bin/gridnode.ts');
const COUNT = Math.max(10, Number(process.env.SOAK_SIZE ?? 10_000) / 1000);

/** Paths of settings that are yes or no: every section has some. */
function switchesOf(content: KnownContent, form: Form, around: readonly string[] = []): string[][] {
  return [...content.children].flatMap(([name, node]) => {
    const steps = [...around, form === 'xml' && node.steps.includes('{}') ? `${name}{}` : name];
    const below = switchesOf(node.content, form, steps);
    const named = node.content.named;
    if (named) below.push(...switchesOf(named.content, form, [...steps, 'some']));
    return node.types[0]?.expects === 'true or false' ? [steps, ...below] : below;
  });
}

async function config(file: string): Promise<{ code: number; text: string }> {
  const child = spawn(process.execPath, [
    '--import',
    'tsx',
    EXECUTABLE,
    'config',
    '--config',
    file,
  ]);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      text += chunk;
    });
  }
  const [code] = (await once(child, 'close')) as [number];
  return { code, text };
}

for (const form of ['yaml', 'xml'] as const) {
  const all = switchesOf(knownSettings(form, []), form);
  const chosen = Array.from(
    { length: COUNT },
    (_, at) => all[Math.floor((at * all.length) / COUNT)],
  );
  for (const steps of chosen) {
    const path = steps?.join('.') ?? '';
    const document = { yaml: yamlOf, xml: xmlOf }[form];
    const { text, line } = document('grid', steps ?? [], 'true');
    const name = steps?.at(-1)?.replace(/[@{}]/g, '') ?? '';

    test(`gridnode config says what becomes of ${path} in ${form}`, async () => {
      const { code, text: shown } = await config(writeConfig(`set.${form}`, text));
      assert.equal(code, 0, shown);
      assert.ok(shown.includes(name), shown);
    });

    test(`gridnode config ends with 2 for ${path} misspelt in ${form}`, async () => {
      const lines = text.split('\n');
      const wrong = `${name.slice(0, -1)}${name.at(-1)}${name.at(-1)}`;
      const at = line - 1;
      lines[at] = (lines[at] ?? '').replace(name, wrong).replace(`</${name}>`, `</${wrong}>`);
      const { code, text: shown } = await config(writeConfig(`wrong.${form}`, lines.join('\n')));
      assert.equal(code, 2, shown);
      assert.match(shown, new RegExp(`:${line}:\\d+: Cannot use .*did you mean .*${name}"`));
    });
  }
}
