/**
 * Decides the use of each statement: it sets a row of the table of settings, or is refused, or has no
 * meaning here. Of statements without a meaning, one warning for each section is given. Values of a
 * wrong type are problems.
 */
import { type Assignment, MASK, type Source } from './config.ts';
import { Effective } from './effective.ts';
import { formatPlace } from './place.ts';
import { bounded, PROBLEMS_MAX, Problems, quoted, shortened } from './problems.ts';
import { isOn, type Refusal, refusalsOf } from './refused-settings.ts';
import { isNamed } from './setting.ts';
import { pathOf, rowOf, SETTING_KEYS, type SettingKey } from './settings.ts';
import { pathText, type Statement, textOfSteps } from './statements.ts';
import { readTls } from './tls-reading.ts';
import { BOOLEAN_TEXTS, readBoolean } from './value-type.ts';

const KEYS_BY_PATTERN: ReadonlyMap<string, SettingKey> = new Map(
  SETTING_KEYS.flatMap((key) =>
    [pathOf(key), ...(rowOf(key).aliases ?? [])].map((path) => [path, key] as const),
  ),
);

const DEPRECATED_SWITCHES = ['properties.grid.rest.enabled', 'properties.hazelcast.rest.enabled'];

/** A setting with which `serve` refuses to start. */
export interface RefusedSetting {
  readonly path: string;
  readonly source: Source;
  /** Why, and what to write instead. */
  readonly reason: string;
}

export interface Interpretation {
  readonly effective: Effective;
  readonly assignments: readonly Assignment[];
  /** Assignments of deprecated settings, which any other assignment outweighs. */
  readonly deprecated: Assignment[];
  readonly problems: Problems;
  readonly warnings: string[];
  readonly refused: RefusedSetting[];
}

/** `used`: statements that another reader has used. */
export function interpret(
  statements: readonly Statement[],
  used: ReadonlySet<Statement>,
): Interpretation {
  const effective = new Effective(statements);
  const assignments = new AssignmentList();
  const deprecated: Assignment[] = [];
  const problems = new Problems();
  const warnings: string[] = [];
  const unused: Statement[] = [];
  const tls = readTls(effective);
  for (const [key, statement] of tls.said) assignments.add(key, statement);
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
  const refusals = [...refusalsOf(effective), ...tls.refusals];
  const refused = new Set(refusals.map(({ statement }) => statement));
  warnings.push(...unusedWarnings(unused.filter((each) => !refused.has(each))));
  return {
    effective,
    assignments: assignments.end(),
    deprecated,
    problems,
    warnings,
    refused: refusedSettings(refusals),
  };
}

/** The setting of the table that the statement sets. */
function keyOf({ path, pattern }: Statement): SettingKey | undefined {
  const key = KEYS_BY_PATTERN.get(pattern.replace(/\.\[\]$/, ''));
  // A path with a free name can be a setting only as a property, by the property's name.
  return key ?? (isProperty(pattern) ? KEYS_BY_PATTERN.get(textOfSteps(path)) : undefined);
}

function isProperty(pattern: string): boolean {
  const isLast = pattern.indexOf('{name}') === pattern.length - '{name}'.length;
  return isLast && pattern.endsWith('properties.{name}');
}

/**
 * Collects the assignments of statements. The items of a list from one kind of source make one
 * assignment.
 */
class AssignmentList {
  readonly #assignments: Assignment[] = [];
  readonly #lists = new Map<string, { readonly index: number; readonly items: string[] }>();

