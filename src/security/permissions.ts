/**
 * Permissions of users for maps and queues: those of the configuration, by user or role, by address
 * and by the pattern of the name. If no permissions are configured, every user may do everything.
 * Otherwise a user may do only what a permission grants and none denies.
 * Tested by permission-reader.spec.ts.
 */
import { NamePattern } from '../base/name-pattern.ts';
import { NO_BYTES, type Span } from '../base/span.ts';
import type { PermissionConfig } from './permission-reader.ts';
import type { UserConfig } from './security-config.ts';

const EVERY_ACTION = 15;
/** Bits of the actions; an action that does not apply to maps or queues grants nothing. */
const ACTION_BITS: Readonly<Record<string, number>> = {
  read: 1,
  put: 2,
  add: 4,
  remove: 8,
  all: EVERY_ACTION,
};

export const READ = 1;
export const PUT = 2;
export const ADD = 4;
export const REMOVE = 8;

export const MAP = 0;
export const QUEUE = 1;
export type Kind = typeof MAP | typeof QUEUE;

export interface Permission extends Omit<PermissionConfig, 'endpoints'> {
  /** Whether it applies to a client at that address. */
  appliesAt(address: string): boolean;
}

export type Principal = Pick<UserConfig, 'name' | 'roles'>;

interface Grant {
  readonly pattern: NamePattern;
  readonly actions: number;
  readonly isDenial: boolean;
}

/** The permissions of one user at one address. Caches the result for the last name checked. */
export class Grants {
  readonly #byKind: readonly (readonly Grant[])[];
  readonly #everything: boolean;
  readonly #prefersGrant: boolean;
  #lastKind: Kind | undefined;
  #lastName: Buffer = NO_BYTES;
  #lastActions = 0;

  /** `permissions`: undefined if no permissions are configured. */
  constructor(
    principal: Principal,
    address: string,
    permissions: readonly Permission[] | undefined,
    prefersGrant: boolean,
  ) {
    this.#everything = permissions === undefined;
    this.#prefersGrant = prefersGrant;
    const names = [principal.name, ...principal.roles].map((name) =>
      Buffer.from(name).toString('latin1'),
    );
    const own = (permissions ?? []).filter((permission) => {
      const pattern = new NamePattern(permission.principal);
      return names.some((name) => pattern.matches(name)) && permission.appliesAt(address);
    });
    this.#byKind = (['map', 'queue'] as const).map((kind) =>
      own.filter((each) => each.kind === kind || each.kind === 'all').map(grantOf),
    );
  }

  /** Whether all of these actions, as bits, are allowed on the map or queue of that name. */
  allow(kind: Kind, name: Span, actions: number): boolean {
    if (this.#everything) return true;
    if (kind !== this.#lastKind || !name.is(this.#lastName)) this.#lookUp(kind, name.toBuffer());
    return (this.#lastActions & actions) === actions;
  }

  #lookUp(kind: Kind, name: Buffer): void {
    const text = name.toString('latin1');
    this.#lastKind = kind;
    this.#lastName = name;
    let granted = 0;
    let denied = 0;
    for (const { pattern, actions, isDenial } of this.#byKind[kind] ?? []) {
      if (!pattern.matches(text)) continue;
      if (isDenial) denied |= actions;
      else granted |= actions;
    }
    this.#lastActions = this.#prefersGrant ? granted : granted & ~denied;
  }
}

function grantOf({ kind, name, actions, isDenial }: Permission): Grant {
  const isForAll = kind === 'all';
  // A denial of kind `all` denies every name, whatever its own name; a grant grants only its own name.
  const pattern = new NamePattern(isForAll && isDenial ? '*' : name);
  // A denial without actions denies all of them. A grant without actions grants none, unless its
  // kind is `all`.
  const isWhole = isDenial ? isForAll || actions.length === 0 : isForAll && actions.length === 0;
  const named = actions.reduce((sum, action) => sum | (ACTION_BITS[action] ?? 0), 0);
  return { pattern, actions: isWhole ? EVERY_ACTION : named, isDenial };
}
