/**
 * Builds the effective configuration from all sources: defaults, the file, the environment, flags.
 * Each source overrides those before it. Every statement is used, is refused, asks for a function that
 * this member does not have (a warning), or has no meaning (one warning for each section). All
 * problems are reported together.
 */
import { getOrCreate } from '../base/get-or-create.ts';
import { lazyModule } from '../base/lazy-module.ts';
import type { FileContent } from '../config/config-file.ts';
import { ENDPOINT_GROUP_NAMES, parseEndpointGroup } from '../config/endpoint-group.ts';
import type { EnvironmentContent } from '../config/environment.ts';
import type { NamedFile } from '../config/file-text.ts';
import { ConfigFault, configFault, type Finding, finding } from '../config/finding.ts';
import { byPlace, FindingList, pathText, quoted, shown } from '../config/finding-list.ts';
import { interpret, isSecretName, translateAdvancedNetwork } from '../config/interpretation.ts';
import { isPattern, PATTERNS_MAX } from '../config/name-lookup.ts';
import { hintOf, nearestNames } from '../config/nearest-name.ts';
import { missingVariable } from '../config/placeholders.ts';
import {
  Effective,
  isOn,
  RefusedList,
  type RefusedSetting,
  refusedAmong,
  refusedAt,
  refuseSettings,
} from '../config/refused-settings.ts';
import type { StructuredValue } from '../config/section-reading.ts';
import { MASK, pathOf } from '../config/setting.ts';
import type { Assignment, Block } from '../config/setting-table.ts';
import { DEFAULT, formatPlace, type Source, sourceAt } from '../config/source.ts';
import { EMPTY_NAME, type NamedBlock, type Statement } from '../config/statements.ts';
import { unusedFindings } from '../config/unused-settings.ts';
import { readSecurity, type SecurityReading } from '../security/security-config.ts';
import { SECURITY_PATHS } from '../security/security-settings.ts';
import { NO_CERTIFICATE, readTls } from '../security/tls-reading.ts';
import { type AddedTo, readWan, WAN_BLOCKS } from '../wan/wan-reading.ts';
import { REPLICATION_PATTERN } from '../wan/wan-settings.ts';
import { buildConfig, type Config } from './config.ts';
import { configWarnings } from './config-warnings.ts';
import { assignmentsOfRoot, notesOfRoot } from './hazelcast-root.ts';
import { countLosses, unusedRows } from './lost-settings.ts';
import { isFilled, namedKeys, SETTINGS, type SettingKey, TABLE } from './settings.ts';

export interface ConfigRequest {
  /**
   * The configuration file: its name (default: GRID_CONFIG), a text in its place, or the content of
   * a pipe.
   */
  readonly file: string | ConfigText | NamedFile | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly flags: readonly Assignment[];
  /** Called while a long file is read, with the progress: `conf.yaml, 40 %`. */
  readonly onProgress?: (done: string) => void;
}

/** A text in place of a file. */
interface ConfigText {
  readonly text: string;
  /** For a text that is added to the configuration in force. */
  readonly around?: AddedTo;
  /** Whether the defaults are those without a file: for the configuration of a program. */
  readonly keepsDefaults?: boolean;
}

export interface LoadedConfig {
  readonly config: Config;
  readonly structured: readonly StructuredValue[];
  /** Names at the root of the file, in their order. */
  readonly sections: readonly string[];
  /** Warnings, notes (lines of the log at start that report no fault) and refused settings. */
  readonly findings: readonly Finding[];
  /**
   * The file, if it was a pipe, which can be read only once; later requests pass it instead of a
   * name.
   */
  readonly piped?: NamedFile | undefined;
}

/**
 * Returns a fault with the refused settings among the findings, or undefined if nothing is refused.
 */
export function refusedFault(findings: readonly Finding[]): ConfigFault | undefined {
  const refused = refusedAmong(findings);
  return refused.length === 0 ? undefined : new ConfigFault(refused);
}

/**
 * Loads the configuration. `mayBePipe`: whether the file may be a pipe, whose writer is waited for.
 * Throws ConfigFault.
 */
