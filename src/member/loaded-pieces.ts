/**
 * Splits a loaded configuration into pieces of a bounded number of items. A thread sends it in
 * pieces because receiving it at once would block the event loop of the serving member. The pieces
 * omit the places of maps and queues and the values that only `gridnode config` shows: a running
 * member does not use them. Tested by config/bounds.spec.ts.
 */

import { getOrCreate } from '../base/get-or-create.ts';
import type { PermissionConfig } from '../security/permission-reader.ts';
import type { SecurityConfig, UserConfig } from '../security/security-config.ts';
import type { Config } from './config.ts';
import type { LoadedConfig } from './load.ts';

/** Maximum number of items in a piece. */
const PIECE_LENGTH = 1000;

/** A part of a map or list of the configuration; `rest` is everything else. */
export type Piece =
  | { readonly kind: 'map'; readonly key: string; readonly entries: readonly [unknown, unknown][] }
  | { readonly kind: 'list'; readonly key: string; readonly items: readonly unknown[] }
  | { readonly kind: 'realms'; readonly names: readonly string[] }
  | { readonly kind: 'users'; readonly realm: string; readonly users: readonly UserConfig[] }
  | { readonly kind: 'permissions'; readonly permissions: readonly PermissionConfig[] }
  | { readonly kind: 'rest'; readonly loaded: LoadedConfig };

/** Yields the pieces; the last one is of kind `rest`. */
export function* piecesOf(loaded: LoadedConfig): Generator<Piece> {
  const { config } = loaded;
  const { security } = config;
  const rest: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(config)) {
    if (value instanceof Map) {
      rest[key] = new Map();
      for (const entries of slicesOf(neededOf(key, value))) yield { kind: 'map', key, entries };
    } else if (Array.isArray(value)) {
      rest[key] = [];
      for (const items of slicesOf(value)) yield { kind: 'list', key, items };
    } else rest[key] = value;
  }
  for (const names of slicesOf([...security.realms.keys()])) yield { kind: 'realms', names };
  for (const [realm, all] of security.realms) {
    for (const users of slicesOf(all)) yield { kind: 'users', realm, users };
  }
  for (const permissions of slicesOf(security.permissions ?? [])) {
    yield { kind: 'permissions', permissions };
  }
  rest.security = { ...security, realms: new Map(), permissions: security.permissions && [] };
  yield { kind: 'rest', loaded: { ...loaded, structured: [], config: rest as unknown as Config } };
}

/** Joins the pieces of a configuration. */
export class LoadedPieces {
  readonly #maps = new Map<string, Map<unknown, unknown>>();
  readonly #lists = new Map<string, unknown[]>();
  readonly #realms = new Map<string, UserConfig[]>();
  readonly #permissions: PermissionConfig[] = [];

  /** Adds a piece; returns the whole configuration after the last one. */
  take(piece: Piece): LoadedConfig | undefined {
    switch (piece.kind) {
      case 'map':
        for (const [name, value] of piece.entries)
          getOrCreate(this.#maps, piece.key, () => new Map<unknown, unknown>()).set(name, value);
        return undefined;
      case 'list':
        getOrCreate(this.#lists, piece.key, () => []).push(...piece.items);
        return undefined;
      case 'realms':
        for (const name of piece.names) this.#realms.set(name, []);
        return undefined;
      case 'users':
        this.#realms.get(piece.realm)?.push(...piece.users);
        return undefined;
      case 'permissions':
        this.#permissions.push(...piece.permissions);
        return undefined;
      case 'rest':
        return this.#whole(piece.loaded);
    }
  }

  #whole(loaded: LoadedConfig): LoadedConfig {
    const { security } = loaded.config;
    const whole: SecurityConfig = {
      ...security,
      realms: this.#realms,
      permissions: security.permissions && this.#permissions,
    };
    const collections = Object.fromEntries([...this.#maps, ...this.#lists]);
    return { ...loaded, config: { ...loaded.config, ...collections, security: whole } };
  }
}

function* slicesOf<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let from = 0; from < items.length; from += PIECE_LENGTH) {
    yield items.slice(from, from + PIECE_LENGTH);
  }
}

/** Returns the entries of the map; for `sources`, without the entries of maps and queues. */
function neededOf(key: string, map: ReadonlyMap<unknown, unknown>): [unknown, unknown][] {
  if (key !== 'sources') return [...map];
  return [...map].filter(([path]) => !/^(map|queue)\./.test(String(path)));
}
