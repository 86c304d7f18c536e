/**
 * Reads settings from environment variables. A variable names a setting by its path: `GRID_` or
 * `HZ_`, then the steps of the path, separated by `_` or `.`. Case, and `-` in a step, are ignored.
 * `HZ_` variables follow the original's rules: the name of a map is a single step, in lower case,
 * and an item of a list has its number. `GRID_` variables can also name maps and other names of the
 * file, with their `-`, `_` and `.` omitted or written as `_`, and set whole lists. `GRID_`
 * overrides `HZ_`. A variable that matches no setting is a warning.
 */
import { documentSchema, type SectionSchema } from './document-schema.ts';
import { ENDPOINT_GROUP_NAMES, type EndpointGroup } from './endpoint-group.ts';
import { type Finding, finding } from './finding.ts';
import { FINDINGS_MAX, FindingList, pathText, quoted } from './finding-list.ts';
import { insteadOfJavaOptions } from './java-options.ts';
import { hintOf, slippedNames } from './nearest-name.ts';
import { isOn, type RefusedSetting, refusedAt } from './refused-settings.ts';
import { BOOLEAN_TEXTS, isBooleanType } from './setting.ts';
import { patternsOf, type SettingTable } from './setting-table.ts';
import { EMPTY_NAME, type NamedBlock, type Statement } from './statements.ts';
import { bare, fixedNames, isBelow, type Target, VariableNames } from './variable-names.ts';

const PREFIXES = ['HZ_', 'GRID_'] as const;
type Prefix = (typeof PREFIXES)[number];

/** Variables of the command line client, and the one that names the file. */
const OTHERS: ReadonlySet<string> = new Set([
  'GRID_CONFIG',
  'GRID_ADDRESS',
  'GRID_USER',
  'GRID_PASSWORD',
  'GRID_CA',
  'GRID_FENCE',
  'GRID_FROM_PASSWORD',
  'GRID_PATH_SEGMENT',
]);
/** Variables that the original does not read as settings either. */
const NO_SETTINGS: ReadonlySet<string> = new Set([
  'HZ_HOME',
  'HZ_LICENSE_KEY',
  'HZ_PHONE_HOME_ENABLED',
  'HZ_CP_MOUNT',
]);

const NAMES_FILE = 'use GRID_CONFIG or --config for the configuration file';
/** Variables that the original reads and this member does not, with the replacement of each. */
const OF_ORIGINAL: Readonly<Record<string, (text: string) => readonly string[]>> = {
  HAZELCAST_CONFIG: () => [NAMES_FILE],
  HZ_CONFIG: () => [NAMES_FILE],
  JAVA_OPTS: (text) => ['there is no JVM', ...insteadOfJavaOptions(text)],
  LOGGING_LEVEL: () => ['use GRID_LOGLEVEL or --log-level for the log level'],
};

export interface EnvironmentContent {
  readonly statements: readonly Statement[];
  /** Names of maps and other free names that the file does not have. */
  readonly blocks: readonly NamedBlock[];
  readonly problems: FindingList;
  readonly warnings: readonly Finding[];
  readonly refused: readonly RefusedSetting[];
  /** Variables that match no setting and may be meant to disable something. */
  readonly unclear: readonly UnclearSwitch[];
}

/** The content of the file that variables depend on. */
interface FileNames {
  readonly statements: readonly Statement[];
  readonly blocks: readonly NamedBlock[];
}

export function readEnvironment(
  table: SettingTable,
  environment: NodeJS.ProcessEnv,
  file: FileNames,
): EnvironmentContent {
  const reader = new EnvironmentReader(table, environment, file);
  for (const prefix of PREFIXES) reader.read(prefix);
  return reader.end();
}

class EnvironmentReader {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #file: FileNames;
  /** Variables that set flags without a path, by the flag's name. */
  readonly #flagVariables: ReadonlyMap<string, string>;
  /** Paths of boolean settings; a variable accepts only true and false for them. */
  readonly #booleans: ReadonlySet<string>;
  readonly #restEnabled: string;
  readonly #schema: SectionSchema;
  readonly #names: VariableNames;
  readonly #statements: Statement[] = [];
  readonly #blocks: NamedBlock[] = [];
  /** The paths of #blocks. */
  readonly #added = new Set<string>();
  readonly #problems = new FindingList();
  readonly #warnings: Finding[] = [];
  readonly #unclear: UnclearSwitch[] = [];

