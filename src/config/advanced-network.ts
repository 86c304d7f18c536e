/**
 * `advanced-network` instead of `network`: where it is enabled, its REST endpoint stands for what
 * `network` says of port, address, groups and encryption, and REST is on exactly if there is one.
 */
import { bounded } from './problems.ts';
import { isOn } from './refusals.ts';
import { pathText, type Statement } from './statements.ts';

const ENDPOINT = ['advanced-network', 'rest-server-socket-endpoint-config'];
/** What the endpoint has a word on, and what that is in `network`. */
const IN_NETWORK: Readonly<Record<string, readonly string[]>> = {
  port: ['network', 'port'],
  'public-address': ['network', 'public-address'],
  interfaces: ['network', 'interfaces'],
  ssl: ['network', 'ssl'],
  'endpoint-groups': ['network', 'rest-api', 'endpoint-groups'],
};

export interface Translated {
  readonly statements: readonly Statement[];
  readonly warnings: readonly string[];
}

/** The statements with those of an enabled REST endpoint in the place of network's. */
export function translateAdvancedNetwork(statements: readonly Statement[]): Translated {
  const enabled = statements.findLast(({ pattern }) => pattern === 'advanced-network.enabled');
  if (enabled === undefined || !isOn(enabled)) return { statements, warnings: [] };
  const kept: Statement[] = [];
  const outweighed: Statement[] = [];
  let hasEndpoint = false;
  for (const statement of statements) {
    const [first, second, third = ''] = statement.path;
    const isEndpoint = first === ENDPOINT[0] && second === ENDPOINT[1];
    const place = isEndpoint ? IN_NETWORK[third] : undefined;
    hasEndpoint ||= isEndpoint;
    if (place !== undefined) kept.push(movedTo(place, statement));
    else if (isOutweighed(statement)) outweighed.push(statement);
    else kept.push(statement);
  }
  const path = ['network', 'rest-api', 'enabled'];
  const text = String(hasEndpoint);
  kept.push({ ...enabled, path, pattern: path.join('.'), text });
  if (outweighed.length === 0) return { statements: kept, warnings: [] };
  const names = [...new Set(outweighed.map(({ path }) => pathText(path)))];
  const named = bounded(names, names.length, 'settings').join(', ');
  const warning = `Outweighed by advanced-network, which is enabled: ${named}`;
  return { statements: kept, warnings: [warning] };
}

function movedTo(place: readonly string[], statement: Statement): Statement {
  const path = [...place, ...statement.path.slice(3)];
  const pattern = [...place, ...statement.pattern.split('.').slice(3)].join('.');
  return { ...statement, path, pattern };
}

function isOutweighed({ path, pattern }: Statement): boolean {
  if (pattern === 'network.rest-api.enabled') return true;
  return Object.values(IN_NETWORK).some((place) =>
    place.every((step, index) => path[index] === step),
  );
}
