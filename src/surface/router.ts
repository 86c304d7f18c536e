/**
 * Finds the route of a request target. The data routes, which carry the load, are matched on the
 * received bytes; all others by their decoded path as text. The variable parts (map, key, queue,
 * the rest) are returned as offsets in the target.
 *
 * The path is first split at raw slashes, then each part is decoded, so an encoded slash is part of
 * a name (INTERFACE: names, keys, values).
 */
import { GET, HEAD, OPTIONS } from '../http/methods.ts';
import type { Request } from '../http/request.ts';
import { PREFIXES } from '../member/routes.ts';
import type { Surface } from './route.ts';
import { type Match, type Resource, RouteCompiler, unknownResource } from './route-compiler.ts';

/** A path with variable parts: its literal parts, undefined for a variable one. */
interface Template {
  readonly parts: readonly (string | undefined)[];
  readonly resource: Resource;
}

/** Offsets of the variable parts, from the beginning of the request target. */
export interface PathParts {
  /** The map, the queue, or the first variable part of another path. */
  nameStart: number;
  nameEnd: number;
  /** The key, the last part of a queue's path, or the last variable part of another path. */
  keyStart: number;
  keyEnd: number;
}

/** Finds the route of a request. */
export interface RouteFinder {
  /** Returns the route of the target and sets the parts; returns undefined for an unknown path. */
  match(request: Request, parts: PathParts): Match | undefined;
}

export class Router implements RouteFinder {
  readonly #restPrefix: string;
  readonly #mapsPrefix: Buffer;
  readonly #queuesPrefix: Buffer;
  /** Lengths of the prefixes. */
  readonly #mapsFrom: number;
  readonly #queuesFrom: number;
  readonly #entry: Match;
  readonly #map: Match;
  /** `maps/` with nothing after it. */
  readonly #noMap: Match;
  readonly #noEntry: Match;
  readonly #queue: Match;
  readonly #queueSize: Match;
  readonly #queuePoll: Match;
  readonly #noQueue: Match;
  readonly #unknownOfQueue: Match;
  /** Bit that distinguishes lower and upper case, if `size` is accepted in any case; else 0. */
  readonly #sizeMask: number;
  readonly #others = new Map<string, Resource>();
  readonly #templates: readonly Template[];
  readonly #prefixes: readonly (readonly [string, Resource])[];

