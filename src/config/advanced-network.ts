/**
 * Translates `advanced-network` to `network`. If it is enabled, its REST endpoint replaces port,
 * address, endpoint groups and encryption of `network`, and its `join.tcp-ip` replaces that of
 * `network`. REST is then enabled exactly if there is such an endpoint.
 * Tested by member/load.spec.ts.
 */
import { type Finding, finding } from './finding.ts';
import { bounded, pathText } from './finding-list.ts';
import { isOn } from './refused-settings.ts';
import type { Statement } from './statements.ts';

const SECTION = 'advanced-network';
const ENDPOINT = 'rest-server-socket-endpoint-config';
/**
 * The paths in `network` of the settings of `advanced-network` that have an effect, by their path
 * there.
 */
const IN_NETWORK: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ...['port', 'public-address', 'interfaces', 'ssl'].map(
    (name) => [`${ENDPOINT}.${name}`, ['network', name]] as const,
  ),
  [`${ENDPOINT}.endpoint-groups`, ['network', 'rest-api', 'endpoint-groups']],
  ...['enabled', 'interface', 'member', 'members', 'member-list'].map(
    (name) => [`join.tcp-ip.${name}`, ['network', 'join', 'tcp-ip', name]] as const,
  ),
]);
const PLACES = [...IN_NETWORK.values()];

interface Translated {
  readonly statements: readonly Statement[];
  readonly warnings: readonly Finding[];
}

/**
 * Returns the statements; those of an enabled `advanced-network` replace the ones of `network`.
 * `restEnabled`: the path of the setting that enables REST.
 */
export function translateAdvancedNetwork(
  statements: readonly Statement[],
  restEnabled: string,
): Translated {
  const enabled = statements.findLast(({ pattern }) => pattern === 'advanced-network.enabled');
  if (enabled === undefined || !isOn(enabled)) return { statements, warnings: [] };
  const used: Statement[] = [];
  const overridden: Statement[] = [];
  let hasEndpoint = false;
  for (const statement of statements) {
    const [first, second] = statement.path;
    hasEndpoint ||= first === SECTION && second === ENDPOINT;
    const moved = first === SECTION ? inNetwork(statement) : undefined;
    if (moved !== undefined) used.push(moved);
    else if (statement.pattern === restEnabled || isOverridden(statement))
      overridden.push(statement);
    else used.push(statement);
  }
  const text = String(hasEndpoint);
  used.push({ ...enabled, path: restEnabled.split('.'), pattern: restEnabled, text });
  if (overridden.length === 0) return { statements: used, warnings: [] };
  const names = [...new Set(overridden.map(({ path }) => pathText(path)))];
  const named = bounded(names, 'settings').join(', ');
  const warning = `Overridden by advanced-network, which is enabled: ${named}`;
  return { statements: used, warnings: [finding('warning', warning)] };
}

/** Returns the statement with its path in `network`, or undefined if it has none. */
function inNetwork(statement: Statement): Statement | undefined {
  for (const depth of [3, 4]) {
    const place = IN_NETWORK.get(statement.path.slice(1, depth).join('.'));
    if (place === undefined) continue;
    const path = [...place, ...statement.path.slice(depth)];
    const pattern = [...place, ...statement.pattern.split('.').slice(depth)].join('.');
    return { ...statement, path, pattern };
  }
  return undefined;
}

/** Returns the patterns of the settings of `network` as patterns of `advanced-network`. */
export function advancedPatterns(patterns: readonly string[]): string[] {
  const moved = [...IN_NETWORK].flatMap(([own, place]) => {
    const target = place.join('.');
    return patterns
      .filter((pattern) => `${pattern}.`.startsWith(`${target}.`))
      .map((pattern) => `${SECTION}.${own}${pattern.slice(target.length)}`);
  });
  return [`${SECTION}.enabled`, ...moved];
}

function isOverridden({ path }: Statement): boolean {
  return PLACES.some((place) => place.every((step, index) => path[index] === step));
}
