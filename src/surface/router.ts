/**
 * Finds the resource of a request target in a tree of the parts of all paths. A path is split at
 * its raw slashes, and its parts are compared as bytes, so an encoded slash is part of a name
 * (INTERFACE: names, keys, values). The variable parts are returned as offsets in the target.
 * Everything that is matched by text is an unknown path.
 */
import type { Request } from '../http/request.ts';
import type { Resource, Resources } from './resource.ts';

/** Offsets of the variable parts, from the beginning of the request target. */
export interface PathParts {
  /** The map, the queue, or the first variable part of another path. */
  nameStart: number;
  nameEnd: number;
  /** The second variable part, or else the part after the first one. */
  keyStart: number;
  keyEnd: number;
}

/** Finds the resource of a request. */
export interface RouteFinder {
  /** Returns the resource of the target and sets the parts; returns undefined for an unknown path. */
  match(request: Request, parts: PathParts): Resource | undefined;
}

/** The beginning of paths before their first variable part, and the position after it. */
interface Stem {
  readonly bytes: Buffer;
  readonly node: Node;
}

/** The position after some parts of a path. */
class Node {
  /** Resource of the path that ends here, and of the path that ends with a slash here. */
  resource: Resource | undefined;
  slash: Resource | undefined;
  readonly literals: Literal[] = [];
  /** Position after any one part. */
  variable: Node | undefined;
  /** Whether that part may be empty. */
  variableMayBeEmpty = false;
  /** Resource of the paths that continue here with any bytes. */
  rest: Resource | undefined;
}

/** A part that is not variable. */
interface Literal {
  readonly bytes: Buffer;
  readonly length: number;
  /** Bit that distinguishes lower and upper case, if the part is accepted in any case; else 0. */
  caseBit: number;
  readonly node: Node;
}

export class Router implements RouteFinder {
  readonly #root = new Node();
  readonly #segment: string;
  /** The parts before the first variable one of the data paths, which carry the load. */
  readonly #stems: Stem[] = [];
  readonly #unknown: Resources['unknown'];

  /** `segment`: the first part of every path. */
  constructor(segment: string, { known, unknown }: Resources) {
    this.#segment = segment;
    this.#unknown = unknown;
    for (const resource of known) this.#add(resource);
    const data = known.filter(({ path, endpoints }) => {
      return path.includes('{') && endpoints.some((row) => row?.permission.kind !== undefined);
    });
    for (const text of new Set(data.map(({ path }) => path.slice(0, path.indexOf('{'))))) {
      const parts = `${segment}/${text}`.split('/').slice(0, -1);
      const node = parts.reduce((each, part) => literalNode(each, part, 0), this.#root);
      this.#stems.push({ bytes: Buffer.from(`${segment}/${text}`), node });
    }
  }

  match(request: Request, parts: PathParts): Resource | undefined {
    const { bytes, start } = request.target;
    const stems = this.#stems;
    let from = this.#root;
    let at = start + 1;
    for (let index = 0; index < stems.length; index++) {
      const stem = stems[index]!;
      if (!startsWith(bytes, at, request.pathEnd, stem.bytes)) continue;
      from = stem.node;
      at += stem.bytes.length;
      break;
    }
    return find(from, request, at, 0, parts) ?? this.#matchUnknown(request);
  }

  #add(resource: Resource): void {
    const rows = resource.endpoints.filter((row) => row !== undefined);
    const steps = `${this.#segment}/${resource.path}`.split('/');
    const last = steps.length - 1;
    let node = this.#root;
    for (const [index, step] of steps.entries()) {
      if (step === '{key}') {
        node.rest = resource;
        // A slash after the name is not ignored: the key is missing.
        node.slash = undefined;
        return;
      }
      if (step === '') {
        node.slash = resource;
        return;
      }
      if (step.startsWith('{')) {
        const name = step.slice(1, -1);
        node.variable ??= new Node();
        node.variableMayBeEmpty ||= rows.some(({ parameters }) =>
          parameters.some((each) => each.name === name && each.kind === 'integer'),
        );
        node = node.variable;
      } else {
        const isInAnyCase = index === last && rows.some((row) => row.isInAnyCase);
        node = literalNode(node, step, isInAnyCase ? CASE_BIT : 0);
      }
    }
    node.resource = resource;
    // Below `rest/` one trailing slash is ignored.
    if (resource.path.startsWith('rest/') && node.rest === undefined) node.slash ??= resource;
  }

  /** Finds the first prefix of the decoded path. */
  #matchUnknown({ target: { bytes, start }, pathEnd, escaped }: Request): Resource | undefined {
    const raw = bytes.toString('latin1', start, pathEnd);
    const path = escaped ? decodedPath(raw) : raw;
    const own = `/${this.#segment}/`;
    if (!path.startsWith(own)) return undefined;
    const found = this.#unknown.find(({ prefix }) => path.startsWith(prefix, own.length));
    if (found === undefined) return undefined;
    const next = path.charAt(own.length + found.prefix.length);
    return next === '' || next === '/' ? found.nameless : found.resource;
  }
}

