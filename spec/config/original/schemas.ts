/** Schemas in the original's jars, of all versions from 5.0 on. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonSchema, treeOfJsonSchema } from './json-schema.ts';
import { merged, type SchemaTree } from './schema-tree.ts';
import { treeOfXmlSchema } from './xml-schema.ts';

const ROOT = 'hazelcast';
const MEMBER_SCHEMA = /^hazelcast-config-(\d+)\.(\d+)\.(xsd|json)$/;
const MAJOR_VERSION_MIN = 5;
const SCHEMA_BYTES_MAX = 16_777_216;

export interface SchemaTrees {
  readonly yaml: SchemaTree;
  readonly xml: SchemaTree;
}

interface Schema {
  readonly kind: 'json' | 'xsd';
  readonly minor: number;
  readonly text: string;
}

/** Returns the settings of all versions, in the order of the newest. Needs the program unzip. */
export function treesOfJars(folder: string): SchemaTrees {
  const jars = readdirSync(folder).filter((name) => name.endsWith('.jar'));
  const schemas = jars.flatMap((jar) => [...schemasOf(join(folder, jar))]);
  schemas.sort((one, other) => other.minor - one.minor);
  const textsOf = (kind: Schema['kind']): string[] => [
    ...new Set(schemas.filter((schema) => schema.kind === kind).map(({ text }) => text)),
  ];
  const yaml = textsOf('json').map((text) =>
    treeOfJsonSchema(JSON.parse(text) as JsonSchema, ROOT),
  );
  const xml = textsOf('xsd').map((text) => treeOfXmlSchema(text, ROOT));
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
