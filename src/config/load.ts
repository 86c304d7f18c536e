/**
 * Makes the effective configuration of all sources: defaults, the file, the environment, flags, each
 * above the one before. Everything stated is either used, or without meaning here (a warning, one
 * for each section), or refused; what is wrong is told all at once.
 */
import { translateAdvancedNetwork } from './advanced-network.ts';
import {
  type Assignment,
  type Config,
  isNamed,
  MASK,
  rowOf,
  type Source,
  weighConfig,
} from './config.ts';
import type { FileContent } from './config-file.ts';
import { formatPlace, type Problem } from './document.ts';
import { ENDPOINT_GROUP_NAMES, parseEndpointGroup } from './endpoint-group.ts';
import { exposureWarnings } from './exposure.ts';
import { hintOf, nearestNames } from './nearest-name.ts';
import { realmProblems } from './realms.ts';
import { type Effective, isOn, type Refusal, refusalsOf } from './refusals.ts';
import { readSecurity } from './security.ts';
import { SETTINGS, type SettingKey } from './settings.ts';
import { formatProblem, type NamedBlock, pathOf, type Statement } from './statements.ts';
import { NO_CERTIFICATE, readTls } from './tls.ts';

export interface ConfigRequest {
  /** The configuration file, if one was named; or a text in the place of one. */
  readonly file: string | { readonly text: string } | undefined;
  readonly environment: NodeJS.ProcessEnv;
  readonly flags: readonly Assignment[];
}

/** A setting that `serve` does not start with. */
export interface RefusedSetting {
  readonly path: string;
  readonly source: Source;
  /** What to write instead. */
  readonly reason: string;
}

/** A value of what is no row of the table of settings: users, permissions. */
export interface StructuredValue {
  /** Of its path; an item of a list is `[n]`. */
  readonly steps: readonly string[];
  /** Masked where nobody is to read it. */
  readonly text: string;
  readonly source: Source;
}

export interface LoadedConfig {
  readonly config: Config;
  readonly structured: readonly StructuredValue[];
  /** Names at the root of the file, in their order. */
  readonly sections: readonly string[];
  readonly warnings: readonly string[];
  readonly refused: readonly RefusedSetting[];
}

/** The configuration cannot be used; each problem is a line for the operator. */
export class ConfigFault extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** Why `serve` does not start, in one line. */
export function refusalText({ path, source, reason }: RefusedSetting): string {
  return `${source.name}: Cannot serve with ${path}: ${reason}`;
}

/** Throws ConfigFault. */
export async function loadConfig(request: ConfigRequest): Promise<LoadedConfig> {
  const file = await readFile(request);
  const fromEnvironment = await readVariables(request.environment);
  const stated = [...(file?.statements ?? []), ...fromEnvironment.statements];
  const { statements, warnings } = translateAdvancedNetwork(stated);
  const secured = readSecurity(statements);
  const reading = interpret([...statements, ...emptyBlocks(file)], secured.used);
  const blocks = file === undefined ? [] : assignmentsOfBlocks(file.blocks);
  const { config, faults } = weighConfig(
    [
      ...(file === undefined ? [] : FILE_DEFAULTS),
      ...blocks,
      ...reading.deprecated,
      ...reading.assignments,
      ...request.flags,
    ],
    secured.security,
  );
  const problems = [
    ...(file?.problems ?? []),
    ...reading.problems,
    ...(file === undefined ? [] : nameProblems(file.blocks)),
    ...realmProblems(statements),
    ...secured.problems,
    ...(config.failIfValueMissing ? unsetProblems(file) : []),
  ];
  if (problems.length > 0 || faults.length > 0) {
    const told = [...problems.map(formatProblem), ...faults.map(({ message }) => message)];
    throw new ConfigFault(told.sort(byPlace));
  }
  return {
    config,
    structured: [...secured.used].map(structuredValue),
    sections: [...new Set((file?.statements ?? []).map(({ path }) => path[0] ?? ''))],
    warnings: [
      ...fromEnvironment.warnings,
      ...warnings,
      ...reading.warnings,
      ...unsetWarnings(file),
      ...exposureWarnings(config),
      ...(file?.rootName === 'hazelcast' && config.compatibility !== 'hazelcast'
        ? [ROOT_HINT]
        : []),
    ],
    refused: [
      ...reading.refused,
      ...secured.refusals.map(refusedSetting),
      ...certificateRefusals(config, reading.effective),
      ...unsetRefusals(file, reading.effective),
    ],
  };
}

