/** Map endpoints: set, get, delete, clear (seed section 4, group DATA). */
import type { RestHandler } from './rest-handler.ts';

export function get(handler: RestHandler): void {
  handler.engine.get(handler.name, handler.key, handler);
}

export function set(handler: RestHandler): void {
  const { body, contentType } = handler.exchange.request;
  const lifetime = handler.services.lifetimes.of(handler.name);
  handler.engine.set(handler.name, handler.key, body, contentType, lifetime, handler);
}

export function remove(handler: RestHandler): void {
  handler.engine.delete(handler.name, handler.key, handler);
}

export function clear(handler: RestHandler): void {
  handler.engine.clear(handler.name, handler);
}
