/**
 * `gridnode config` in a process of its own for configurations with one setting of the original,
 * spelled correctly or not. The command lists settings that are used, warns of lost functions and of
 * settings without meaning, reports why others are refused, and exits with 0. For a misspelt
 * setting it exits with 2, or warns if the section is ignored. SOAK_SIZE / 1000 settings of each kind
 * and form, evenly spread over the original's settings.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { documentSchema } from '../../src/config/document-schema.ts';
import { isUnused } from '../../src/config/finding.ts';
import { run } from '../cli/gridnode-process.ts';
import { type LoadedWithFindings, load, writeConfig } from '../config/documents.ts';
import { isWhole, misspelt, type SchemaPath, schemaPaths, stated } from '../config/schema-paths.ts';

const COUNT = Math.max(10, Number(process.env.SOAK_SIZE ?? 10_000) / 1000);

type Kind = 'used' | 'refused' | 'lost' | 'without meaning' | 'a default' | 'in a list';

function kindOf({ refused, structured, config, findings }: LoadedWithFindings): Kind {
  if (refused.length > 0) return 'refused';
  const isUsed = [...config.sources.values()].some(({ kind }) => kind === 'file');
  if (isUsed) return 'used';
  // Lists such as permissions are not values of settings.
  if (structured.length > 0) return 'in a list';
  const [first] = findings.filter(isUnused);
  return first === undefined ? 'a default' : first.isLoss ? 'lost' : 'without meaning';
}

/** Returns COUNT of the paths, evenly spread, or all if there are fewer. */
function sampleOf(all: readonly SchemaPath[]): SchemaPath[] {
  const count = Math.min(COUNT, all.length);
  const at = (index: number) => all[Math.floor((index * all.length) / count)] as SchemaPath;
  return Array.from({ length: count }, (_, index) => at(index));
}

for (const form of ['yaml', 'xml'] as const) {
  const all = schemaPaths(documentSchema(form, []), form);

  describe(`gridnode config with settings in ${form}`, () => {
    const byKind = new Map<Kind, SchemaPath[]>();

    before(async () => {
      for (const path of all.filter(isWhole)) {
        const kind = kindOf(await load(`kind.${form}`, stated(form, path).text));
        byKind.set(kind, [...(byKind.get(kind) ?? []), path]);
      }
    });

    for (const [kind, shown] of [
      ['used', /# file |# .*: file /],
      ['refused', /refused/],
      ['lost', /^Lost, /m],
      ['without meaning', /^Ignored, /m],
    ] as const) {
      it(`exits with 0 for ${COUNT} settings that are ${kind}, and reports that`, async () => {
        const chosen = sampleOf(byKind.get(kind) ?? []);
        assert.ok(chosen.length > 0);
        for (const path of chosen) {
          const file = writeConfig(`set.${form}`, stated(form, path).text);
          const { code, output, errors } = await run(['config', '--config', file]);
          assert.equal(code, 0, errors);
          assert.match(output + errors, shown, path.steps.join('.'));
        }
      });
    }

    it(`reports line and correct name of ${COUNT} misspelt settings, and exits with 2 unless ignored`, async () => {
      for (const path of sampleOf(all)) {
        const { text, line, name } = misspelt(form, path);
        const file = writeConfig(`wrong.${form}`, text);
        const { code, errors } = await run(['config', '--config', file]);
        assert.match(errors, new RegExp(`:${line}:\\d+: .*did you mean .*"(attribute )?${name}"`));
        assert.equal(code, errors.includes('Ignored') ? 0 : 2, errors);
      }
    });
  });
}
