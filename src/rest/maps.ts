/** Map endpoints: set, get, delete, clear (seed section 4, group DATA). */
import type { RestHandler } from './rest-handler.ts';

export function get(handler: RestHandler): void {
  handler.engine.get(handler.name, handler.key, handler);
}

export function set(handler: RestHandler): void {
  const { body, contentType } = handler.exchange.request;
  const lifetime = handler.services.lifetimes.of(handler.name);
  const { engine, name, key } = handler;
  engine.set(name, key, body, contentType, lifetime, undefined, handler);
}

export function remove(handler: RestHandler): void {
  handler.engine.delete(handler.name, handler.key, undefined, handler);
}

export function clear(handler: RestHandler): void {
  handler.engine.clear(handler.name, handler);
}
