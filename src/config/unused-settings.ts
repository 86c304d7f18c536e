/**
 * Reports the statements that no reader uses. A setting may ask for a function that this member does
 * not have: the operator must know the loss, so each has its own warning, and these are the first.
 * Others have no meaning here: one warning for each section names them. Settings whose value asks
 * for nothing are not reported: those of a section that is off, and defaults of the original. The
 * rows of both kinds come from the caller. Tested by member/lost-settings.spec.ts.
 */
import { getOrCreate } from '../base/get-or-create.ts';
import { finding, type UnusedFinding } from './finding.ts';
import { bounded, FINDINGS_MAX, moreOf, pathText, shortened } from './finding-list.ts';
import type { Effective, Section } from './refused-settings.ts';
import { sourceAt } from './source.ts';
import { type Statement, textOfSteps } from './statements.ts';

/** A function of the original that this member does not have. */
export interface LostSetting {
  /** Pattern of its section, or of a single setting. */
  readonly pattern: string;
  /** The setting that decides whether the file asks for it; default: any in the section. */
  readonly switchedBy?: {
    /** Name in the section; '' for a single setting. */
    readonly name: string;
    /** Value with which the file asks for nothing, in the form of the defaults. */
    readonly off: string;
    /** Whether the function is off in the original without this setting. */
    readonly isOffByDefault: boolean;
  };
  /** The consequence, which completes `map.sessions.eviction: …`. */
  readonly effect: string;
}

/** The functions that this member lacks, and values that ask for nothing. */
export interface UnusedRows {
  readonly lost: readonly LostSetting[];
  /** Values, by pattern, that are the original's defaults; in upper case, with `_` for `-`. */
  readonly defaults: ReadonlyMap<string, readonly string[]>;
}

/** Returns the findings about unused statements: the losses, and settings without meaning. */
export function unusedFindings(
  unused: readonly Statement[],
  effective: Effective,
  { lost, defaults }: UnusedRows,
): readonly [lost: readonly UnusedFinding[], meaningless: readonly UnusedFinding[]] {
  const losses = new Losses(effective, lost);
  const meaningless: Statement[] = [];
  for (const statement of unused) {
    if (statement.text.trim() === '' || effective.isOff(statement)) continue;
    if (losses.take(statement)) continue;
    const isDefault = defaults.get(statement.pattern)?.includes(normal(statement.text));
    if (!isDefault) meaningless.push(statement);
  }
  return [losses.end(), meaninglessFindings(meaningless)];
}

/** Collects the losses: one for each section or setting that asks for a function. */
class Losses {
  readonly #effective: Effective;
  readonly #rows: ReadonlyMap<string, LostSetting>;
  /** Row of each pattern of a statement; null if it has none. */
  readonly #byPattern = new Map<string, LostSetting | null>();
  readonly #seen = new Set<Section>();
  readonly #found: UnusedFinding[] = [];
  #count = 0;

  constructor(effective: Effective, rows: readonly LostSetting[]) {
    this.#effective = effective;
    this.#rows = new Map(rows.map((row) => [row.pattern, row]));
  }

  /** Returns false for a statement that no row concerns: neither a loss nor off. */
  take({ path, pattern, at }: Statement): boolean {
    const row = getOrCreate(this.#byPattern, pattern, () => this.#rowOf(pattern) ?? null);
    if (row === null) return false;
    const { length } = row.pattern.split('.');
    const section = this.#effective.section(path, length);
    if (section === undefined) return false;
    if (this.#seen.has(section)) return true;
    const { switchedBy } = row;
    const decisive = switchedBy && this.#effective.settingIn(section, switchedBy.name);
    if (decisive === undefined && switchedBy?.isOffByDefault) return false;
    this.#seen.add(section);
    const isOff = decisive !== undefined && normal(decisive.text) === switchedBy?.off;
    if (!isOff) this.#add(path.slice(0, length), row, decisive?.at ?? at);
    return true;
  }

  end(): readonly UnusedFinding[] {
    const left = this.#count - this.#found.length;
    return left === 0 ? this.#found : [...this.#found, lossOf(moreOf(left, 'lost function'), '')];
  }

  #add(path: readonly string[], { effect }: LostSetting, at: Statement['at']): void {
    this.#count += 1;
    if (this.#found.length >= FINDINGS_MAX) return;
    this.#found.push(lossOf(`${pathText(path)}: ${effect}`, sourceAt(at).name));
  }

  /** Returns the row of the outermost section of the pattern that has one. */
  #rowOf(pattern: string): LostSetting | undefined {
    for (let end = 0; end >= 0; ) {
      end = pattern.indexOf('.', end + 1);
      const row = this.#rows.get(end < 0 ? pattern : pattern.slice(0, end));
      if (row !== undefined) return row;
    }
    return undefined;
  }
}

/** Returns a warning about a lost function. */
export function lossOf(message: string, place: string): UnusedFinding {
  return { ...finding('warning', message, place), isLoss: true, listed: message };
}

/** Returns one warning for each section. */
function meaninglessFindings(statements: readonly Statement[]): UnusedFinding[] {
  const sections = new Map<string, { readonly where: string; readonly names: Set<string> }>();
  for (const { path, pattern, at } of statements) {
    const section = getOrCreate(sections, path[0] ?? '', () => ({
      where: sourceAt(at).name,
      names: new Set(),
    }));
    section.names.add(namedInSection(path, pattern));
  }
  return [...sections].map(([section, { where, names }]) => {
    const all = `${section}: ${bounded([...names], 'name').join(', ')}`;
    // A setting at the root is its own section.
    const listed = names.has(section) ? section : all;
    return { ...finding('warning', `Ignored settings in ${all}`, where), isLoss: false, listed };
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

/** Returns a value in the form in which values of the original are compared. */
function normal(text: string): string {
  return text.trim().toUpperCase().replaceAll('-', '_');
}