  constructor(table: SettingTable, environment: NodeJS.ProcessEnv, file: FileNames) {
    this.#environment = environment;
    this.#file = file;
    this.#flagVariables = flagVariables(table);
    this.#booleans = booleanPaths(table);
    this.#restEnabled = table.pathOf('restEnabled');
    this.#schema = documentSchema('yaml', table.ownPaths);
    this.#names = new VariableNames(this.#schema, file.blocks);
  }

  read(prefix: Prefix): void {
    const names = Object.keys(this.#environment).filter((name) => name.startsWith(prefix));
    /** Variables by the path of their setting. */
    const variables = new Map<string, string>();
    for (const name of names.sort()) {
      const text = trimmed(this.#environment[name] ?? '');
      if (OTHERS.has(name) || NO_SETTINGS.has(name) || name in OF_ORIGINAL) continue;
      if (isOfKubernetes(name, text)) continue;
      const target = this.#targetOf(name, prefix);
      if (target === undefined) this.#noteUnclear(name, text, prefix);
      else this.#state(name, text, target, variables);
    }
  }

  end(): EnvironmentContent {
    const refused = [
      ...unmergedVariables(this.#statements, this.#file.statements),
      ...restVariables(this.#restEnabled, this.#statements, this.#file.statements),
    ];
    return {
      statements: this.#statements,
      blocks: this.#blocks,
      problems: this.#problems,
      refused,
      unclear: this.#unclear,
      warnings: [...originalWarnings(this.#environment), ...this.#warnings],
    };
  }

  #targetOf(name: string, prefix: Prefix): Target | undefined {
    const path = this.#flagVariables.get(name);
    if (path !== undefined) return { path: [path], pattern: path, types: [] };
    const rest = name.slice(prefix.length);
    const targets = this.#names.targets(rest, prefix === 'HZ_');
    const [first, second] = targets;
    if (first !== undefined && second !== undefined) {
      const places = targets.map(({ path }) => pathText(path)).join(' and ');
      this.#problems.add(variable(name), () => `Cannot use ${name}: it is ambiguous: ${places}`);
    }
    return first;
  }

  #state(name: string, text: string, target: Target, variables: Map<string, string>): void {
    const { path, pattern, types, added, similar } = target;
    const at = variable(name);
    const key = path.join('\0');
    const other = variables.get(key);
    if (other !== undefined) {
      this.#problems.add(at, () => `Cannot use ${name}: ${other} sets the same setting`);
    }
    variables.set(key, name);
    if (path.includes('')) this.#problems.add(at, () => EMPTY_NAME);
    const isBoolean =
      this.#booleans.has(pattern) || (types.length > 0 && types.every(isBooleanType));
    if (isBoolean && !/^(true|false)$/i.test(text)) {
      this.#problems.refuseText({ path, at, text }, () => `not ${BOOLEAN_TEXTS}`);
      return;
    }
    this.#statements.push({ path, pattern, text, at, types });
    for (const each of added ?? []) this.#addBlock({ ...each, at });
    if (similar === undefined) return;
    const own = name.replace(/^HZ_/, 'GRID_');
    this.#warn(
      () =>
        `${name} sets ${pathText(path)}, as in the original, and not ${quoted(similar)}; ` +
        `${own} sets that`,
    );
  }

  #addBlock(block: NamedBlock): void {
    const place = block.path.join('\0');
    if (this.#added.has(place)) return;
    this.#added.add(place);
    this.#blocks.push(block);
  }

  #warn(message: () => string): void {
    if (this.#warnings.length < FINDINGS_MAX) this.#warnings.push(finding('warning', message()));
  }

  #noteUnclear(name: string, text: string, prefix: Prefix): void {
    const subject = /^(false|0|no|off)$/i.test(text) ? switchedBy(name) : undefined;
    if (subject !== undefined) this.#unclear.push({ name, subject });
    this.#warn(() => {
      const rest = name.slice(prefix.length);
      const message = `Environment variable ${name} matches no setting`;
      const nearest = this.#nearest(rest, prefix);
      if (nearest.length > 0) return message + hintOf(nearest);
      const section = this.#sectionOf(rest);
      return section === undefined
        ? message
        : `${message} in ${section}${this.#freeNamesHint(section)}`;
    });
  }