/** TLS that was asked for, with nothing to serve it with from any source. */
function certificateRefusals(config: Config, effective: Effective): RefusedSetting[] {
  const statement = effective.get('network.ssl.enabled');
  const hasCertificate = config.tlsCertificate !== undefined || config.tlsKeyStore !== undefined;
  if (statement === undefined || !config.tlsEnabled || hasCertificate) return [];
  return [refusedSetting({ statement, reason: NO_CERTIFICATE })];
}

/** What a file changes of the defaults by being there: REST is off, all interfaces are listened on. */
const FILE_DEFAULTS: readonly Assignment[] = [
  { key: 'restEnabled', text: 'false', source: { kind: 'default', name: '' } },
  { key: 'host', text: '0.0.0.0', source: { kind: 'default', name: '' } },
];

/** Paths of the table of settings, as the known settings have them. */
const OWN_PATHS: readonly string[] = Object.values(SETTINGS).flatMap(({ path, isList }) =>
  // Properties may have any name.
  path === undefined || path.includes('.properties.') ? [] : [isList ? `${path}.[]` : path],
);

const KEYS_BY_PATTERN: ReadonlyMap<string, SettingKey> = new Map(
  (Object.keys(SETTINGS) as SettingKey[]).flatMap((key) => {
    const { path, aliases = [], flags } = rowOf(key);
    return [path ?? flags[0]?.name ?? '', ...aliases].map((each) => [each, key] as const);
  }),
);

const DEPRECATED_SWITCHES = ['properties.grid.rest.enabled', 'properties.hazelcast.rest.enabled'];

async function readFile(request: ConfigRequest): Promise<FileContent | undefined> {
  const { file, environment } = request;
  if (file === undefined) return undefined;
  const { fileFault, readConfigFile, readConfigText } = await import('./config-file.ts');
  const reading = { environment, ownPaths: OWN_PATHS };
  if (typeof file !== 'string') return await readConfigText('configuration', file.text, reading);
  try {
    return await readConfigFile(file, reading);
  } catch (error) {
    throw new ConfigFault([`Cannot read configuration file "${file}": ${fileFault(error)}`]);
  }
}

async function readVariables(environment: NodeJS.ProcessEnv) {
  if (!Object.keys(environment).some((name) => /^(GRID|HZ)_/.test(name))) {
    return { statements: [], warnings: [] };
  }
  return (await import('./environment.ts')).readEnvironment(environment, OWN_PATHS);
}

/** Things that are only named: statements without a value, where the name alone says nothing here. */
function emptyBlocks(file: FileContent | undefined): Statement[] {
  return (file?.blocks ?? [])
    .filter(({ pattern, isEmpty }) => isEmpty && !USED_BLOCKS.has(pattern))
    .map(({ pattern, name, at }) => {
      const path = pattern.split('.').map((step) => (step === '{name}' ? name : step));
      return { path, pattern, text: '', at, types: [] };
    });
}

const USED_BLOCKS: ReadonlySet<string> = new Set([
  'map.{name}',
  'queue.{name}',
  'network.rest-api.endpoint-groups.{name}',
  'advanced-network.rest-server-socket-endpoint-config.endpoint-groups.{name}',
]);

interface Interpretation {
  readonly effective: Effective;
  readonly assignments: Assignment[];
  /** Of deprecated settings, which others outweigh. */
  readonly deprecated: Assignment[];
  readonly problems: Problem[];
  readonly warnings: string[];
  readonly refused: RefusedSetting[];
}

