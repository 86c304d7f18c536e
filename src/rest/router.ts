/**
 * Finds the route of a request target. The data routes, which carry the load, are matched on the
 * bytes received; all others by their decoded path as text. What a route's own parts are (map, key,
 * queue, the rest) is left as offsets in the target.
 *
 * The path is split at raw slashes first and each part decoded then, so an encoded slash is part of
 * a name (INTERFACE: names, keys, values).
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
import type { Request } from '../http/request.ts';
import { groupBit } from './endpoint-groups.ts';
import { type Action, PREFIXES, type Prefix, ROUTES, type Route } from './routes.ts';

/** A row of the table, by method number. */
export interface Match {
  readonly group: EndpointGroup;
  readonly groupBit: number;
  /** What the method with that number does; undefined: not a method of this resource. */
  readonly actions: readonly (Action | undefined)[];
  /** One bit for each method whose request names too little here. */
  readonly incomplete: number;
  /** Value of the Allow field. */
  readonly allow: string;
  /** Status of a path that is unknown although it is in a group; 0 for a route. */
  readonly unknown: number;
}

/** Offsets of the parts that a data route's request chose. */
export interface PathParts {
  nameStart: number;
  nameEnd: number;
  /** The key, or the last part of a queue's path. */
  keyStart: number;
  keyEnd: number;
}

export class Router {
  readonly #restPrefix: string;
  readonly #mapsPrefix: Buffer;
  readonly #queuesPrefix: Buffer;
  readonly #entry = compiledRow('rest/maps/{map}/{key}');
  readonly #map = compiledRow('rest/maps/{map}');
  readonly #queue = compiledRow('rest/queues/{queue}');
  readonly #queueSize = compiledRow('rest/queues/{queue}/size');
  readonly #queuePoll = compiledRow('rest/queues/{queue}/{seconds}');
  readonly #others = new Map<string, Match>();
  readonly #prefixes: readonly (readonly [string, Match])[];

  /** `segment`: the first part of every path. */
  constructor(segment: string) {
    this.#restPrefix = `/${segment}/rest/`;
    this.#mapsPrefix = Buffer.from(`/${segment}/rest/maps/`);
    this.#queuesPrefix = Buffer.from(`/${segment}/rest/queues/`);
    for (const route of ROUTES) {
      if (!route.path.includes('{')) this.#others.set(`/${segment}/${route.path}`, compile(route));
    }
    this.#prefixes = PREFIXES.map((row) => [`/${segment}/${row.prefix}`, unknownIn(row)]);
  }

  /** The route of the target and its parts; undefined for a path that is nowhere. */
  match(request: Request, parts: PathParts): Match | undefined {
    const { bytes, start } = request.target;
    const end = request.pathEnd;
    if (startsWith(bytes, start, end, this.#mapsPrefix)) {
      return this.#matchMap(bytes, start + this.#mapsPrefix.length, end, parts);
    }
    if (startsWith(bytes, start, end, this.#queuesPrefix)) {
      return this.#matchQueue(bytes, start + this.#queuesPrefix.length, end, parts);
    }
    return this.#matchOther(request, parts);
  }

  #matchMap(bytes: Buffer, start: number, end: number, parts: PathParts): Match {
    let nameEnd = start;
    while (nameEnd < end && bytes[nameEnd] !== SLASH) nameEnd++;
    parts.nameStart = start;
    parts.nameEnd = nameEnd;
    if (nameEnd === end) return start === end ? NAMELESS : this.#map;
    parts.keyStart = nameEnd + 1;
    parts.keyEnd = bytes[end - 1] === SLASH ? end - 1 : end;
    return nameEnd === start || parts.keyEnd <= parts.keyStart ? NAMELESS : this.#entry;
  }

  #matchQueue(bytes: Buffer, start: number, pathEnd: number, parts: PathParts): Match {
    const end = pathEnd > start && bytes[pathEnd - 1] === SLASH ? pathEnd - 1 : pathEnd;
    let nameEnd = start;
    while (nameEnd < end && bytes[nameEnd] !== SLASH) nameEnd++;
    parts.nameStart = start;
    parts.nameEnd = nameEnd;
    if (nameEnd === start) return NAMELESS;
    if (nameEnd === end) return this.#queue;
    parts.keyStart = nameEnd + 1;
    parts.keyEnd = end;
    for (let at = parts.keyStart; at < end; at++) if (bytes[at] === SLASH) return UNKNOWN_DATA;
    const isSize =
      end - parts.keyStart === SIZE.length && startsWith(bytes, parts.keyStart, end, SIZE);
    return isSize ? this.#queueSize : this.#queuePoll;
  }

