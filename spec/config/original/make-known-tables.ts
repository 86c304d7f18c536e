/**
 * Writes the tables of known settings, src/config/original-settings-*.txt, from the schemas in the
 * original's jars with `make known-tables JARS=DIR`. DIR contains its jars of all supported
 * versions, 5.0 to 5.7. Faults of the schemas are corrected in adjustments.ts. Another run with the
 * same jars changes nothing.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Form } from '../../../src/config/document-schema.ts';
import { adjusted } from './adjustments.ts';
import { type JsonSchema, treeOfJsonSchema } from './json-schema.ts';
import { type Notation, notationOf } from './notation.ts';
import { merged, type SchemaTrees } from './schema-tree.ts';
import { jsonSchemaOf } from './xml-schema.ts';

const ROOT = 'hazelcast';
const MEMBER_SCHEMA = /^hazelcast-config-(\d+)\.(\d+)\.(xsd|json)$/;
const MAJOR_VERSION_MIN = 5;
const SCHEMA_BYTES_MAX = 16_777_216;
const CONFIG = join(import.meta.dirname, '../../../src/config');

const [folder] = process.argv.slice(2);
if (folder === undefined || folder === '') {
  console.error('Cannot make tables: specify the folder of the jars: make known-tables JARS=DIR');
  process.exitCode = 2;
} else {
  const trees = adjusted(treesOfJars(folder));
  write('yaml', notationOf(trees.yaml, 'yaml'));
  write('xml', notationOf(trees.xml, 'xml'));
}

function write(form: Form, { shapes, settings }: Notation): void {
  const about = [
    `Every setting that a member file of the original accepts in ${form.toUpperCase()}, in the notation that`,
    'document-schema.ts reads, after the words and shapes that several settings share. The rows of the',
    'settings list those that are used, refused-settings.ts those that are refused; all others have no',
    'effect. Written by `make known-tables`: see spec/config/original.',
  ];
  const lines = [...about.map((line) => `# ${line}`), shapes, settings, ''];
  writeFileSync(join(CONFIG, `original-settings-${form}.txt`), lines.join('\n'));
}

interface Schema {
  readonly kind: 'json' | 'xsd';
  readonly minor: number;
  readonly text: string;
}

/** Returns the settings of all versions, in the order of the newest. Needs the program unzip. */
function treesOfJars(folder: string): SchemaTrees {
  const jars = readdirSync(folder).filter((name) => name.endsWith('.jar'));
  const schemas = jars.flatMap((jar) => [...schemasOf(join(folder, jar))]);
  schemas.sort((one, other) => other.minor - one.minor);
  const textsOf = (kind: Schema['kind']): string[] => [
    ...new Set(schemas.filter((schema) => schema.kind === kind).map(({ text }) => text)),
  ];
  const yaml = textsOf('json').map((text) =>
    treeOfJsonSchema(JSON.parse(text) as JsonSchema, ROOT),
  );
  const xml = textsOf('xsd').map((text) => treeOfJsonSchema(jsonSchemaOf(text), ROOT));
  if (yaml.length === 0 || xml.length === 0) {
    throw new Error(`Cannot read ${folder}: no jar contains schemas of member files`);
  }
  return { yaml: yaml.reduce(merged), xml: xml.reduce(merged) };
}

function* schemasOf(jar: string): Generator<Schema> {
  const names = execFileSync('unzip', ['-Z1', jar], { encoding: 'utf8' }).split('\n');
  for (const name of names) {
    const [, major, minor, kind] = MEMBER_SCHEMA.exec(name) ?? [];
    if (Number(major) < MAJOR_VERSION_MIN || kind === undefined) continue;
    const maxBuffer = SCHEMA_BYTES_MAX;
    const text = execFileSync('unzip', ['-p', jar, name], { encoding: 'utf8', maxBuffer });
    yield { kind: kind === 'json' ? 'json' : 'xsd', minor: Number(minor), text };
  }
}
