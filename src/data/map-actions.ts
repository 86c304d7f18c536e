/**
 * Map endpoints: set, get, delete, clear (seed section 4, group DATA). Tested by surface/surface.spec.ts.
 */
import type { Call } from '../surface/route.ts';

export function get(call: Call): void {
  call.services.data.engine.get(call.name, call.key, call);
}

export function set(call: Call): void {
  const { body, contentType } = call.exchange.request;
  const { engine, lifetimes } = call.services.data;
  const { name, key } = call;
  engine.set(name, key, body, contentType, lifetimes.of(name), undefined, call);
}

export function remove(call: Call): void {
  call.services.data.engine.delete(call.name, call.key, undefined, call);
}

export function clear(call: Call): void {
  call.services.data.engine.clear(call.name, call);
}
