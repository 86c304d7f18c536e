/**
 * The compiled table of the surface, for router and handler: its rows by group, their operations by
 * method. Tested by surface.spec.ts.
 */
import type { EndpointGroup } from '../config/endpoint-group.ts';
import {
  allowedMethods,
  DELETE,
  GET,
  HEAD,
  methodBit,
  OPTIONS,
  POST,
  PUT,
} from '../http/methods.ts';
import type { Prefix } from '../member/routes.ts';
import type { Kind } from '../security/permissions.ts';
import { groupBit } from './endpoint-groups.ts';
import type { Action, Operation, Route } from './route.ts';

/** An operation, with the properties that every request checks. */
export interface Endpoint {
  /**
   * Number of the endpoint in the table, from 0: GET, HEAD, POST and DELETE of the first row, and
   * so on.
   */
  readonly number: number;
  readonly operation: Operation;
  readonly run: Action;
  /**
   * Kind of data that the permission applies to; undefined if every user may, or if there is no
   * data.
   */
  readonly kind: Kind | undefined;
  /** Bit of the permission's action. */
  readonly need: number;
  readonly changesData: boolean;
  readonly mayWait: boolean;
  /** Whether a user is required if HTTP Basic is on, and if it is on for health. */
  readonly needsUser: boolean;
  readonly needsUserForHealth: boolean;
  /** Whether a member's login is required if security is on. */
  readonly needsMember: boolean;
  readonly furtherContentBytes: number;
}

/** A row of the table, by method number. */
export interface Match {
  readonly group: EndpointGroup;
  /** One bit per group that permits the request. */
  readonly groupBits: number;
  /** Endpoint by method number; undefined if the resource does not have the method. */
  readonly endpoints: readonly (Endpoint | undefined)[];
  /** One bit per method that needs a further part in the path. */
  readonly incomplete: number;
  /** Name of the part that a POST needs but its path lacks, for the message; empty for none. */
  readonly missing: string;
  /** Value of the Allow field. */
  readonly allow: string;
  /** Whether it is served before the member has started. */
  readonly isServedWhileStarting: boolean;
  /** Status if the path is in the group but is not a resource; 0 for a resource. */
  readonly unknown: number;
}

/** A path whose group may depend on the method: the matches for reading, writing and OPTIONS. */
export interface Resource {
  readonly reading: Match;
  readonly writing: Match;
  readonly options: Match;
}

/** Compiles the rows of a table into matches. */
export class RouteCompiler {
  readonly #routes: readonly Route[];
  readonly #endpoints: ReadonlyMap<Route, RouteEndpoints>;

  constructor(routes: readonly Route[]) {
    this.#routes = routes;
    this.#endpoints = endpointsOf(routes);
  }

  /** Compiles the row of that path, which has one group. */
  row(path: string): Match {
    const route = this.#routes.find((row) => row.path === path);
    if (route === undefined) throw new RangeError(`Cannot route "${path}": not in the table`);
    return this.#compile(route, route.group);
  }

  resource(route: Route): Resource {
    const { group, writeGroup = group } = route;
    return {
      reading: this.#compile(route, group),
      writing: this.#compile(route, writeGroup),
      options: this.#compile(route, group, writeGroup),
    };
  }

  /** Compiles the row for requests that need `group` or any of `others`. */
  #compile(route: Route, group: EndpointGroup, ...others: EndpointGroup[]): Match {
    const { GET: get, HEAD: head, POST: post, DELETE: remove } = this.#endpoints.get(route)!;
    const endpoints: (Endpoint | undefined)[] = [];
    endpoints[GET] = get;
    endpoints[HEAD] = head;
    endpoints[POST] = endpoints[PUT] = post;
    endpoints[DELETE] = remove;
    let methods = methodBit(OPTIONS);
    for (const [method, endpoint] of endpoints.entries())
      if (endpoint) methods |= methodBit(method);
    let incomplete = 0;
    for (const name of route.incomplete ?? []) incomplete |= METHOD_BITS[name];
    const allow = allowedMethods(methods);
    const groupBits = bitsOf(group, ...others);
    const { isServedWhileStarting = isHealth(group), unknown = 0, missing = '' } = route;
    return {
      group,
      groupBits,
      endpoints,
      incomplete,
      missing,
      allow,
      unknown,
      isServedWhileStarting,
    };
  }
}

/** Returns the matches of the paths below a prefix that are not resources. */
export function unknownResource({ group, writeGroup = group, unknown }: Prefix): Resource {
  return {
    reading: unknownMatch(unknown, group),
    writing: unknownMatch(unknown, writeGroup),
    options: unknownMatch(unknown, group, writeGroup),
  };
}

const METHOD_BITS = {
  GET: methodBit(GET) | methodBit(HEAD),
  POST: methodBit(POST) | methodBit(PUT),
  DELETE: methodBit(DELETE),
};

function unknownMatch(unknown: number, group: EndpointGroup, ...others: EndpointGroup[]): Match {
  return {
    group,
    groupBits: bitsOf(group, ...others),
    endpoints: [],
    incomplete: 0,
    missing: '',
    allow: '',
    unknown,
    isServedWhileStarting: isHealth(group),
  };
}

function isHealth(group: EndpointGroup): boolean {
  return group === 'HEALTH_CHECK';
}

function bitsOf(...groups: readonly EndpointGroup[]): number {
  return groups.reduce((bits, group) => bits | groupBit(group), 0);
}

/** Returns the endpoints of a table's rows. */
function endpointsOf(routes: readonly Route[]): ReadonlyMap<Route, RouteEndpoints> {
  let number = 0;
  const endpoint = (operation: Operation | undefined): Endpoint | undefined =>
    operation && endpointOf(operation, number++);
  return new Map(
    routes.map((route) => {
      const GET = endpoint(route.GET);
      const HEAD = endpoint(route.HEAD) ?? GET;
      return [route, { GET, HEAD, POST: endpoint(route.POST), DELETE: endpoint(route.DELETE) }];
    }),
  );
}

/** The endpoints of a row; HEAD defaults to GET. */
interface RouteEndpoints {
  readonly GET: Endpoint | undefined;
  readonly HEAD: Endpoint | undefined;
  readonly POST: Endpoint | undefined;
  readonly DELETE: Endpoint | undefined;
}

function endpointOf(operation: Operation, number: number): Endpoint {
  const { permission, changesData, mayWait = false, furtherContentBytes = 0, run } = operation;
  const { kind, action } =
    typeof permission === 'string' ? { kind: undefined, action: 0 } : permission;
  const needsUser = kind !== undefined || permission === 'user';
  const needsUserForHealth = permission === 'user-for-health';
  const needsMember = permission === 'member';
  return {
    number,
    operation,
    run,
    kind,
    need: action,
    changesData,
    mayWait,
    needsUser,
    needsUserForHealth,
    needsMember,
    furtherContentBytes,
  };
}
