/**
 * A row of the table of the surface (routes.ts): everything that depends on a path and its methods,
 * and the view of a request that an action gets. Only types.
 */

import type { Span } from '../base/span.ts';
import type { EndpointGroup } from '../config/endpoint-group.ts';
import type { Receiver } from '../engine/engine.ts';
import type { Exchange } from '../http/exchange.ts';
import type { ADD, Kind, PUT, READ, REMOVE } from '../security/permissions.ts';
import type { RestServices } from './services.ts';

export interface Surface {
  readonly routes: readonly Route[];
  /** Whether `queues/{queue}/SIZE`, in any case of the letters, also returns the queue's size. */
  readonly takesSizeInAnyCase: boolean;
}

export interface Route {
  /** Path after `/{segment}/`; a part in braces is variable. */
  readonly path: string;
  readonly group: EndpointGroup;
  /** Group of all methods but GET and HEAD, if it differs. OPTIONS needs either group. */
  readonly writeGroup?: EndpointGroup;
  readonly GET?: Operation;
  /** Set only if HEAD differs from GET without the content. */
  readonly HEAD?: Operation;
  /** Also used for PUT. */
  readonly POST?: Operation;
  readonly DELETE?: Operation;
  /** Methods that need a further part in the path; without it they get 400. */
  readonly incomplete?: readonly ('GET' | 'POST' | 'DELETE')[];
  /**
   * Name of the part that is missing in the URL of an incomplete POST; undefined for a response
   * without content.
   */
  readonly missing?: 'map' | 'queue';
  /** Whether it is served before the member has started. */
  readonly isServedWhileStarting?: true;
  /** Status of all methods without an operation, for a path that is not a resource. */
  readonly unknown?: 400 | 404;
}

/** A method of a path. */
export interface Operation {
  readonly summary: string;
  readonly permission: Permission;
  /**
   * Whether it changes maps or queues; such operations are refused while the cluster is PASSIVE.
   */
  readonly changesData: boolean;
  /** Names of the body's parameters after the credentials. */
  readonly parameters?: readonly string[];
  /** Whether it reads the query; otherwise the query is ignored. */
  readonly readsQuery: boolean;
  /** Statuses of the operation itself; those of the checks before it are in routes.ts. */
  readonly statuses: readonly number[];
  /**
   * The part of the path in the audit log: the whole path, or all but the last part, which is an
   * item.
   */
  readonly audited: 'path' | 'name';
  /**
   * Bytes that its content may have beyond `body-bytes-max`; such content is urgent (in-flight.ts).
   */
  readonly furtherContentBytes?: number;
  /** Whether it may wait for an item. */
  readonly mayWait?: true;
  readonly run: Action;
}

/**
 * Who may use the operation:
 * - `anyone`
 * - `user-for-health`: a user, if HTTP Basic is required for health
 * - `user`: a user, if HTTP Basic is required
 * - `credentials`: a client with the cluster's credentials in the body
 * - `member`: another member, with these credentials in HTTP Basic if security is on
 * - DataPermission: a user with that permission on the map or queue, if permissions are configured
 */
export type Permission =
  | ('anyone' | 'user-for-health' | 'user' | 'credentials' | 'member')
  | DataPermission;

export interface DataPermission {
  readonly kind: Kind;
  readonly action: typeof READ | typeof PUT | typeof ADD | typeof REMOVE;
}

/** Handles a request and responds through its exchange, now or later. */
export type Action = (call: Call) => void;

/**
 * A request, as an action sees it. As a receiver it converts the engine's result to the response.
 */
export interface Call extends Receiver {
  readonly exchange: Exchange;
  readonly services: RestServices;
  /**
   * The decoded map, queue, or first variable part of another path. Valid until any call reads its
   * `name`.
   */
  readonly name: Span;
  /**
   * The decoded key, last part of a queue's path, or last variable part of another path. Valid
   * until any call reads its `key`.
   */
  readonly key: Span;
  /** Takes an item of the queue `name`, or waits for one up to `timeoutMs`. */
  poll(timeoutMs: number): void;
  /** Continues when the promise is fulfilled. A rejection is a fault of the member. */
  await<Value>(promise: Promise<Value>, proceed: (value: Value) => void): void;
  /** Returns method and path, as sent. */
  describe(): string;
}
