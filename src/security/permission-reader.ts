/**
 * Reads the permissions of clients, for maps, queues and both (`all`). A permission grants
 * something only if every part of it is understood. A setting that a permission cannot have is
 * reported by the reader of statements; an empty or unusable setting is reported here. Permissions
 * of other kinds, and the other actions of the original, have no effect and grant nothing. If a
 * file contains the section, clients may do only what it grants.
 */

import { type FindingList, quoted } from '../config/finding-list.ts';
import { isAddressPattern, isInterfacePattern } from '../config/interface-pattern.ts';
import { readBoolean } from '../config/setting.ts';
import type { Place } from '../config/source.ts';
import type { Statement, WrittenSection } from '../config/statements.ts';
import { SECURITY_PATHS } from './security-settings.ts';

const KINDS = ['map', 'queue', 'all'] as const;

export interface PermissionConfig {
  readonly kind: (typeof KINDS)[number];
  /** Name of maps or queues; `*` matches any text. */
  readonly name: string;
  /** A user or a role; `*` matches any text. */
  readonly principal: string;
  /** Patterns of client addresses; empty for every address. */
  readonly endpoints: readonly string[];
  readonly actions: readonly string[];
  /** Whether the permission denies the actions instead of granting them. */
  readonly isDenial: boolean;
}

/** Patterns that match any address, including IPv6; the second is the default of the original. */
const EVERYWHERE: ReadonlySet<string> = new Set(['*', '*.*.*.*']);

/** Maximum number of permissions: a login examines all of them. */
const PERMISSIONS_MAX = 10_000;

type Draft = { -readonly [Key in keyof PermissionConfig]: PermissionConfig[Key] } & {
  readonly at: Place;
};

export class PermissionReader {
  readonly #problems: FindingList;
  /** Permissions being read, by their place in the document. */
  readonly #drafts = new Map<string, Draft>();
  #isWritten: boolean;

  /** `written`: the sections and settings that files have below `security`. */
  constructor(written: readonly WrittenSection[], problems: FindingList) {
    this.#problems = problems;
    this.#isWritten = written.some(({ pattern }) => pattern === SECURITY_PATHS.permissions);
    for (const section of written) {
      const { path, isEmpty } = section;
      const isList = path.at(-1) === 'endpoints' || path.at(-1) === 'actions';
      if (!isEmpty || !isList || path[1] !== 'client-permissions') continue;
      if (kindAt(path) === undefined) continue;
      problems.refuse(section, () => 'it is empty; remove it or give it content');
    }
  }

  /** Records that the section has content. */
  note(): void {
    this.#isWritten = true;
  }

  /** Reads a statement of the section; returns whether it has an effect. */
  read(statement: Statement): boolean {
    this.note();
    const { path, at } = statement;
    const kind = kindAt(path);
    if (kind === undefined) return false;
    // In XML there may be several permissions for all.
    const isItem = /^\[\d+\]$/.test(path[3] ?? '');
    const steps = path.slice(isItem ? 4 : 3);
    const key = path.slice(2, isItem ? 4 : 3).join('');
    let draft = this.#drafts.get(key);
    if (draft === undefined) {
      const lists = { endpoints: [], actions: [] };
      draft = { kind, at, name: '*', principal: '*', ...lists, isDenial: false };
      this.#drafts.set(key, draft);
      if (this.#drafts.size === PERMISSIONS_MAX + 1) {
        this.#problems.add(at, () => `Cannot use more than ${PERMISSIONS_MAX} permissions`);
      }
    } else if (at.line > 0 && draft.at.line > 0 && at.file !== draft.at.file) {
      const other = draft.at.file;
      this.#problems.refuse(statement, () => `${quoted(other)} has the same`);
    }
    return this.#add(draft, steps[0] ?? '', statement);
  }

  /** Returns the permissions, or undefined if no source contains the section. */
  end(): readonly PermissionConfig[] | undefined {
    if (!this.#isWritten) return undefined;
    return [...this.#drafts.values()].map(({ at: _, ...draft }) => {
      const { endpoints, isDenial } = draft;
      // A client always has a numeric address, so a host name grants it nothing, and exempts no
      // client from a denial.
      const isEverywhere = endpoints.some(
        (each) => EVERYWHERE.has(each) || (isDenial && !isAddressPattern(each)),
      );
      return isEverywhere ? { ...draft, endpoints: [] } : draft;
    });
  }

  #add(draft: Draft, setting: string, statement: Statement): boolean {
    const { text, at } = statement;
    const refuse = (reason: string): void => this.#problems.refuseText(statement, () => reason);
    // A variable contains all items in its text, and overrides the file.
    const isVariable = at.line === 0;
    switch (setting) {
      case 'name':
      case 'principal':
        if (text === '') refuse('it is empty');
        draft[setting] = text;
        break;
      case 'endpoints': {
        const endpoints = isVariable ? text.split(',').map((each) => each.trim()) : [text];
        if (!endpoints.every(isInterfacePattern)) {
          refuse('not an address whose parts may be "*" or a range such as "4-18"');
        }
        draft.endpoints = isVariable ? endpoints : [...draft.endpoints, text];
        break;
      }
      case 'actions': {
        const action = text.toLowerCase();
        draft.actions = isVariable ? [action] : [...draft.actions, action];
        break;
      }
      case 'deny': {
        const isDenial = readBoolean(text);
        // An invalid boolean is reported as a wrong type; until then the permission denies.
        draft.isDenial = isDenial ?? true;
        break;
      }
      default:
        refuse('a permission has name, principal, endpoints, actions and deny');
        return false;
    }
    return true;
  }
}

/** Returns the kind of a permission at the path; undefined for a kind that has no effect. */
function kindAt(path: readonly string[]): PermissionConfig['kind'] | undefined {
  return KINDS.find((kind) => kind === path[2]);
}