export async function loadConfig(request: ConfigRequest, mayBePipe = true): Promise<LoadedConfig> {
  const named = request.file ?? request.environment.GRID_CONFIG;
  const file = await readFile(named, request, mayBePipe);
  const fromEnvironment = await readVariables(request.environment, file);
  const blocks = [...(file?.blocks ?? []), ...(fromEnvironment?.blocks ?? [])];
  const stated = [...(file?.statements ?? []), ...(fromEnvironment?.statements ?? [])];
  const { statements, warnings } = translateAdvancedNetwork(stated, pathOf(SETTINGS.restEnabled));
  const secured = readSecurity(statements, file?.written ?? []);
  const all = [...statements, ...emptyBlocks(file)];
  // Settings with a free name, which may be very many, are not looked up, and none can be refused.
  const effective = new Effective(all.filter(({ pattern }) => !TABLE.hasName(pattern)));
  const refused = new RefusedList();
  refuseSettings(effective, isOn(effective.get(SECURITY_PATHS.isEnabled)), refused);
  const tls = readTls(effective, refused);
  const reading = interpret(TABLE, all, { tls, used: secured.used, refused });
  const assignments = [...reading.deprecated, ...reading.assignments, ...request.flags];
  // The root of an added text has no effect.
  const isText = typeof named === 'object' && 'text' in named;
  const root = isText ? undefined : file?.root;
  const {
    config: built,
    faults,
    faultCount,
  } = buildConfig(
    [
      ...(file === undefined || (isText && named.keepsDefaults) ? [] : FILE_DEFAULTS),
      ...(root === undefined ? [] : assignmentsOfRoot(root, assignments)),
      ...assignments,
    ],
    secured.security,
    undefined,
    filledBlocks(blocks),
    blocks.some(({ pattern }) => pattern === REPLICATION_PATTERN),
  );
  const wan = readWan(
    { statements: all, blocks, written: file?.written ?? [] },
    built,
    isText ? named.around : undefined,
  );
  const config = { ...built, ...wan.config };
  const ofFile = [
    fromEnvironment?.problems,
    file?.problems,
    reading.problems,
    nameProblems(blocks),
    wan.reading.problems,
  ];
  const ofUnset = config.failIfValueMissing && file ? unsetProblems(file) : undefined;
  const ofValues = { listed: faults, count: faultCount };
  throwProblems([...ofFile, ...secured.problems, ofUnset, ofValues], file?.unset ?? []);
  const unused = reading.unused.filter((each) => !wan.reading.used.has(each));
  const isAdvanced = isOn(effective.get('advanced-network.enabled'));
  const [lost, meaningless] = unusedFindings(unused, effective, unusedRows(config, isAdvanced));
  return {
    config,
    structured: [...structuredValues(secured), ...wan.reading.values],
    sections: [...new Set((file?.statements ?? []).map(({ path }) => path[0] ?? ''))],
    findings: [
      ...lost,
      ...countLosses(config),
      ...(fromEnvironment?.warnings ?? []),
      ...warnings,
      ...reading.warnings,
      ...meaningless,
      ...refused.end(),
      ...wan.reading.refused.end(),
      ...shown(wan.reading.warnings, 'warning'),
      ...(file === undefined ? [] : shown(file.unknown, 'unknown name')),
      ...unsetWarnings(file),
      ...pipeWarnings(request),
      ...configWarnings(config),
      ...(root === undefined ? [] : notesOfRoot(root, config)),
      ...secured.refused,
      ...(await refusedVariables(fromEnvironment, config)),
      ...refusedCertificate(config, effective),
      ...refusedPlaceholders(file, effective),
    ],
    piped: file?.piped,
  };
}

/**
 * Throws all problems together, if there are any, in the order of the file. `unset`: the
 * placeholders without a value, which are the cause of problems at their places.
 */
function throwProblems(
  all: readonly (Pick<FindingList, 'listed' | 'count'> | undefined)[],
  unset: FileContent['unset'],
): void {
  const lists = all.filter((list) => list !== undefined);
  const count = lists.reduce((sum, list) => sum + list.count, 0);
  if (count === 0) return;
  const names = new Map(unset.map(({ name, statement }) => [formatPlace(statement.at), name]));
  const listed = lists
    .flatMap((list) => list.listed)
    .sort(byPlace)
    .map((each) => {
      const name = names.get(each.place);
      const isExplained = name === undefined || each.message.includes('environment variable');
      return isExplained ? each : { ...each, message: `${each.message}; ${missingVariable(name)}` };
    });
  throw new ConfigFault(shown({ listed, count }, 'problem'));
}