  #nearest(rest: string, prefix: Prefix): readonly string[] {
    const others = [...OTHERS, ...this.#flagVariables.keys()].filter((name) =>
      name.startsWith(prefix),
    );
    const fixed = fixedNames(this.#schema, prefix === 'HZ_');
    const names = [...fixed, ...others.map((name) => name.slice(prefix.length))];
    return slippedNames(rest, names).map((each) => prefix + each);
  }

  /** Returns the section, as a file writes it, with which the variable's name starts. */
  #sectionOf(rest: string): string | undefined {
    const [first = ''] = rest.split(/[_.]/);
    return [...this.#schema.children.keys()].find((name) => bare(name) === bare(first));
  }

  /**
   * Returns a hint for a section with free names: a variable's name does not show where such a name
   * ends.
   */
  #freeNamesHint(section: string): string {
    const isFree = this.#schema.children.get(section)?.content.named !== undefined;
    return isFree ? ', whose names are free; set it in a file' : '';
  }
}

function flagVariables(table: SettingTable): ReadonlyMap<string, string> {
  const variables = table.keys.flatMap((key) => {
    const { path, flags } = table.rowOf(key);
    const [first, ...more] = flags;
    if (path !== undefined || first === undefined || more.length > 0) return [];
    const name = first.name.slice(2).replaceAll('-', '_').toUpperCase();
    return [[`GRID_${name}`, first.name] as const];
  });
  return new Map([...variables, ['GRID_CLUSTER_NAME', table.pathOf('clusterName')]]);
}

function booleanPaths(table: SettingTable): ReadonlySet<string> {
  return new Set(patternsOf(table.all.filter(({ expects }) => expects === BOOLEAN_TEXTS)));
}

/** A variable that matches no setting, and the feature that it may be meant to disable. */
interface UnclearSwitch {
  readonly name: string;
  readonly subject: EndpointGroup | 'REST' | 'security' | 'TLS';
}

/**
 * Returns the feature that the name of a variable seems to refer to, judging only by its letters.
 */
function switchedBy(name: string): UnclearSwitch['subject'] | undefined {
  const rest = bare(name.replace(/^(GRID|HZ)_/, '')).replace(/^(advanced)?network/, '');
  const isOfRest = /^(rest|endpoint)/.test(rest);
  const group = ENDPOINT_GROUP_NAMES.find((each) => {
    const inName = bare(each);
    return isOfRest ? rest.includes(inName) : rest === inName || rest === `${inName}enabled`;
  });
  if (group !== undefined) return group;
  if (isOfRest) return 'REST';
  if (rest.startsWith('security')) return 'security';
  return /^(ssl|tls)/.test(rest) ? 'TLS' : undefined;
}

function variable(name: string): Statement['at'] {
  return { file: name, line: 0, column: 0 };
}

/** Returns the text without surrounding blanks: spaces and control characters, as Java trims. */
function trimmed(text: string): string {
  const isBlank = (at: number): boolean => text.charCodeAt(at) <= SPACE;
  let from = 0;
  let to = text.length;
  while (from < to && isBlank(from)) from += 1;
  while (to > from && isBlank(to - 1)) to -= 1;
  return text.slice(from, to);
}

const SPACE = 0x20;

