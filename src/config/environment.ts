/**
 * Settings in the environment: the path in upper case, joined by `_`, dashes left away, behind
 * `GRID_`, or `HZ_` as the original has it (`GRID_NETWORK_RESTAPI_ENABLED`); for paths without free
 * names, and for the endpoint groups. A setting that is a flag only is named as its flag
 * (`GRID_HOST`). Where both prefixes name a setting, `GRID_` stands above.
 */
import { ENDPOINT_GROUP_NAMES } from './endpoint-group.ts';
import { type KnownContent, knownSettings } from './known-settings.ts';
import { hintOf, slippedNames } from './nearest-name.ts';
import { SETTINGS, type SettingKey } from './settings.ts';
import type { Statement } from './statements.ts';

const PREFIXES = ['HZ_', 'GRID_'] as const;
/** Variables of other programs of ours. */
const OTHERS = new Set(['GRID_PASSWORD']);

export interface EnvironmentContent {
  readonly statements: readonly Statement[];
  readonly warnings: readonly string[];
}

type Target = Pick<Statement, 'path' | 'pattern' | 'types'>;

export function readEnvironment(
  environment: NodeJS.ProcessEnv,
  ownPaths: readonly string[],
): EnvironmentContent {
  const statements: Statement[] = [];
  const warnings: string[] = [];
  const names = Object.keys(environment).filter((name) => /^(GRID|HZ)_/.test(name));
  if (names.length === 0) return { statements, warnings };
  const targets = targetsByName(ownPaths);
  for (const prefix of PREFIXES) {
    for (const name of names
      .filter((each) => each.startsWith(prefix) && !OTHERS.has(each))
      .sort()) {
      const bare = name.slice(prefix.length);
      const target = targets.get(bare);
      if (target !== undefined) {
        const at = { file: name, line: 0, column: 0 };
        statements.push({ ...target, text: environment[name] ?? '', at });
        continue;
      }
      const nearest = slippedNames(bare, targets.keys());
      // Other programs have variables that begin with HZ_, too.
      if (prefix === 'HZ_' && nearest.length === 0) continue;
      const hint = hintOf(nearest.map((each) => prefix + each));
      warnings.push(`Environment variable ${name} names no setting${hint}`);
    }
  }
  return { statements, warnings };
}

function targetsByName(ownPaths: readonly string[]): ReadonlyMap<string, Target> {
  const targets = new Map<string, Target>();
  addTargets(targets, knownSettings('yaml', ownPaths), []);
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
  for (const key of Object.keys(SETTINGS) as SettingKey[]) {
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