function literalNode(parent: Node, text: string, caseBit: number): Node {
  const known = parent.literals.find(({ bytes }) => bytes.toString() === text);
  if (known !== undefined) {
    known.caseBit |= caseBit;
    return known.node;
  }
  const node = new Node();
  const bytes = Buffer.from(text);
  parent.literals.push({ bytes, length: bytes.length, caseBit, node });
  return node;
}

/**
 * Finds the resource of the path that continues after `from` at the offset `at`. `seen`: number of
 * variable parts before it. A literal part comes before a variable one.
 */
function find(
  from: Node,
  request: Request,
  at: number,
  seen: number,
  parts: PathParts,
): Resource | undefined {
  const { target, pathEnd, escaped } = request;
  const { bytes, start } = target;
  let node = from;
  let count = seen;
  let partStart = at;
  for (;;) {
    if (partStart === pathEnd) return node.slash;
    if (node.rest !== undefined) {
      parts.keyStart = partStart - start;
      parts.keyEnd = (bytes[pathEnd - 1] === SLASH ? pathEnd - 1 : pathEnd) - start;
      return parts.keyEnd > parts.keyStart ? node.rest : undefined;
    }
    const { literals, variable } = node;
    let next: Node | undefined;
    let partEnd = partStart;
    for (let index = 0; index < literals.length; index++) {
      const literal = literals[index]!;
      const end = partStart + literal.length;
      if (end > pathEnd || (end < pathEnd && bytes[end] !== SLASH)) continue;
      if (!isLiteral(literal, bytes, partStart)) continue;
      partEnd = end;
      next = literal.node;
      break;
    }
    // After the name, an escaped part beside a variable one is a value.
    const isName = count === 0 || variable === undefined;
    if (next === undefined && escaped && isName && literals.length > 0) {
      partEnd = endOfPart(bytes, partStart, pathEnd);
      next = escapedLiteral(literals, bytes, partStart, partEnd);
    }
    if (next !== undefined) {
      if (count === 1) setKey(parts, partStart - start, partEnd - start);
      if (partEnd < pathEnd && variable === undefined) {
        node = next;
        partStart = partEnd + 1;
        continue;
      }
      const found =
        partEnd === pathEnd ? next.resource : find(next, request, partEnd + 1, count, parts);
      if (found !== undefined) return found;
    }
    if (variable === undefined) return undefined;
    partEnd = endOfPart(bytes, partStart, pathEnd);
    if (partEnd === partStart && !node.variableMayBeEmpty) return undefined;
    if (count++ === 0) setName(parts, partStart - start, partEnd - start);
    else setKey(parts, partStart - start, partEnd - start);
    if (partEnd === pathEnd) return variable.resource;
    node = variable;
    partStart = partEnd + 1;
  }
}

function startsWith(bytes: Buffer, start: number, end: number, stem: Buffer): boolean {
  const { length } = stem;
  if (end - start < length) return false;
  for (let index = 0; index < length; index++) {
    if (bytes[start + index] !== stem[index]) return false;
  }
  return true;
}

function setName(parts: PathParts, start: number, end: number): void {
  parts.nameStart = start;
  parts.nameEnd = end;
}

function setKey(parts: PathParts, start: number, end: number): void {
  parts.keyStart = start;
  parts.keyEnd = end;
}

function endOfPart(bytes: Buffer, start: number, pathEnd: number): number {
  let end = start;
  while (end < pathEnd && bytes[end] !== SLASH) end++;
  return end;
}

function isLiteral(
  { bytes: own, length, caseBit }: Literal,
  bytes: Buffer,
  start: number,
): boolean {
  for (let index = 0; index < length; index++) {
    if (((bytes[start + index] as number) | caseBit) !== own[index]) return false;
  }
  return true;
}

/** Finds the literal that equals the decoded part. */
function escapedLiteral(
  literals: readonly Literal[],
  bytes: Buffer,
  start: number,
  end: number,
): Node | undefined {
  const text = decodedPath(bytes.toString('latin1', start, end));
  return literals.find((literal) => literal.bytes.toString('latin1') === text)?.node;
}

/** Decodes the parts of a path; an encoded slash remains encoded, since it separates no parts. */
function decodedPath(raw: string): string {
  return raw.replace(/%([0-9A-Fa-f]{2})/g, (whole, digits: string) => {
    const byte = Number.parseInt(digits, 16);
    return byte === SLASH ? whole : String.fromCharCode(byte);
  });
}

const SLASH = 0x2f;
const CASE_BIT = 0x20;
