/**
 * Parses RESP2 replies from a stream of bytes without allocating an object per reply. A reply is a
 * list of nodes in the order received: an array, then its elements. Its reader moves from node to
 * node.
 */
import { NO_VIEWED_BYTES, ViewedBytes } from '../../base/copy-bytes.ts';
import { NO_BYTES, Span } from '../../base/span.ts';

/** The kinds of nodes, by their first byte. NIL is a null bulk string or a null array. */
export const STATUS = 0x2b;
export const ERROR = 0x2d;
export const INTEGER = 0x3a;
export const BULK = 0x24;
export const ARRAY = 0x2a;
export const NIL = 0;

type ReplyKind = 0x2b | 0x2d | 0x3a | 0x24 | 0x2a | 0;

/** Returns a set of kinds as bits. ERROR is always included, as any command may fail. */
export function kindSet(...kinds: readonly ReplyKind[]): number {
  return kinds.reduce<number>((set, kind) => set | (1 << (kind & 31)), 1 << (ERROR & 31));
}

/** The kinds of a command that may have any reply. */
export const ANY_KIND = kindSet(STATUS, INTEGER, BULK, ARRAY, NIL);

export function isOfKind(kind: ReplyKind, set: number): boolean {
  return ((set >>> (kind & 31)) & 1) === 1;
}

/** Length of the longest bulk string, in bytes: the limit of the server. */
const BULK_BYTES_MAX = 512 * 1024 * 1024;
/** Limits for a line and for the nodes of a reply; a peer that exceeds them is not Redis. */
const LINE_BYTES_MAX = 65536;
const NODES_MAX = 4_194_304;
/** Maximum size of a buffer that is reused for later replies, in bytes. */
const REUSED_BYTES_MAX = 1024 * 1024;
const FIRST_BYTES = 65536;
/** Maximum number of digits with which every number fits in 32 bits. */
const DIGITS_OF_INTEGERS = 9;
const CR = 0x0d;
const LF = 0x0a;

/** The bytes are not valid RESP2. The connection cannot be used any more. */
export class ReplyFault extends Error {}

/** The current reply, at one of its nodes. Its bytes are valid during the call of the receiver. */
export class Reply {
  kind: ReplyKind = NIL;
  /**
   * INTEGER: the number, within 2^53. ARRAY: the number of elements, which are the following nodes.
   */
  integer = 0;
  /** STATUS, ERROR, BULK: the bytes. */
  readonly bytes = new Span();
  readonly #nodes: NodeList;
  #at = 0;

  constructor(nodes: NodeList) {
    this.#nodes = nodes;
  }

  /** Moves to the first node. */
  begin(): this {
    this.#at = -1;
    return this.next();
  }

  /** Moves to the next node, or to NIL after the last one. Returns itself. */
  next(): this {
    const at = ++this.#at;
    const nodes = this.#nodes;
    if (at >= nodes.count) {
      this.kind = NIL;
      return this;
    }
    const start = nodes.starts[at]!;
    this.kind = nodes.kinds[at] as ReplyKind;
    this.integer = nodes.integers[at]!;
    this.bytes.setViewed(nodes.bytes, nodes.view, start, start + nodes.lengths[at]!);
    return this;
  }

  /** The text of a STATUS, ERROR or BULK node, a character per byte. */
  get text(): string {
    const { bytes, start, end } = this.bytes;
    return bytes.toString('latin1', start, end);
  }
}

class NodeList {
  bytes: Buffer = NO_BYTES;
  view: DataView | undefined;
  count = 0;
  kinds = new Uint8Array(64);
  starts = new Int32Array(64);
  lengths = new Int32Array(64);
  integers = new Float64Array(64);

  add(kind: number, integer: number, start: number, length: number): void {
    const at = this.count++;
    if (at === this.kinds.length) this.#grow();
    this.kinds[at] = kind;
    this.integers[at] = integer;
    this.starts[at] = start;
    this.lengths[at] = length;
  }

  #grow(): void {
    const size = 2 * this.kinds.length;
    if (size > NODES_MAX) throw new ReplyFault(`more than ${NODES_MAX} elements in a reply`);
    const { kinds, starts, lengths, integers } = this;
    this.kinds = new Uint8Array(size);
    this.kinds.set(kinds);
    this.starts = new Int32Array(size);
    this.starts.set(starts);
    this.lengths = new Int32Array(size);
    this.lengths.set(lengths);
    this.integers = new Float64Array(size);
    this.integers.set(integers);
  }
}

export class ReplyReader {
  readonly #onReply: (reply: Reply) => void;
  readonly #nodes = new NodeList();
  readonly #reply = new Reply(this.#nodes);
  /** Buffer that begins with the start of an incomplete reply. */
  #partial = NO_VIEWED_BYTES;
  #partialLength = 0;
  /** Minimum length of the reply in `#partial`, in bytes. */
  #neededLength = 0;
  /** Whether a receiver uses the bytes of `#partial` beyond the call. */
  #isRetained = false;
  #isEnded = false;

  constructor(onReply: (reply: Reply) => void) {
    this.#onReply = onReply;
  }

  /** Capacity of the buffer for an incomplete reply, in bytes. */
  get partialBytes(): number {
    return this.#partial.length;
  }