/** Whether Kubernetes has set the variable, for a service whose name starts like a prefix. */
function isOfKubernetes(name: string, text: string): boolean {
  if (/_SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?$/.test(name)) return true;
  const port = /_PORT(_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?$/.exec(name);
  if (port === null) return false;
  return port[1] !== undefined || /^(tcp|udp|sctp):\/\//.test(text);
}

/** Returns warnings about variables that only the original reads. An empty one counts as unset. */
function originalWarnings(environment: NodeJS.ProcessEnv): Finding[] {
  return Object.entries(OF_ORIGINAL).flatMap(([name, insteadOf]) => {
    const text = environment[name] ?? '';
    if (text === '') return [];
    const instead = insteadOf(text).join('; ');
    return [finding('warning', `Environment variable ${name} has no effect: ${instead}`)];
  });
}

/**
 * Sections in which the original does not merge variables with the file's settings: it drops the
 * rest of the section (for security and TLS even `enabled`), or ignores the variable. Names in a
 * row are of one section.
 */
const UNMERGED_SECTIONS: readonly (readonly string[])[] = [
  ['security'],
  ['network.ssl'],
  ['advanced-network.rest-server-socket-endpoint-config.ssl'],
  ['persistence', 'hot-restart-persistence'],
  ['wan-replication.{name}'],
  ['map.{name}.eviction'],
];

/**
 * Returns the `HZ_` variables that change a section which the file has and the original does not
 * merge; they are refused.
 */
function unmergedVariables(
  statements: readonly Statement[],
  ofFile: readonly Statement[],
): RefusedSetting[] {
  return statements.flatMap((statement) => {
    const { path, pattern, at } = statement;
    if (!at.file.startsWith('HZ_')) return [];
    for (const sections of UNMERGED_SECTIONS) {
      const section = sections.find((each) => pattern.startsWith(`${each}.`));
      if (section === undefined || isSwitched(statement, section)) continue;
      const around = path.slice(0, section.split('.').length);
      const places = sections.map((each) => (sections.length > 1 ? [each] : around));
      if (!ofFile.some((each) => places.some((place) => isBelow(each.path, place)))) continue;
      const own = at.file.replace(/^HZ_/, 'GRID_');
      const reason =
        `the original does not merge it with the settings of the file in ${pathText(around)}; ` +
        `write it there, or as ${own}`;
      return [refusedAt(statement, reason)];
    }
    return [];
  });
}

/**
 * Whether the statement enables or disables the section as in the original; persistence can only be
 * enabled.
 */
function isSwitched(statement: Statement, section: string): boolean {
  if (statement.pattern !== `${section}.enabled`) return false;
  return isOn(statement) || !section.endsWith('persistence');
}

/**
 * Returns the `HZ_` variables of REST if the file enables REST and no variable does. The original
 * would then turn REST off. They are refused, as they may also be meant to add a group to those of
 * the file.
 */
function restVariables(
  restEnabled: string,
  statements: readonly Statement[],
  ofFile: readonly Statement[],
): RefusedSetting[] {
  const section = restEnabled.slice(0, restEnabled.lastIndexOf('.') + 1);
  const inFile = ofFile.findLast(({ pattern }) => pattern === restEnabled);
  if (inFile === undefined || !isOn(inFile)) return [];
  if (statements.some(({ pattern }) => pattern === restEnabled)) return [];
  return statements
    .filter(({ pattern, at }) => pattern.startsWith(section) && at.file.startsWith('HZ_'))
    .map((statement) => {
      const own = statement.at.file.replace(/^HZ_/, 'GRID_');
      const reason =
        'without HZ_NETWORK_RESTAPI_ENABLED the original turns REST off, which the file enables; ' +
        `also set that variable, or write ${own}`;
      return refusedAt(statement, reason);
    });
}

/** Refuses the variables that may be meant to disable something that is enabled. */
export function refusedSwitches(
  unclear: readonly UnclearSwitch[],
  config: {
    readonly restEnabled: boolean;
    readonly tlsEnabled: boolean;
    readonly endpointGroups: ReadonlyMap<EndpointGroup, boolean>;
    readonly security: { readonly isEnabled: boolean };
  },
): RefusedSetting[] {
  const { restEnabled, endpointGroups, security, tlsEnabled } = config;
  const others = { REST: restEnabled, security: security.isEnabled, TLS: tlsEnabled };
  return unclear.flatMap(({ name, subject }) => {
    const isSwitchedOn =
      subject === 'REST' || subject === 'security' || subject === 'TLS'
        ? others[subject]
        : restEnabled && endpointGroups.get(subject);
    if (isSwitchedOn !== true) return [];
    const reason = `it matches no setting, and ${subject} is on`;
    return [refusedAt({ path: [name], at: variable(name) }, reason)];
  });
}