/** Refuses TLS that is enabled without a certificate. */
function refusedCertificate(config: Config, effective: Effective): RefusedSetting[] {
  const statement = effective.get(pathOf(SETTINGS.tlsEnabled));
  const hasCertificate = config.tlsCertificate !== undefined || config.tlsKeyStore !== undefined;
  if (statement === undefined || !config.tlsEnabled || hasCertificate) return [];
  return [refusedAt(statement, NO_CERTIFICATE)];
}

/** Defaults that apply with a file: REST is off, and the member listens on all interfaces. */
const FILE_DEFAULTS: readonly Assignment<SettingKey>[] = [
  { key: 'restEnabled', text: 'false', source: DEFAULT },
  { key: 'host', text: '0.0.0.0', source: DEFAULT },
];

const configFile = lazyModule(() => import('../config/config-file.ts'));
const meanings = lazyModule(async () => {
  const { listPatterns, strictSections } = await import('../config/strict-sections.ts');
  return { sections: strictSections(TABLE), lists: listPatterns(TABLE) };
});
const environmentReader = lazyModule(() => import('../config/environment.ts'));

async function readFile(
  file: ConfigRequest['file'],
  { file: typed, environment, onProgress = () => {} }: ConfigRequest,
  mayBePipe: boolean,
): Promise<FileContent | undefined> {
  if (file === undefined) return undefined;
  const { fileFault, readConfigFile, readConfigText, readNamedFile } = await configFile();
  const reading = { environment, onProgress, ownPaths: TABLE.ownPaths, ...(await meanings()) };
  if (typeof file !== 'string') {
    if ('bytes' in file) return await readNamedFile(file, reading);
    return await readConfigText('configuration', file.text, reading);
  }
  try {
    return await readConfigFile(file, mayBePipe, reading);
  } catch (error) {
    const origin = typed === undefined ? ' of GRID_CONFIG' : '';
    const message = `Cannot read configuration file "${file}"${origin}: ${fileFault(error)}`;
    throw configFault(message);
  }
}

/** Variables that this member reads, or that only the original reads. */
const VARIABLES = /^(GRID|HZ)_|^(HAZELCAST_CONFIG|JAVA_OPTS|LOGGING_LEVEL)$/;

/** Reads the environment; returns undefined if it has none of these variables. */
async function readVariables(
  environment: NodeJS.ProcessEnv,
  { statements = [], blocks = [] }: Partial<FileContent> = {},
): Promise<EnvironmentContent | undefined> {
  if (!Object.keys(environment).some((name) => VARIABLES.test(name))) return undefined;
  const { readEnvironment } = await environmentReader();
  return readEnvironment(TABLE, environment, { statements, blocks });
}

async function refusedVariables(
  content: EnvironmentContent | undefined,
  config: Config,
): Promise<readonly RefusedSetting[]> {
  if (content === undefined) return [];
  const { refusedSwitches } = await environmentReader();
  return [...content.refused, ...refusedSwitches(content.unclear, config)];
}

/**
 * Returns named blocks without content as statements without a value, except those whose name
 * itself has an effect.
 */
function emptyBlocks(file: FileContent | undefined): Statement[] {
  return (file?.blocks ?? [])
    .filter(({ pattern, isEmpty }) => isEmpty && !USED_BLOCKS.has(pattern))
    .map(({ path, pattern, at }) => ({ path, pattern, text: '', at, types: [] }));
}

const USED_BLOCKS: ReadonlySet<string> = new Set([
  'map.{name}',
  'queue.{name}',
  ...WAN_BLOCKS,
  ...(SETTINGS.endpointGroups.aliases ?? []),
  'advanced-network.rest-server-socket-endpoint-config.endpoint-groups.{name}',
]);

/**
 * Returns the maps and queues of a file with the settings that are 0 if omitted: all but sparse
 * ones.
 */
function filledBlocks(blocks: readonly NamedBlock[]): Block[] {
  const keysByPattern = new Map<string, readonly SettingKey[]>();
  const filled: Block[] = [];
  for (const { pattern, name } of blocks) {
    const keys = getOrCreate(keysByPattern, pattern, () => namedKeys(pattern).filter(isFilled));
    // An empty name is a problem reported elsewhere.
    if (keys.length > 0 && name !== '') filled.push({ name, keys });
  }
  return filled;
}

