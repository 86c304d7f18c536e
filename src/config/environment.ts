/**
 * Settings in the environment. The variable's name is `GRID_`, or `HZ_` as the original has it, then
 * the path in upper case, its steps joined by `_`, without dashes (`GRID_NETWORK_RESTAPI_ENABLED`).
 * Only paths without free names, and the endpoint groups, have a variable. A setting that has only a
 * flag is named like the flag (`GRID_HOST`). Where both prefixes name a setting, `GRID_` outweighs
 * `HZ_`. Variables that only the original reads cause a warning that names what replaces them here.
 */
import { ENDPOINT_GROUP_NAMES } from './endpoint-group.ts';
import { type Finding, finding } from './finding.ts';
import { insteadOfJavaOptions } from './java-options.ts';
import { type KnownContent, knownSettings } from './known-settings.ts';
import { hintOf, slippedNames } from './nearest-name.ts';
import { SETTING_KEYS, SETTINGS } from './settings.ts';
import type { Statement } from './statements.ts';

const PREFIXES = ['HZ_', 'GRID_'] as const;
/**
 * Variables that are not settings: the one that names the file, and those of the command line client.
 */
const OTHERS: ReadonlySet<string> = new Set([
  'GRID_CONFIG',
  ...['GRID_ADDRESS', 'GRID_USER', 'GRID_PASSWORD', 'GRID_CA', 'GRID_PATH_SEGMENT'],
]);

const NAMES_FILE = 'GRID_CONFIG or --config names the configuration file';
/** Variables that the original reads and this member does not, with what replaces each. */
const OF_ORIGINAL: Readonly<Record<string, (text: string) => readonly string[]>> = {
  HAZELCAST_CONFIG: () => [NAMES_FILE],
  HZ_CONFIG: () => [NAMES_FILE],
  JAVA_OPTS: (text) => ['there is no JVM', ...insteadOfJavaOptions(text)],
  LOGGING_LEVEL: () => ['GRID_LOGLEVEL or --log-level chooses how much is logged'],
};

interface EnvironmentContent {
  readonly statements: readonly Statement[];
  readonly warnings: readonly Finding[];
}

type Target = Pick<Statement, 'path' | 'pattern' | 'types'>;

export function readEnvironment(
  environment: NodeJS.ProcessEnv,
  ownPaths: readonly string[],
): EnvironmentContent {
  const statements: Statement[] = [];
  const warnings = originalWarnings(environment);
  const warn = (message: string) => warnings.push(finding('warning', message));
  const names = Object.keys(environment)
    .filter((name) => /^(GRID|HZ)_/.test(name) && !OTHERS.has(name) && !(name in OF_ORIGINAL))
    .sort();
  if (names.length === 0) return { statements, warnings };
  const known = knownSettings('yaml', ownPaths);
  const targets = targetsByName(known);
  for (const prefix of PREFIXES) {
    for (const name of names.filter((each) => each.startsWith(prefix))) {
      const bare = name.slice(prefix.length);
      const target = targets.get(bare);
      if (target !== undefined) {
        const at = { file: name, line: 0, column: 0 };
        statements.push({ ...target, text: environment[name] ?? '', at });
        continue;
      }
      const message = `Environment variable ${name} names no setting`;
      const nearest = nearestVariables(bare, prefix, targets);
      const section = sectionOf(bare, known);
      if (nearest.length > 0) warn(message + hintOf(nearest));
      else if (section !== undefined) warn(`${message} here${freeNamesHint(section, known)}`);
      // Other programs also have variables that begin with HZ_.
      else if (prefix === 'GRID_') warn(message);
    }
  }
  return { statements, warnings };
}

/** An empty variable counts as unset. */
function originalWarnings(environment: NodeJS.ProcessEnv): Finding[] {
  return Object.entries(OF_ORIGINAL).flatMap(([name, insteadOf]) => {
    const text = environment[name] ?? '';
    if (text === '') return [];
    const instead = insteadOf(text).join('; ');
    return [finding('warning', `Environment variable ${name} has no meaning here: ${instead}`)];
  });
}

function nearestVariables(
  bare: string,
  prefix: string,
  targets: ReadonlyMap<string, Target>,
): readonly string[] {
  const others = [...OTHERS].filter((name) => name.startsWith(prefix));
  const names = [...targets.keys(), ...others.map((name) => name.slice(prefix.length))];
  return slippedNames(bare, names).map((each) => prefix + each);
}

/** The section, as a file writes it, that the variable's name begins with. */
function sectionOf(bare: string, { children }: KnownContent): string | undefined {
  return [...children.keys()].find((name) => bare.startsWith(`${inCapitals(name)}_`));
}

/** In a section with free names, a variable's name does not show where such a name ends. */
function freeNamesHint(section: string, { children }: KnownContent): string {
  const isFree = children.get(section)?.content.named !== undefined;
  return isFree ? `: names in ${section} are free; write it in a file` : '';
}

function targetsByName(known: KnownContent): ReadonlyMap<string, Target> {
  const targets = new Map<string, Target>();
  addTargets(targets, known, []);
  for (const around of [
    ['network', 'rest-api'],
    ['advanced-network', 'rest-server-socket-endpoint-config'],
  ]) {
    for (const group of ENDPOINT_GROUP_NAMES) {
      const path = [...around, 'endpoint-groups', group, 'enabled'];
      const name = [...around, 'endpoint-groups'].map(inCapitals).join('_');
      const pattern = [...around, 'endpoint-groups', '{name}', 'enabled'].join('.');
      targets.set(`${name}_${group}_ENABLED`, { path, pattern, types: [] });
    }
  }
  for (const key of SETTING_KEYS) {
    const [first, ...more] = SETTINGS[key].flags;
    if (SETTINGS[key].path !== undefined || first === undefined || more.length > 0) continue;
    const path = [first.name];
    targets.set(inCapitals(first.name), { path, pattern: first.name, types: [] });
  }
  return targets;
}

function addTargets(targets: Map<string, Target>, known: KnownContent, path: string[]): void {
  for (const [name, { types, content }] of known.children) {
    const steps = [...path, name];
    const all = steps.map(inCapitals).join('_');
    const item = content.item?.types ?? [];
    if (types.length > 0 && !targets.has(all)) {
      targets.set(all, { path: steps, pattern: steps.join('.'), types });
    } else if (item.length > 0 && content.item?.content.children.size === 0) {
      const pattern = `${steps.join('.')}.[]`;
      targets.set(all, { path: [...steps, '[0]'], pattern, types: item });
    }
    addTargets(targets, content, steps);
  }
}

function inCapitals(step: string): string {
  return step.replaceAll('-', '').toUpperCase();
}
