/**
 * The map in which a member keeps state of its own. Its name is empty: a name in a path, a message
 * or a setting is not, so nothing outside the member refers to this map. The engine's operations and
 * persistence treat it as any other map. Lists, figures, WAN replication and patterns of names
 * exclude it by `isReservedMap`. Tested by surface/reserved-map.spec.ts.
 */
import { NO_SPAN } from './span.ts';

/** Name of the map. */
export const RESERVED_MAP = NO_SPAN;

/** Whether this is the name of the map. */
export function isReservedMap(name: { readonly length: number }): boolean {
  return name.length === 0;
}