  add(key: SettingKey, statement: Statement): void {
    const row = rowOf(key);
    const assignment = assignmentOf(key, statement);
    // A wrong item is an assignment of its own, so that the message has its place.
    const isItem = row.isList === true && 'value' in row.parse(assignment.text);
    const list = isItem ? `${key} ${assignment.source.kind}` : '';
    const known = this.#lists.get(list);
    if (known !== undefined) known.items.push(assignment.text);
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
  const { path, pattern, text } = statement;
  const source = sourceOf(statement);
  const nameStep = pattern.split('.').indexOf('{name}');
  return {
    key,
    text,
    source,
    ...(isNamed(rowOf(key)) ? { name: path[nameStep] ?? '' } : {}),
    ...(source.kind === 'file' ? { subject: pathText(path) } : {}),
  };
}

export function sourceOf({ at }: Statement): Source {
  if (at.line === 0) return { kind: 'environment', name: at.file };
  return { kind: 'file', name: formatPlace(at) };
}

/** Whether the name is allowed; a name that is not allowed is reported elsewhere. */
function isNameUsable(key: SettingKey, { path, pattern }: Statement): boolean {
  const row = rowOf(key);
  const nameStep = pattern.split('.').indexOf('{name}');
  return !isNamed(row) || row.parseName(path[nameStep] ?? '') !== undefined;
}

function checkType({ path, types, text, at }: Statement, problems: Problems): void {
  if (types.length === 0 || types.some((type) => type.accepts(text))) return;
  problems.add(at, () => {
    const wanted = types.map(({ expects }) => expects).join(' or ');
    const seen = isSecretName(path.at(-1)) ? MASK : quoted(text);
    return `Cannot use ${pathText(path)} ${seen}: not ${wanted}`;
  });
}

function isDeprecatedSwitch({ path, pattern }: Statement): boolean {
  return isProperty(pattern) && DEPRECATED_SWITCHES.includes(textOfSteps(path));
}

function assignmentsOfDeprecated(statement: Statement, problems: Problems): Assignment[] {
  const { text, path, at } = statement;
  if (readBoolean(text) === undefined) {
    problems.add(at, () => `Cannot use ${textOfSteps(path)} ${quoted(text)}: not ${BOOLEAN_TEXTS}`);
  }
  if (!isOn(statement)) return [];
  const source = sourceOf(statement);
  return [
    { key: 'restEnabled', text: 'true', source },
    { key: 'endpointGroups', name: 'DATA', text: 'true', source },
  ];
}

function deprecationOf(statement: Statement): string {
  return (
    `${sourceOf(statement).name}: ${textOfSteps(statement.path)} is deprecated; write ` +
    `${pathOf('restEnabled')} and ${pathOf('endpointGroups', 'DATA')}`
  );
}

/** One line for each section that has statements without a meaning here. */
function unusedWarnings(unused: readonly Statement[]): string[] {
  const sections = new Map<string, { readonly where: string; readonly names: Set<string> }>();
  for (const statement of unused) {
    const { path, pattern } = statement;
    let section = sections.get(path[0] ?? '');
    if (section === undefined) {
      section = { where: sourceOf(statement).name, names: new Set() };
      sections.set(path[0] ?? '', section);
    }
    section.names.add(namedInSection(path, pattern));
  }
  return [...sections].map(([section, { where, names }]) => {
    const told = bounded([...names], names.size, 'names').join(', ');
    return `${where}: Without meaning here, in ${section}: ${told}`;
  });
}

/** A path without its section; chosen names are written as `{name}`, but for the last. */
function namedInSection(path: readonly string[], pattern: string): string {
  const last = shortened(path.at(-1) ?? '');
  const steps = [...pattern.split('.').slice(1, -1), last];
  return textOfSteps(path.length === 1 ? path : steps).replace(/\[\d+\]/g, '[]');
}

/**
 * The first PROBLEMS_MAX of them; where there are more, one further entry has the number of the others.
 */
export function refusedSettings(refusals: readonly Refusal[]): RefusedSetting[] {
  const told = refusals.slice(0, PROBLEMS_MAX).map(refusedSetting);
  const [next] = refusals.slice(PROBLEMS_MAX);
  if (next !== undefined) {
    const count = refusals.length - PROBLEMS_MAX;
    told.push(refusedSetting({ ...next, reason: `one of ${count} more that are refused` }));
  }
  return told;
}

export function refusedSetting({ statement, reason }: Refusal): RefusedSetting {
  return { path: pathText(statement.path), source: sourceOf(statement), reason };
}

/** Whether the value of a setting of that name must not be shown. */
export function isSecretName(name = ''): boolean {
  return /password|passphrase|secret|token|salt/i.test(name);
}