  /** `segment`: the first part of every path. */
  constructor(segment: string, { routes, takesSizeInAnyCase }: Surface) {
    const compiler = new RouteCompiler(routes);
    this.#entry = compiler.row('rest/maps/{map}/{key}');
    this.#map = compiler.row('rest/maps/{map}');
    this.#noMap = compiler.row('rest/maps/');
    this.#noEntry = compiler.row('rest/maps/{map}/');
    this.#queue = compiler.row('rest/queues/{queue}');
    this.#queueSize = compiler.row('rest/queues/{queue}/size');
    this.#queuePoll = compiler.row('rest/queues/{queue}/{seconds}');
    this.#noQueue = compiler.row('rest/queues/');
    this.#unknownOfQueue = compiler.row('rest/queues/{queue}/{seconds}/{more}');
    this.#sizeMask = takesSizeInAnyCase ? 0x20 : 0;
    this.#restPrefix = `/${segment}/rest/`;
    this.#mapsPrefix = Buffer.from(`/${segment}/rest/maps/`);
    this.#queuesPrefix = Buffer.from(`/${segment}/rest/queues/`);
    this.#mapsFrom = this.#mapsPrefix.length;
    this.#queuesFrom = this.#queuesPrefix.length;
    const others = routes.filter(({ path }) => !/^rest\/(maps|queues)\//.test(path));
    for (const route of others) {
      if (!route.path.includes('{'))
        this.#others.set(`/${segment}/${route.path}`, compiler.resource(route));
    }
    this.#templates = others
      .filter(({ path }) => path.includes('{'))
      .map((route) => ({
        parts: `/${segment}/${route.path}`
          .split('/')
          .map((part) => (part.startsWith('{') ? undefined : part)),
        resource: compiler.resource(route),
      }));
    this.#prefixes = PREFIXES.map((row) => [`/${segment}/${row.prefix}`, unknownResource(row)]);
  }

  match(request: Request, parts: PathParts): Match | undefined {
    const { bytes, start } = request.target;
    const end = request.pathEnd;
    if (startsWith(bytes, start, end, this.#mapsPrefix)) {
      return this.#matchMap(request, this.#mapsFrom, parts);
    }
    if (startsWith(bytes, start, end, this.#queuesPrefix)) {
      return this.#matchQueue(request, this.#queuesFrom, parts);
    }
    return this.#matchOther(request, parts);
  }

  /** `from`, here and below: offset of the data route's variable parts in the target. */
  #matchMap({ target, pathEnd }: Request, from: number, parts: PathParts): Match {
    const { bytes, start } = target;
    const end = pathEnd - start;
    let nameEnd = from;
    while (nameEnd < end && bytes[start + nameEnd] !== SLASH) nameEnd++;
    parts.nameStart = from;
    parts.nameEnd = nameEnd;
    if (nameEnd === end) return from === end ? this.#noMap : this.#map;
    parts.keyStart = nameEnd + 1;
    parts.keyEnd = bytes[pathEnd - 1] === SLASH ? end - 1 : end;
    return nameEnd === from || parts.keyEnd <= parts.keyStart ? this.#noEntry : this.#entry;
  }

  #matchQueue({ target, pathEnd }: Request, from: number, parts: PathParts): Match {
    const { bytes, start } = target;
    const rest = pathEnd - start;
    const end = rest > from && bytes[pathEnd - 1] === SLASH ? rest - 1 : rest;
    let nameEnd = from;
    while (nameEnd < end && bytes[start + nameEnd] !== SLASH) nameEnd++;
    parts.nameStart = from;
    parts.nameEnd = nameEnd;
    if (nameEnd === from) return this.#noQueue;
    if (nameEnd === end) return this.#queue;
    parts.keyStart = nameEnd + 1;
    parts.keyEnd = end;
    for (let at = parts.keyStart; at < end; at++) {
      if (bytes[start + at] === SLASH) return this.#unknownOfQueue;
    }
    const isSize = this.#isSize(bytes, start + parts.keyStart, start + end);
    return isSize ? this.#queueSize : this.#queuePoll;
  }

  #isSize(bytes: Buffer, start: number, end: number): boolean {
    if (end - start !== SIZE.length) return false;
    for (let index = 0; index < SIZE.length; index++) {
      if (((bytes[start + index] as number) | this.#sizeMask) !== SIZE[index]) return false;
    }
    return true;
  }

  /** Matches other paths by their decoded text; below `rest/` one trailing slash is ignored. */
  #matchOther(request: Request, parts: PathParts): Match | undefined {
    const { bytes, start } = request.target;
    const raw = bytes.toString('latin1', start, request.pathEnd);
    const path = request.escaped ? decodedPath(raw) : raw;
    if (path !== raw) {
      const from = offsetBehindSlashes(raw, DATA_PREFIX_SLASHES);
      if (path.startsWith(this.#mapsPrefix.toString('latin1'))) {
        return this.#matchMap(request, from, parts);
      }
      if (path.startsWith(this.#queuesPrefix.toString('latin1'))) {
        return this.#matchQueue(request, from, parts);
      }
    }
    const hasSlash = path.startsWith(this.#restPrefix) && path.endsWith('/');
    const found =
      this.#others.get(hasSlash ? path.slice(0, -1) : path) ??
      this.#matchTemplate(raw, hasSlash, parts) ??
      this.#prefixes.find(([prefix]) => path.startsWith(prefix))?.[1];
    if (found === undefined) return undefined;
    if (request.method === OPTIONS) return found.options;
    return request.method === GET || request.method === HEAD ? found.reading : found.writing;
  }

  #matchTemplate(raw: string, hasSlash: boolean, parts: PathParts): Resource | undefined {
    const seen = (hasSlash ? raw.slice(0, -1) : raw).split('/');
    const template = this.#templates.find((each) => fits(each, seen));
    if (template === undefined) return undefined;
    let at = 0;
    let isFirst = true;
    for (const [index, part] of seen.entries()) {
      if (template.parts[index] === undefined) {
        if (isFirst) {
          parts.nameStart = at;
          parts.nameEnd = at + part.length;
        }
        isFirst = false;
        parts.keyStart = at;
        parts.keyEnd = at + part.length;
      }
      at += part.length + 1;
    }
    return template.resource;
  }
}

/** Whether the raw parts of a path match the template; a variable part must not be empty. */
function fits({ parts }: Template, seen: readonly string[]): boolean {
  return (
    parts.length === seen.length &&
    parts.every((part, index) =>
      part === undefined ? seen[index] !== '' : part === decodedPath(seen[index] ?? ''),
    )
  );
}

const SLASH = 0x2f;
const SIZE = Buffer.from('size');
/** Slashes in `/{segment}/rest/maps/`. */
const DATA_PREFIX_SLASHES = 4;

function startsWith(bytes: Buffer, start: number, end: number, prefix: Buffer): boolean {
  if (end - start < prefix.length) return false;
  for (let index = 0; index < prefix.length; index++) {
    if (bytes[start + index] !== prefix[index]) return false;
  }
  return true;
}

/** Decodes the parts of a path; an encoded slash remains encoded, since it separates no parts. */
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