/** Reports empty names, unknown endpoint groups, and too many names with `*`. */
function nameProblems(blocks: readonly NamedBlock[]): FindingList {
  const problems = new FindingList();
  const patternCounts = new Map<string, number>();
  for (const { pattern, name, at } of blocks) {
    if ((pattern === 'map.{name}' || pattern === 'queue.{name}') && isPattern(name)) {
      const count = (patternCounts.get(pattern) ?? 0) + 1;
      patternCounts.set(pattern, count);
      if (count === PATTERNS_MAX + 1) problems.add(at, () => tooManyPatterns(name));
    }
    if (name === '') problems.add(at, () => EMPTY_NAME);
    else if (pattern.endsWith('endpoint-groups.{name}') && parseEndpointGroup(name) === undefined) {
      problems.add(at, () => {
        const hint = hintOf(nearestNames(name, ENDPOINT_GROUP_NAMES));
        const groups = ENDPOINT_GROUP_NAMES.join(', ');
        return `Cannot use endpoint group ${quoted(name)}: not one of ${groups}${hint}`;
      });
    }
  }
  return problems;
}

/** Returns the message about too many names with `*`, which are tried one by one. */
export function tooManyPatterns(name: string): string {
  return `Cannot use ${quoted(name)}: more than ${PATTERNS_MAX} names with "*"`;
}

/** Returns the values with their steps in YAML, where the permissions for all are one section. */
function structuredValues({ used, security }: SecurityReading): StructuredValue[] {
  const values = [...used].map((statement): StructuredValue => {
    const { path, text } = statement;
    const shown = isSecretName(path.at(-1)) ? MASK : text;
    return { steps: path, value: shown, source: sourceAt(statement.at) };
  });
  const ofPermissions = values.filter(({ steps }) => steps[1] === 'client-permissions');
  if (security.permissions !== undefined && ofPermissions.length === 0) {
    const source: Source = { kind: 'file', name: '' };
    values.push({ steps: ['security', 'client-permissions'], value: '', source });
  }
  const hasSeveral = ofPermissions.some(({ steps }) => steps[2] === 'all' && steps[3] === '[1]');
  if (hasSeveral) return values;
  return values.map((value) => {
    const { steps } = value;
    const isForAll = steps[1] === 'client-permissions' && steps[2] === 'all' && steps[3] === '[0]';
    return isForAll ? { ...value, steps: steps.toSpliced(3, 1) } : value;
  });
}

function unsetProblems({ unset }: FileContent): FindingList {
  const problems = new FindingList();
  for (const { name, statement } of unset) {
    problems.refuse(statement, () => missingVariable(name));
  }
  return problems;
}

function unsetWarnings(file: FileContent | undefined): Finding[] {
  const unset = new FindingList('warning');
  for (const { name, statement } of file?.unset ?? []) {
    unset.add(statement.at, () => {
      const missing = missingVariable(name);
      const stays = `"\${${name}}" stays in ${pathText(statement.path)}`;
      return `N${missing.slice(1)}: ${stays}`;
    });
  }
  return shown(unset, 'unset placeholder');
}

function pipeWarnings({ file }: ConfigRequest): Finding[] {
  if (typeof file !== 'object' || !('bytes' in file)) return [];
  const message = `${file.name} is a pipe, which can be read only once: reloads use its content from the start`;
  return [finding('warning', message)];
}

/** Refuses passwords and security settings in which a placeholder has no value. */
function refusedPlaceholders(
  file: FileContent | undefined,
  effective: Effective,
): RefusedSetting[] {
  const isSecured = isOn(effective.get(SECURITY_PATHS.isEnabled));
  if (!isSecured && !isOn(effective.get(pathOf(SETTINGS.tlsEnabled)))) return [];
  const refused = new RefusedList();
  for (const { name, statement } of file?.unset ?? []) {
    const { path } = statement;
    if (!isSecretName(path.at(-1)) && !(isSecured && path[0] === 'security')) continue;
    refused.add(statement, `${missingVariable(name)}; set it`);
  }
  return refused.end();
}
