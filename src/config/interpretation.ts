/**
 * Decides the use of each statement: it sets a row of the table of settings, is refused, or has no
 * effect. Statements that no reader uses are reported in one warning for each section. Values of a
 * wrong type are problems. Tested by load.spec.ts.
 */
import type { Assignment } from './config.ts';
import { Effective } from './effective-statements.ts';
import { type Finding, finding } from './finding.ts';
import { bounded, FindingList, quoted, shortened } from './finding-list.ts';
import { isOn, RefusedList, refuseSettings } from './refused-settings.ts';
import { isNamed, MASK } from './setting.ts';
import { pathOf, rowOf, SETTING_KEYS, type SettingKey } from './settings.ts';
import { sourceAt } from './source.ts';
import { isOfType, type Statement, textOfSteps } from './statements.ts';
import { readTls } from './tls-reading.ts';
import { BOOLEAN_TEXTS, readBoolean } from './value-type.ts';

/** Settings by pattern; for a list also by that of its items, with `.[]`. */
const KEYS_BY_PATTERN: ReadonlyMap<string, SettingKey> = new Map(
  SETTING_KEYS.flatMap((key) =>
    [pathOf(key), ...(rowOf(key).aliases ?? [])].flatMap((path) => [
      [path, key] as const,
      [`${path}.[]`, key] as const,
    ]),
  ),
);
/** Index of the step with the free name, by the pattern of a path or alias. */
const NAME_STEPS: ReadonlyMap<string, number> = new Map(
  [...KEYS_BY_PATTERN.keys()]
    .map((pattern) => [pattern, pattern.split('.').indexOf('{name}')] as const)
    .filter(([, step]) => step >= 0),
);

const DEPRECATED_SWITCHES = ['properties.grid.rest.enabled', 'properties.hazelcast.rest.enabled'];

interface Interpretation {
  readonly effective: Effective;
  readonly assignments: readonly Assignment[];
  /** Assignments of deprecated settings, which any other assignment overrides. */
  readonly deprecated: Assignment[];
  readonly problems: FindingList;
  /** Warnings about deprecated settings. */
  readonly warnings: readonly Finding[];
  readonly refused: readonly Finding[];
  /** Statements that have no effect, except those that another reader uses. */
  readonly unused: readonly Statement[];
}

/** Interprets the statements. `used`: statements that another reader has used. */
export function interpret(
  statements: readonly Statement[],
  used: ReadonlySet<Statement>,
): Interpretation {
  // Settings with a free name, which may be very many, are not looked up, and none can be refused.
  const effective = new Effective(statements.filter(({ pattern }) => !NAME_STEPS.has(pattern)));
  const assignments = new AssignmentList();
  const deprecated: Assignment[] = [];
  const problems = new FindingList();
  const warnings: Finding[] = [];
  const unused: Statement[] = [];
  const list = new RefusedList();
  refuseSettings(effective, list);
  const tls = readTls(effective, list);
  for (const [key, statement] of tls.assigned) assignments.add(key, statement);
  for (const statement of statements) {
    const isOfTls = statement.pattern.startsWith('network.ssl.');
    const key = isOfTls ? undefined : keyOf(statement);
    if (tls.used.has(statement)) continue;
    if (key !== undefined) {
      if (isNameUsable(key, statement)) assignments.add(key, statement);
    } else if (isDeprecatedSwitch(statement)) {
      deprecated.push(...assignmentsOfDeprecated(statement, problems));
      if (warnings.length < DEPRECATED_SWITCHES.length) warnings.push(deprecationOf(statement));
    } else {
      checkType(statement, problems);
      if (statement.pattern === 'advanced-network.enabled' || used.has(statement)) continue;
      unused.push(statement);
    }
  }
  const refused = list.statements();
  return {
    effective,
    assignments: assignments.end(),
    deprecated,
    problems,
    warnings,
    refused: list.end(),
    unused: unused.filter((each) => !refused.has(each)),
  };
}

/** Returns the setting of the table that the statement sets. */
function keyOf({ path, pattern }: Statement): SettingKey | undefined {
  const key = KEYS_BY_PATTERN.get(pattern);
  // A path with a free name can be a setting only as a property, by the property's name.
  return key ?? (isProperty(pattern) ? KEYS_BY_PATTERN.get(textOfSteps(path)) : undefined);
}

function isProperty(pattern: string): boolean {
  const isLast = pattern.indexOf('{name}') === pattern.length - '{name}'.length;
  return isLast && pattern.endsWith('properties.{name}');
}

/**
 * Collects the assignments of statements. The items of a list from one kind of source form one
 * assignment.
 */
class AssignmentList {
  readonly #assignments: Assignment[] = [];
  readonly #lists = new Map<string, { readonly index: number; readonly items: string[] }>();

  add(key: SettingKey, statement: Statement): void {
    const row = rowOf(key);
    const assignment = assignmentOf(key, statement);
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

function assignmentOf(key: SettingKey, statement: Statement): Assignment {
  const { path, text, at } = statement;
  const source = sourceAt(at);
  const name = isNamed(rowOf(key)) ? freeName(statement) : undefined;
  if (source.kind !== 'file') {
    // As in the original, variables append to the lists of a file.
    const isAddition = rowOf(key).isList === true && at.file.startsWith('HZ_');
    const all = { key, text, source, ...(name !== undefined && { name }) };
    return isAddition ? { ...all, isAddition } : all;
  }
  return name === undefined ? { key, text, source, path } : { key, name, text, source, path };
}

function freeName({ path, pattern }: Statement): string {
  return path[NAME_STEPS.get(pattern) ?? -1] ?? '';
}

/** Whether the name is allowed; one that is not is reported elsewhere. */
function isNameUsable(key: SettingKey, statement: Statement): boolean {
  const row = rowOf(key);
  return !isNamed(row) || row.parseName(freeName(statement)) !== undefined;
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

function deprecationOf({ path, at }: Statement): Finding {
  const instead = `${pathOf('restEnabled')} and ${pathOf('endpointGroups', 'DATA')}`;
  const message = `${textOfSteps(path)} is deprecated; write ${instead}`;
  return finding('warning', message, sourceAt(at).name);
}

/** Returns one warning for each section with statements that have no effect. */
export function unusedWarnings(unused: readonly Statement[]): Finding[] {
  const sections = new Map<string, { readonly where: string; readonly names: Set<string> }>();
  for (const statement of unused) {
    const { path, pattern } = statement;
    let section = sections.get(path[0] ?? '');
    if (section === undefined) {
      section = { where: sourceAt(statement.at).name, names: new Set() };
      sections.set(path[0] ?? '', section);
    }
    section.names.add(namedInSection(path, pattern));
  }
  return [...sections].map(([section, { where, names }]) => {
    const listed = bounded([...names], 'names').join(', ');
    return finding('warning', `Ignored settings in ${section}: ${listed}`, where);
  });
}

/**
 * Returns a path without its section; free names are written as `{name}`, except for the last step.
 */
function namedInSection(path: readonly string[], pattern: string): string {
  const last = shortened(path.at(-1) ?? '');
  const steps = [...pattern.split('.').slice(1, -1), last];
  return textOfSteps(path.length === 1 ? path : steps).replace(/\[\d+\]/g, '[]');
}

/** Whether the value of a setting of that name must not be shown. */
export function isSecretName(name = ''): boolean {
  return /password|passphrase|secret|token|salt/i.test(name);
}