  /** Paths that carry no load: by their decoded text, one trailing slash below `rest/` aside. */
  #matchOther(request: Request, parts: PathParts): Match | undefined {
    const { bytes, start } = request.target;
    const raw = bytes.toString('latin1', start, request.pathEnd);
    const path = request.escaped ? decodedPath(raw) : raw;
    if (path !== raw) {
      const partsStart = start + offsetBehindSlashes(raw, DATA_PREFIX_SLASHES);
      if (path.startsWith(this.#mapsPrefix.toString('latin1'))) {
        return this.#matchMap(bytes, partsStart, request.pathEnd, parts);
      }
      if (path.startsWith(this.#queuesPrefix.toString('latin1'))) {
        return this.#matchQueue(bytes, partsStart, request.pathEnd, parts);
      }
    }
    const isBelowRest = path.startsWith(this.#restPrefix);
    const known = this.#others.get(isBelowRest && path.endsWith('/') ? path.slice(0, -1) : path);
    return known ?? this.#prefixes.find(([prefix]) => path.startsWith(prefix))?.[1];
  }
}

const SLASH = 0x2f;
const SIZE = Buffer.from('size');
/** Slashes in `/{segment}/rest/maps/`. */
const DATA_PREFIX_SLASHES = 4;

/** A data path that names no map, queue or key at all. */
const NAMELESS = unknownIn({ prefix: '', group: 'DATA', unknown: 400 });
const UNKNOWN_DATA = unknownIn({ prefix: '', group: 'DATA', unknown: 404 });

function compiledRow(path: string): Match {
  const route = ROUTES.find((row) => row.path === path);
  if (route === undefined) throw new RangeError(`Cannot route "${path}": not in the table`);
  return compile(route);
}

function compile(route: Route): Match {
  const actions: (Action | undefined)[] = [];
  actions[GET] = actions[HEAD] = route.GET;
  actions[POST] = actions[PUT] = route.POST;
  actions[DELETE] = route.DELETE;
  let methods = methodBit(OPTIONS);
  for (const [method, action] of actions.entries()) if (action) methods |= methodBit(method);
  let incomplete = 0;
  for (const name of route.incomplete ?? []) incomplete |= METHOD_BITS[name];
  const { group } = route;
  const allow = allowedMethods(methods);
  return { group, groupBit: groupBit(group), actions, incomplete, allow, unknown: 0 };
}

const METHOD_BITS = {
  GET: methodBit(GET) | methodBit(HEAD),
  POST: methodBit(POST) | methodBit(PUT),
  DELETE: methodBit(DELETE),
};

function unknownIn({ group, unknown }: Prefix): Match {
  return { group, groupBit: groupBit(group), actions: [], incomplete: 0, allow: '', unknown };
}

function startsWith(bytes: Buffer, start: number, end: number, prefix: Buffer): boolean {
  if (end - start < prefix.length) return false;
  for (let index = 0; index < prefix.length; index++) {
    if (bytes[start + index] !== prefix[index]) return false;
  }
  return true;
}

/** The path with its parts decoded; an encoded slash stays, since it parts nothing. */
function decodedPath(raw: string): string {
  return raw.replace(/%([0-9A-Fa-f]{2})/g, (whole, digits: string) => {
    const byte = Number.parseInt(digits, 16);
    return byte === SLASH ? whole : String.fromCharCode(byte);
  });
}

function offsetBehindSlashes(path: string, count: number): number {
  let at = 0;
  for (let slashes = 0; slashes < count; slashes++) at = path.indexOf('/', at) + 1;
  return at;
}
