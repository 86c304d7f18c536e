/**
 * The state of a migration: how far each map and queue is, and the values that it left out. It is saved
 * in a file that the next run of the command continues from; the end of the migration removes the file.
 * Everything that a saved state counts is confirmed. Tested by migrate.spec.ts.
 */
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { counted } from '../base/quantities.ts';
import { fileFault } from './command-input.ts';
import { OutputError } from './output.ts';
import { shownName } from './shown-name.ts';

/** Minimum time between two states that are saved, in ms. */
const SAVE_MS = 1000;
/** Maximum number of reasons that a map or queue lists, and of keys that a reason lists. */
const REASONS_MAX = 100;
const KEYS_MAX = 10;
const KEY_CHARACTERS_MAX = 100;
const OTHER_REASONS = 'other reasons';

/** The values of one map or queue that are left out for one reason. */
interface Omission {
  readonly reason: string;
  count: number;
  /** Keys of the first ones. */
  readonly keys: string[];
}

/** The copy of a map or queue. */
export interface Copy {
  readonly kind: 'map' | 'queue';
  readonly name: string;
  /** Number of partitions that are done; number of items of a queue at the beginning. */
  position: number;
  /** Number of entries or items at the member; when it was saved, at least this many items. */
  copied: number;
  readonly omissions: Omission[];
  /** Hash of the items that a queue had at the beginning. */
  digest?: string;
}

/** A saved state belongs to a migration between these. */
interface Ends {
  readonly from: string;
  readonly cluster: string;
  readonly partitions: number;
  readonly address: string;
}

export class MigrationState {
  readonly #file: string | undefined;
  readonly #ends: Ends;
  readonly #copies: Copy[];
  #savedMs = Number.NEGATIVE_INFINITY;

  /** Reads the file, if it exists. `file`: undefined to save nothing. Throws TypeError. */
  constructor(file: string | undefined, ends: Ends) {
    this.#file = file;
    this.#ends = ends;
    this.#copies = file === undefined ? [] : copiesIn(file, ends);
  }

  /** Returns the copy of a map or queue, which begins if the file does not have it. */
  copyOf(kind: Copy['kind'], name: string): Copy {
    const found = this.#copies.find((each) => each.kind === kind && each.name === name);
    if (found !== undefined) return found;
    const copy: Copy = { kind, name, position: 0, copied: 0, omissions: [] };
    this.#copies.push(copy);
    return copy;
  }

  /** Whether the last state was saved some time ago. */
  isDue(): boolean {
    return performance.now() - this.#savedMs >= SAVE_MS;
  }

  /** Saves the state. Throws OutputError. */
  save(): void {
    if (this.#file === undefined) return;
    const text = `${JSON.stringify({ ...this.#ends, copies: this.#copies })}\n`;
    const temporary = `${this.#file}.new`;
    try {
      const descriptor = openSync(temporary, 'w');
      try {
        writeFileSync(descriptor, text);
        fsyncSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
      renameSync(temporary, this.#file);
    } catch (error) {
      throw new OutputError(error as NodeJS.ErrnoException, JSON.stringify(this.#file));
    }
    this.#savedMs = performance.now();
  }

  /** Removes the file at the end of the migration. */
  remove(): void {
    if (this.#file !== undefined) rmSync(this.#file, { force: true });
  }
}

/** Counts a value that is left out. `key`: undefined for an item. */
export function omit({ omissions }: Copy, reason: string, key?: Buffer): void {
  let omission = omissions.find((each) => each.reason === reason);
  if (omission === undefined) {
    const name = omissions.length < REASONS_MAX ? reason : OTHER_REASONS;
    omission = omissions.find((each) => each.reason === name);
    if (omission === undefined) {
      omission = { reason: name, count: 0, keys: [] };
      omissions.push(omission);
    }
  }
  omission.count++;
  if (key !== undefined && omission.keys.length < KEYS_MAX) {
    omission.keys.push(key.toString().slice(0, KEY_CHARACTERS_MAX));
  }
}

export function omittedIn({ omissions }: Copy): number {
  return omissions.reduce((sum, { count }) => sum + count, 0);
}

/** Returns the lines of a copy in a report for people. */
export function describeCopy(copy: Copy): string {
  const { kind, name, copied, omissions } = copy;
  const count = kind === 'map' ? counted(copied, 'entry', 'entries') : counted(copied, 'item');
  const omitted = omittedIn(copy);
  const head = `${kind} ${name}: ${count}`;
  const lines = omissions.map(({ reason, count, keys }) => {
    const listed = keys.map((key) => JSON.stringify(key)).join(', ');
    const rest = count > keys.length ? ', …' : '';
    return `  ${count} left out: ${reason}${listed && `, of ${listed}${rest}`}`;
  });
  return [omitted === 0 ? head : `${head}, ${omitted} left out`, ...lines]
    .map((line) => shownName(line, undefined))
    .join('\n');
}

function copiesIn(file: string, ends: Ends): Copy[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw fileFault('--state', file, error);
  }
  const state = stateIn(text);
  if (state === undefined) {
    throw fileFault('--state', file, new Error('it is not the state of a migration'));
  }
  for (const [name, value] of Object.entries(ends)) {
    const other = state[name as keyof Ends];
    if (value === other) continue;
    const seen = `it is of a migration whose ${name} is ${JSON.stringify(other)}`;
    throw fileFault('--state', file, new Error(`${seen}; remove it to begin another one`));
  }
  return state.copies;
}

/** Returns the state of a text; undefined if it is not one. */
function stateIn(text: string): (Ends & { readonly copies: Copy[] }) | undefined {
  try {
    const state = JSON.parse(text);
    return Array.isArray(state.copies) && state.copies.every(isCopy) ? state : undefined;
  } catch {
    return undefined;
  }
}

function isCopy(copy: Partial<Copy> | null): boolean {
  const { kind, name, position, copied, omissions, digest } = copy ?? {};
  const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;
  const isText = (value: unknown) => typeof value === 'string';
  return (
    (kind === 'map' || kind === 'queue') &&
    isText(name) &&
    isCount(position) &&
    isCount(copied) &&
    (digest === undefined || isText(digest)) &&
    Array.isArray(omissions) &&
    omissions.every(
      ({ reason, count, keys }) =>
        isText(reason) && isCount(count) && Array.isArray(keys) && keys.every(isText),
    )
  );
}
