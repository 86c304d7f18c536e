/**
 * Decides the use of each statement: it sets a row of the table of settings, is refused, or has no
 * effect. unused-settings.ts reports the statements that no reader uses. Values of a wrong type are
 * problems. Before that, `advanced-network` is translated to `network`. If it is
 * enabled, its REST endpoint replaces port, address, endpoint groups and encryption of `network`, and
 * its `join.tcp-ip` replaces that of `network`. REST is then enabled exactly if there is such an
 * endpoint. Tested by member/load.spec.ts.
 */
import { type Finding, finding } from './finding.ts';
import { bounded, FindingList, pathText, quoted } from './finding-list.ts';
import { isOn, type RefusedList } from './refused-settings.ts';
import { BOOLEAN_TEXTS, isNamed, MASK, readBoolean } from './setting.ts';
import { type Assignment, isProperty, type SettingTable } from './setting-table.ts';
import { sourceAt } from './source.ts';
import { isOfType, type Statement, textOfSteps } from './statements.ts';

const DEPRECATED_SWITCHES = ['properties.grid.rest.enabled', 'properties.hazelcast.rest.enabled'];

/** The readings of other readers, which precede. */
interface Preceding {
  /** The settings of a section that another reader assigns, and its statements. */
  readonly tls: {
    readonly section: string;
    readonly assigned: readonly (readonly [string, Statement])[];
    readonly used: ReadonlySet<Statement>;
  };
  /** Statements that other readers have used. */
  readonly used: ReadonlySet<Statement>;
  readonly refused: RefusedList;
}

interface Interpretation {
  readonly assignments: readonly Assignment[];
  /** Assignments of deprecated settings, which any other assignment overrides. */
  readonly deprecated: Assignment[];
  readonly problems: FindingList;
  /** Warnings about deprecated settings. */
  readonly warnings: readonly Finding[];
  /** Statements that have no effect, except those that another reader uses. */
  readonly unused: readonly Statement[];
}

export function interpret(
  table: SettingTable,
  statements: readonly Statement[],
  { tls, used, refused }: Preceding,
): Interpretation {
  const assignments = new AssignmentList(table);
  const deprecated: Assignment[] = [];
  const problems = new FindingList();
  const warnings: Finding[] = [];
  const unused: Statement[] = [];
  for (const [key, statement] of tls.assigned) assignments.add(key, statement);
  for (const statement of statements) {
    const isOfTls = statement.pattern.startsWith(tls.section);
    const key = isOfTls ? undefined : table.keyOf(statement);
    if (tls.used.has(statement)) continue;
    if (key !== undefined) {
      if (isNameUsable(table, key, statement)) assignments.add(key, statement);
    } else if (isDeprecatedSwitch(statement)) {
      deprecated.push(...assignmentsOfDeprecated(statement, problems));
      if (warnings.length < DEPRECATED_SWITCHES.length) {
        warnings.push(deprecationOf(table, statement));
      }
    } else {
      checkType(statement, problems);
      if (statement.pattern === 'advanced-network.enabled' || used.has(statement)) continue;
      unused.push(statement);
    }
  }
  const others = refused.statements();
  return {
    assignments: assignments.end(),
    deprecated,
    problems,
    warnings,
    unused: unused.filter((each) => !others.has(each)),
  };
}

/**
 * Collects the assignments of statements. The items of a list from one kind of source form one
 * assignment.
 */
class AssignmentList {
  readonly #table: SettingTable;
  readonly #assignments: Assignment[] = [];
  readonly #lists = new Map<string, { readonly index: number; readonly items: string[] }>();

  constructor(table: SettingTable) {
    this.#table = table;
  }

  add(key: string, statement: Statement): void {
    const row = this.#table.rowOf(key);
    const assignment = assignmentOf(this.#table, key, statement);
    // An invalid item is a separate assignment, so that the message names its place.
    const isItem = row.isList === true && 'value' in row.parse(assignment.text);
    const list = isItem ? `${key} ${assignment.source.kind} ${assignment.isAddition}` : '';
    const existing = this.#lists.get(list);
    if (existing !== undefined) existing.items.push(assignment.text);
    else {
      const index = this.#assignments.push(assignment) - 1;
      if (isItem) this.#lists.set(list, { index, items: [assignment.text] });
    }
  }

  end(): readonly Assignment[] {
    for (const { index, items } of this.#lists.values()) {
      const first = this.#assignments[index];
      if (first !== undefined) this.#assignments[index] = { ...first, text: items.join(',') };
    }
    return this.#assignments;
  }
}

function assignmentOf(table: SettingTable, key: string, statement: Statement): Assignment {
  const { path, text, at } = statement;
  const source = sourceAt(at);
  const row = table.rowOf(key);
  const name = isNamed(row) ? table.nameIn(statement) : undefined;
  if (source.kind !== 'file') {
    // As in the original, variables append to the lists of a file.
    const isAddition = row.isList === true && at.file.startsWith('HZ_');
    const all = { key, text, source, ...(name !== undefined && { name }) };
    return isAddition ? { ...all, isAddition } : all;
  }
  return name === undefined ? { key, text, source, path } : { key, name, text, source, path };
}

/** Whether the name is allowed; one that is not is reported elsewhere. */
function isNameUsable(table: SettingTable, key: string, statement: Statement): boolean {
  const row = table.rowOf(key);
  return !isNamed(row) || row.parseName(table.nameIn(statement)) !== undefined;
}

function checkType(statement: Statement, problems: FindingList): void {
  if (isOfType(statement)) return;
  const { path, types } = statement;
  const wanted = () => `not ${types.map(({ expects }) => expects).join(' or ')}`;
  problems.refuseText(statement, wanted, isSecretName(path.at(-1)) ? MASK : undefined);
}

function isDeprecatedSwitch({ path, pattern }: Statement): boolean {
  return isProperty(pattern) && DEPRECATED_SWITCHES.includes(textOfSteps(path));
}

function assignmentsOfDeprecated(statement: Statement, problems: FindingList): Assignment[] {
  const { text, path, at } = statement;
  if (readBoolean(text) === undefined) {
    problems.add(at, () => `Cannot use ${textOfSteps(path)} ${quoted(text)}: not ${BOOLEAN_TEXTS}`);
  }
  if (!isOn(statement)) return [];
  const source = sourceAt(statement.at);
  return [
    { key: 'restEnabled', text: 'true', source },
    { key: 'endpointGroups', name: 'DATA', text: 'true', source },
  ];
}

function deprecationOf(table: SettingTable, { path, at }: Statement): Finding {
  const instead = `${table.pathOf('restEnabled')} and ${table.pathOf('endpointGroups', 'DATA')}`;
  const message = `${textOfSteps(path)} is deprecated; write ${instead}`;
  return finding('warning', message, sourceAt(at).name);
}

/** Whether the value of a setting of that name must not be shown. */
export function isSecretName(name = ''): boolean {
  return /password|passphrase|secret|token|salt/i.test(name);
}

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
  const named = bounded(names, 'setting').join(', ');
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