/** `used`: statements that are understood already. */
function interpret(statements: readonly Statement[], used: ReadonlySet<Statement>): Interpretation {
  const effective: Effective = new Map(statements.map((each) => [pathOf(each.path), each]));
  const assignments: Assignment[] = [];
  const deprecated: Assignment[] = [];
  const problems: Problem[] = [];
  const warnings: string[] = [];
  const unused: Statement[] = [];
  const tls = readTls(effective);
  for (const [key, statement] of tls.said) assignments.push(assignmentOf(key, statement, []));
  for (const statement of statements) {
    const isOfTls = statement.pattern.startsWith('network.ssl.');
    const key = isOfTls ? undefined : keyOf(statement);
    if (tls.used.has(statement)) continue;
    if (key !== undefined) {
      const assignment = assignmentOf(key, statement, assignments);
      if (isNameUsable(assignment)) assignments.push(assignment);
    } else if (DEPRECATED_SWITCHES.includes(pathOf(statement.path))) {
      deprecated.push(...assignmentsOfDeprecated(statement));
      warnings.push(deprecationOf(statement));
    } else {
      const problem = typeProblem(statement);
      if (problem !== undefined) problems.push(problem);
      if (pathOf(statement.path) === 'advanced-network.enabled' || used.has(statement)) continue;
      unused.push(statement);
    }
  }
  const refusals = [...refusalsOf(effective), ...tls.refusals];
  const refused = new Set(refusals.map(({ statement }) => statement));
  warnings.push(...unusedWarnings(unused.filter((each) => !refused.has(each))));
  return {
    effective,
    assignments,
    deprecated,
    problems,
    warnings,
    refused: refusals.map(refusedSetting),
  };
}

/** The setting of the table that the statement is about. */
function keyOf({ path, pattern }: Statement): SettingKey | undefined {
  return KEYS_BY_PATTERN.get(pattern.replace(/\.\[\]$/, '')) ?? KEYS_BY_PATTERN.get(pathOf(path));
}

/** `before`: the assignments so far, whose items a list of the same source goes on with. */
function assignmentOf(
  key: SettingKey,
  statement: Statement,
  before: readonly Assignment[],
): Assignment {
  const { path, pattern, text } = statement;
  const row = rowOf(key);
  const source = sourceOf(statement);
  const nameStep = pattern.split('.').indexOf('{name}');
  const last = row.isList === true ? before.findLast((each) => each.key === key) : undefined;
  return {
    key,
    text: last?.source.kind === source.kind ? `${last.text},${text}` : text,
    source,
    ...(isNamed(row) ? { name: path[nameStep] ?? '' } : {}),
    ...(source.kind === 'file' ? { subject: pathOf(path) } : {}),
  };
}

function sourceOf({ at }: Statement): Source {
  if (at.line === 0) return { kind: 'environment', name: at.file };
  return { kind: 'file', name: formatPlace(at) };
}

/** A map or queue that a file describes has the defaults of what is not said of it. */
function assignmentsOfBlocks(blocks: readonly NamedBlock[]): Assignment[] {
  return blocks.flatMap(({ pattern, name }) =>
    (Object.keys(SETTINGS) as SettingKey[])
      .filter((key) => key !== 'endpointGroups' && rowOf(key).path?.startsWith(`${pattern}.`))
      .map((key) => ({ key, name, text: '0', source: { kind: 'default', name: '' } as const })),
  );
}

/** Whether there can be a thing of that name; where not, nameProblems tells. */
function isNameUsable({ key, name = '' }: Assignment): boolean {
  const row = rowOf(key);
  return !isNamed(row) || row.parseName(name) !== undefined;
}

/** Names that nothing can have, and endpoint groups that there are not. */
function nameProblems(blocks: readonly NamedBlock[]): Problem[] {
  return blocks.flatMap(({ pattern, name, at }) => {
    if (name === '') return [{ at, message: 'Cannot use "" as a name: it is empty' }];
    if (!pattern.endsWith('endpoint-groups.{name}')) return [];
    if (parseEndpointGroup(name) !== undefined) return [];
    const hint = hintOf(nearestNames(name, ENDPOINT_GROUP_NAMES));
    const known = ENDPOINT_GROUP_NAMES.join(', ');
    const seen = JSON.stringify(name);
    return [{ at, message: `Cannot use endpoint group ${seen}: not one of ${known}${hint}` }];
  });
}

