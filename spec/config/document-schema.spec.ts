/**
 * Every setting that a file may contain, in both forms. Each is set once to a value of its type,
 * and is used, named in a warning, or refused, unless its value asks for nothing. Each is misspelt
 * once, and an error, or a warning if no setting around it has a meaning in gridnode, gives the line
 * and the correct name. The cases are generated from the known settings.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { documentSchema } from '../../src/config/document-schema.ts';
import { isUnused } from '../../src/config/finding.ts';
import { StatementReader } from '../../src/config/statements.ts';
import { strictSections } from '../../src/config/strict-sections.ts';
import { parseXml } from '../../src/config/xml-document.ts';
import { parseYaml } from '../../src/config/yaml-document.ts';
import { TABLE } from '../../src/member/settings.ts';
import { loadText } from './documents.ts';
import { isWhole, misspelt, schemaPaths, stated } from './schema-paths.ts';

/** Sections in which every name has a meaning, and some sections in which no name has one. */
const COUNTS = new Set(['security']);
const SECTIONS = strictSections(TABLE);
const MEANS_NOTHING = new Set(['jet', 'cache', 'serialization', 'metrics', 'rest']);

/** Settings that schema-paths.ts sets to a value with which they ask for nothing. */
const SILENT_IN_BOTH = [
  'management-center.data-access-enabled',
  'network.join.auto-detection.enabled',
  'network.join.tcp-ip.connection-timeout-seconds',
  'queue.statistics-enabled',
  ...['in-memory-format', 'metadata-policy', 'statistics-enabled'].map((name) => `map.${name}`),
  ...['hot-restart.enabled', 'data-persistence.enabled'].map((name) => `map.${name}`),
  ...['enabled', 'collection-frequency-seconds', 'jmx.enabled'].map((name) => `metrics.${name}`),
  ...['enabled', 'retention-seconds'].map((name) => `metrics.management-center.${name}`),
];
const SILENT = {
  yaml: [...SILENT_IN_BOTH, 'map.cache-deserialized-values'],
  xml: [...SILENT_IN_BOTH, 'map.eviction.eviction-policy'],
};

for (const form of ['yaml', 'xml'] as const) {
  const known = documentSchema(form, []);
  const all = schemaPaths(known, form);

  describe(`Known settings in ${form}`, () => {
    it('cover those of the original', () => {
      assert.ok(all.length > (form === 'yaml' ? 900 : 1000), `${all.length}`);
    });

    it('are each used, named in a warning, or refused, unless the value is a default', async () => {
      const silent: string[] = [];
      for (const path of all.filter(isWhole)) {
        const { text } = stated(form, path);
        const { config, structured, warnings, refused, findings } = await loadText(text);
        const isUsed =
          structured.length > 0 || [...config.sources.values()].some(({ kind }) => kind === 'file');
        const isChosen = path.steps.at(-1)?.endsWith('{}') === true;
        const last = path.steps.findLast((step) => /^@?[a-z]/i.test(step) && step !== 'DATA');
        const name = isChosen ? 'some' : (last ?? '');
        const isNamed = warnings.some((warning) => warning.includes(name.replace(/[@{}]/g, '')));
        // A loss names the section.
        const isLost = findings.some((each) => isUnused(each) && each.isLoss);
        if (isUsed || isNamed || isLost || refused.length > 0) continue;
        assert.deepEqual(warnings, [], text);
        silent.push(path.steps.join('.').replace(/[@{}]|some\./g, ''));
      }
      assert.deepEqual(new Set(silent), new Set(SILENT[form]));
    });

    it('are each reported with line and correct name if one letter is wrong', () => {
      for (const path of all) {
        const { name, text, line } = misspelt(form, path);
        const { root } = (form === 'yaml' ? parseYaml : parseXml)(text, 'wrong');
        const reader = new StatementReader(SECTIONS);
        if (root !== undefined) reader.read(root.node, known, form);
        const { problems, unknown } = reader;
        const [{ place, message } = { place: '', message: '' }] = [
          ...problems.listed,
          ...unknown.listed,
        ];
        assert.equal(place.split(':')[1], `${line}`, text);
        assert.match(message, new RegExp(`did you mean .*"(attribute )?${name}"`));
        const section = path.steps[0]?.replace('{}', '') ?? '';
        if (COUNTS.has(section)) assert.deepEqual([problems.count, unknown.count], [1, 0], text);
        if (MEANS_NOTHING.has(section) && !message.includes('at the root')) {
          assert.deepEqual([problems.count, unknown.count], [0, 1], text);
        }
      }
    });
  });
}