  /**
   * Reads the first `length` bytes. Replies that are completed by them are received during the
   * call; the bytes may be reused afterwards. `view`: a view of their memory, if available. Throws
   * ReplyFault.
   */
  read(bytes: Buffer, length: number, view?: DataView): void {
    if (this.#partialLength === 0) {
      const at = this.#readAll(bytes, length, view);
      if (at < length && !this.#isEnded) this.#addPartial(bytes, at, length);
      return;
    }
    this.#addPartial(bytes, 0, length);
    if (this.#partialLength < this.#neededLength) return;
    const partial = this.#partial;
    const partialLength = this.#partialLength;
    const at = this.#readAll(partial.bytes, partialLength, partial.view);
    if (this.#isEnded) return;
    this.#partialLength = 0;
    if (this.#isRetained || partial.length > REUSED_BYTES_MAX) this.#partial = NO_VIEWED_BYTES;
    this.#isRetained = false;
    if (at < partialLength) this.#addPartial(partial.bytes, at, partialLength);
  }

  /**
   * Called by the receiver of a reply that uses the bytes of a node of more than FIRST_BYTES
   * beyond the call.
   */
  retainBytes(): void {
    this.#isRetained = true;
  }

  /** Stops receiving, including from the bytes being read. */
  end(): void {
    this.#isEnded = true;
    this.#partial = NO_VIEWED_BYTES;
    this.#partialLength = 0;
  }

  /** Receives the complete replies. Returns where the first incomplete one begins. */
  #readAll(bytes: Buffer, length: number, view?: DataView): number {
    this.#nodes.bytes = bytes;
    this.#nodes.view = view;
    let at = 0;
    while (at < length) {
      const end = this.#readReply(bytes, at, length);
      if (end < 0) {
        this.#neededLength = -end - at;
        return at;
      }
      this.#onReply(this.#reply.begin());
      if (this.#isEnded) return length;
      at = end;
    }
    this.#neededLength = 0;
    return at;
  }

  /**
   * Returns the end of the reply at `from`, or minus the position up to which more bytes are
   * needed.
   */
  #readReply(bytes: Buffer, from: number, length: number): number {
    const nodes = this.#nodes;
    nodes.count = 0;
    let at = from;
    for (let left = 1; left > 0; left--) {
      const start = at + 1;
      const lineEnd = endOfLine(bytes, start, length);
      const kind = bytes[at];
      if (lineEnd < 0) return at === length || isKind(kind) ? -(length + 1) : fail(kind);
      at = lineEnd + 2;
      if (kind === STATUS || kind === ERROR) {
        nodes.add(kind, 0, start, lineEnd - start);
        continue;
      }
      const integer = integerOf(bytes, start, lineEnd);
      if (kind === INTEGER) nodes.add(kind, integer, 0, 0);
      else if (kind === ARRAY) {
        if (integer < -1) throw new ReplyFault(`an array of ${integer} elements`);
        left += Math.max(0, integer);
        if (left > NODES_MAX) throw new ReplyFault(`more than ${NODES_MAX} elements in a reply`);
        nodes.add(integer < 0 ? NIL : ARRAY, integer, 0, 0);
      } else if (kind === BULK) {
        if (integer < -1 || integer > BULK_BYTES_MAX)
          throw new ReplyFault(`a string of ${integer} bytes`);
        const size = integer | 0;
        nodes.add(size < 0 ? NIL : BULK, 0, at, Math.max(0, size));
        if (size < 0) continue;
        at += size + 2;
        if (at > length) return -at;
        if (bytes[at - 2] !== CR || bytes[at - 1] !== LF)
          throw new ReplyFault('a string that does not end with CR LF');
      } else return fail(kind);
    }
    return at;
  }

  #addPartial(bytes: Buffer, from: number, to: number): void {
    const length = this.#partialLength + to - from;
    if (length > this.#partial.length) {
      const size = Math.max(FIRST_BYTES, this.#neededLength, 2 * length);
      const partial = new ViewedBytes(size);
      this.#partial.bytes.copy(partial.bytes, 0, 0, this.#partialLength);
      this.#partial = partial;
    }
    bytes.copy(this.#partial.bytes, this.#partialLength, from, to);
    this.#partialLength = length;
  }
}

function isKind(byte: number | undefined): boolean {
  return byte === STATUS || byte === ERROR || byte === INTEGER || byte === BULK || byte === ARRAY;
}

function fail(kind: number | undefined): never {
  throw new ReplyFault(`a reply that begins with byte ${kind}`);
}

/** Returns the end of the line, before its CR LF, or -1 if it is incomplete. */
function endOfLine(bytes: Buffer, from: number, length: number): number {
  let at = from;
  while (at < length && bytes[at] !== CR) at++;
  if (at - from > LINE_BYTES_MAX)
    throw new ReplyFault(`a line of more than ${LINE_BYTES_MAX} bytes`);
  if (at + 1 >= length) return -1;
  if (bytes[at + 1] !== LF) throw new ReplyFault('a line that does not end with CR LF');
  return at;
}

function integerOf(bytes: Buffer, start: number, end: number): number {
  const isNegative = bytes[start] === 0x2d;
  const first = isNegative ? start + 1 : start;
  const highEnd = Math.min(end, first + DIGITS_OF_INTEGERS);
  if (first === end || end - first > 19) throw badNumber(bytes, start, end);
  let high = 0;
  for (let at = first; at < highEnd; at++) high = (high * 10 + digitAt(bytes, at, start, end)) | 0;
  let integer = high;
  for (let at = highEnd; at < end; at++) integer = integer * 10 + digitAt(bytes, at, start, end);
  return isNegative ? -integer : integer;
}

/** `start`, `end`: the range of the number that contains the digit. */
function digitAt(bytes: Buffer, at: number, start: number, end: number): number {
  const digit = bytes[at]! - 0x30;
  if (digit < 0 || digit > 9) throw badNumber(bytes, start, end);
  return digit;
}

function badNumber(bytes: Buffer, start: number, end: number): ReplyFault {
  return new ReplyFault(
    `"${bytes.toString('latin1', start, Math.min(end, start + 30))}" instead of a number`,
  );
}