function typeProblem({ path, types, text, at }: Statement): Problem | undefined {
  if (types.length === 0 || types.some((type) => type.accepts(text))) return undefined;
  const wanted = types.map(({ expects }) => expects).join(' or ');
  const seen = isSecretName(path.at(-1)) ? MASK : JSON.stringify(text);
  return { at, message: `Cannot use ${pathOf(path)} ${seen}: not ${wanted}` };
}

function assignmentsOfDeprecated(statement: Statement): Assignment[] {
  if (!isOn(statement)) return [];
  const source = sourceOf(statement);
  return [
    { key: 'restEnabled', text: 'true', source },
    { key: 'endpointGroups', name: 'DATA', text: 'true', source },
  ];
}

function deprecationOf(statement: Statement): string {
  return (
    `${sourceOf(statement).name}: ${pathOf(statement.path)} is deprecated; write ` +
    'network.rest-api.enabled and network.rest-api.endpoint-groups.DATA.enabled'
  );
}

/** One line for each section of what has no meaning here. */
function unusedWarnings(unused: readonly Statement[]): string[] {
  const sections = new Map<string, Statement[]>();
  for (const statement of unused) {
    const section = statement.path[0] ?? '';
    sections.set(section, [...(sections.get(section) ?? []), statement]);
  }
  return [...sections].map(([section, statements]) => {
    const names = new Set(statements.map(({ path, pattern }) => namedInSection(path, pattern)));
    const where = statements[0] === undefined ? '' : sourceOf(statements[0]).name;
    return `${where}: Without meaning here, in ${section}: ${[...names].join(', ')}`;
  });
}

/** A path without its section; names that were chosen stand as such, but for the last. */
function namedInSection(path: readonly string[], pattern: string): string {
  const steps = [...pattern.split('.').slice(1, -1), path.at(-1) ?? ''];
  return pathOf(path.length === 1 ? path : steps).replace(/\[\d+\]/g, '[]');
}

function structuredValue(statement: Statement): StructuredValue {
  const { path, text } = statement;
  const shown = isSecretName(path.at(-1)) ? MASK : text;
  return { steps: path, text: shown, source: sourceOf(statement) };
}

function refusedSetting({ statement, reason }: Refusal): RefusedSetting {
  return { path: pathOf(statement.path), source: sourceOf(statement), reason };
}

function unsetProblems(file: FileContent | undefined): Problem[] {
  return (file?.unset ?? []).map(({ name, statement }) => ({
    at: statement.at,
    message: `Cannot use ${pathOf(statement.path)}: no environment variable ${name}`,
  }));
}

function unsetWarnings(file: FileContent | undefined): string[] {
  return (file?.unset ?? []).map(
    ({ name, statement: { at, path } }) =>
      `${formatPlace(at)}: No environment variable ${name}: "\${${name}}" stays in ${pathOf(path)}`,
  );
}

/** A password that would be the name of a variable. */
function unsetRefusals(file: FileContent | undefined, effective: Effective): RefusedSetting[] {
  const isGuarded = ['security.enabled', 'network.ssl.enabled'].some((path) =>
    isOn(effective.get(path)),
  );
  if (!isGuarded) return [];
  return (file?.unset ?? [])
    .filter(({ statement }) => isSecretName(statement.path.at(-1)))
    .map(({ name, statement }) =>
      refusedSetting({ statement, reason: `no environment variable ${name}; set it` }),
    );
}

/** Whether a setting of that name is one that nobody is to read. */
function isSecretName(name = ''): boolean {
  return /password|passphrase|secret|token|salt/i.test(name);
}

const ROOT_HINT =
  "The file's root is hazelcast; --compatibility hazelcast answers as the original's clients expect";

/** By file, line and column, where a line begins with these. */
function byPlace(a: string, b: string): number {
  const [one, other] = [a, b].map((each) => /^(.*?):(\d+):(\d+): /.exec(each));
  if (!one || !other || one[1] !== other[1]) return 0;
  return Number(one[2]) - Number(other[2]) || Number(one[3]) - Number(other[3]);
}
