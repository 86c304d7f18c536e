/**
 * A row of the table of the surface (routes.ts): everything that is decided about a path and its
 * methods, and what an action sees of a request. Types alone.
 */

import type { Span } from '../base/span.ts';
import type { EndpointGroup } from '../config/endpoint-group.ts';
import type { Receiver } from '../engine/engine.ts';
import type { Exchange } from '../http/exchange.ts';
import type { ADD, Kind, PUT, READ, REMOVE } from '../security/permissions.ts';
import type { RestServices } from './services.ts';

export interface Surface {
  readonly routes: readonly Route[];
  /** Whether `queues/{queue}/SIZE` is the queue's size, too. */
  readonly takesSizeInAnyCase: boolean;
}

export interface Route {
  /** Path after `/{segment}/`; a part in braces is chosen by the request. */
  readonly path: string;
  readonly group: EndpointGroup;
  /** Group of all methods but GET and HEAD, where that is another. OPTIONS needs either. */
  readonly writeGroup?: EndpointGroup;
  readonly GET?: Operation;
  /** Where HEAD is more than GET without the content. */
  readonly HEAD?: Operation;
  /** PUT is the same. */
  readonly POST?: Operation;
  readonly DELETE?: Operation;
  /** Methods that need a further part in the path: 400, the URL is incomplete. */
  readonly incomplete?: readonly ('GET' | 'POST' | 'DELETE')[];
  /** What a POST whose URL is incomplete does not name; without it the answer to that has no content. */
  readonly missing?: 'map' | 'queue';
  /** Whether it answers before the member has started. */
  readonly isServedWhileStarting?: true;
  /** Status of all methods without an operation, for a path that names no resource. */
  readonly unknown?: 400 | 404;
}

/** A method of a path. */
export interface Operation {
  readonly summary: string;
  readonly permission: Permission;
  /** Whether it changes maps or queues: refused while the cluster is PASSIVE. */
  readonly changesData: boolean;
  /** Names of the body's parameters after the credentials. */
  readonly parameters?: readonly string[];
  /** Whether it reads the query; otherwise that is ignored. */
  readonly readsQuery: boolean;
  /** Statuses of its own; those of the checks before it are in routes.ts. */
  readonly statuses: readonly number[];
  /** What the audit log shows of the path: all of it, or what is before its last part, an item. */
  readonly audited: 'path' | 'name';
  /** Bytes that its content may have beyond `body-bytes-max`; such content is urgent (in-flight.ts). */
  readonly furtherContentBytes?: number;
  /** Whether it may wait for an item. */
  readonly mayWait?: true;
  readonly run: Action;
}

/**
 * Who may: anyone; a user, where HTTP Basic is required for health; a user, where it is required; whoever
 * has the cluster's credentials, in the body; another member, which has them in HTTP Basic where security is
 * on; a user with that permission on the map or queue, where permissions are configured.
 */
export type Permission =
  | ('anyone' | 'user-for-health' | 'user' | 'credentials' | 'member')
  | DataPermission;

export interface DataPermission {
  readonly kind: Kind;
  readonly action: typeof READ | typeof PUT | typeof ADD | typeof REMOVE;
}

/** Handles a request, and answers it through its exchange, now or later. */
export type Action = (call: Call) => void;

/** A request, as an action sees it. As a receiver it answers with the engine's outcome. */
export interface Call extends Receiver {
  readonly exchange: Exchange;
  readonly services: RestServices;
  /** The map, the queue, or the first chosen part of another path; decoded. Of the call that asked last. */
  readonly name: Span;
  /** The key, the last part of a queue's path, or the last chosen part of another path; likewise. */
  readonly key: Span;
  /** Takes an item of the queue `name`, and waits for one up to `timeoutMs`. */
  take(timeoutMs: number): void;
  /** Continues when the promise is settled. A rejection is a fault of the member. */
  await<Value>(promise: Promise<Value>, goOn: (value: Value) => void): void;
  /** Method and path, as sent. */
  describe(): string;
}
