/**
 * The llhttp parser, as the WebAssembly module that undici carries: one instance for the process, one
 * parser pointer a connection, one input area that bytes are copied into before they are read.
 *
 * Callbacks go to the listener whose execute is running. They get addresses in the module's memory, and
 * so offsets in `memory`, valid until the next load. No lenient flag is ever set.
 *
 * The module's memory never grows in usual operation, as growing it detaches its buffer: from the first
 * detached buffer on, every access to any typed array of the process checks whether its buffer is
 * detached, which slows reads down (bench: detached-buffer). So the module begins with more
 * memory than it knows of. After the part that it knows are the input area and the parsers. Only those
 * of very many connections are allocated by the module itself, and then `memory` is another view.
 */
import assert from 'node:assert';
import { ownBuffer } from '../base/own-buffer.ts';
import {
  check,
  enlargeMemory,
  isKnownModule,
  PAGE_BYTES,
  PAGES,
  PAGES_KNOWN,
  readModule,
} from './llhttp-module.ts';
import { PUT } from './methods.ts';
import { OK, PAUSED, type ParserListener, QuietListener } from './parser-listener.ts';

/** Size of the input area in bytes: as many as a socket hands over in one read. */
export const INPUT_BYTES_MAX = 65536;
/** Bytes of a parser. */
const PARSER_BYTES = 64;
/** Up to this length a loop over words is faster than a view of the chunk (bench: short-copies). */
const WORDS_BYTES_MAX = 256;

export class Llhttp {
  readonly #exports: Exports;
  readonly inputAddress = PAGES_KNOWN * PAGE_BYTES;
  /** Read buffer of all connections, and the same as words: input is loaded fastest from there. */
  readonly readBuffer = ownBuffer(INPUT_BYTES_MAX);
  readonly #readWords = new Int32Array(this.readBuffer.buffer);
  /** The module's memory; `view` and `#words` are the same. */
  memory: Buffer = NOTHING;
  view: DataView = new DataView(NOTHING.buffer);
  #words: Int32Array = new Int32Array();
  /** A parser that has read nothing; new ones are copies of it. */
  readonly #pattern: number;
  /** The same of answers, from the first `expectAnswer` on. */
  #answerPattern: number | undefined;
  /** Places of freed parsers, and the place after all given ones. */
  readonly #freed: number[] = [];
  #unused = this.inputAddress + INPUT_BYTES_MAX;
  #listener: ParserListener | undefined;
  /** The owner of the bytes in the input area. */
  inputOwner: ParserListener | undefined;
  /** Whether the module is the one that the tests have checked. */
  readonly isKnown: boolean;

  constructor() {
    assert(!loaded, 'one llhttp instance a process');
    loaded = true;
    const listener = (): ParserListener => this.#listener as ParserListener;
    const module = readModule();
    this.isKnown = isKnownModule(module);
    enlargeMemory(module);
    const instance = new WebAssembly.Instance(new WebAssembly.Module(module), {
      env: {
        wasm_on_message_begin: () => listener().onMessageBegin(),
        wasm_on_url: (_: number, at: number, length: number) => listener().onTarget(at, length),
        wasm_on_status: () => OK,
        wasm_on_header_field: (_: number, at: number, length: number) =>
          listener().onFieldName(at, length),
        wasm_on_header_value: (_: number, at: number, length: number) =>
          listener().onFieldValue(at, length),
        wasm_on_headers_complete: (_: number, status: number, __: number, keepAlive: number) =>
          listener().onHeadersComplete(keepAlive === 1, status),
        wasm_on_body: (_: number, at: number, length: number) => listener().onBody(at, length),
        wasm_on_message_complete: () => listener().onMessageComplete(),
      },
    });
    this.#exports = instance.exports as unknown as Exports;
    this.#exports._initialize();
    this.#pattern = this.#exports.llhttp_alloc(TYPE_REQUEST);
    this.#view();
    const { length } = this.memory;
    check(length === PAGES * PAGE_BYTES, `its memory has ${length} bytes after its start`);
    // This little parsing makes V8 optimize the parser: 20 ms of a thread beside a start.
    if (!this.isKnown) this.checkLayout();
  }

  /** A new parser of requests; free it when its connection ends. */
  allocate(): number {
    const pointer = this.#freed.pop() ?? this.#place();
    this.setState(pointer, undefined);
    return pointer;
  }

  /** From now on the parser reads an answer. */
  expectAnswer(pointer: number): void {
    this.#answerPattern ??= this.#allocated(TYPE_ANSWER);
    this.memory.copyWithin(pointer, this.#answerPattern, this.#answerPattern + PARSER_BYTES);
  }

  free(pointer: number): void {
    this.#freed.push(pointer);
  }

  /** Copies the parser's state, into `copy` if that is given. */
  copyState(pointer: number, copy: Uint8Array = new Uint8Array(PARSER_BYTES)): Uint8Array {
    copy.set(this.memory.subarray(pointer, pointer + PARSER_BYTES));
    return copy;
  }

  /** Sets the parser's state to a copy; without one, to that before a request. */
  setState(pointer: number, copy: Uint8Array | undefined): void {
    if (copy !== undefined) this.memory.set(copy, pointer);
    else this.memory.copyWithin(pointer, this.#pattern, this.#pattern + PARSER_BYTES);
  }

  /** Puts bytes `start` to `end` of the chunk into the input area; INPUT_BYTES_MAX at most. */
  load(owner: ParserListener | undefined, chunk: Buffer, start: number, end: number): void {
    assert(this.#listener === undefined && end - start <= INPUT_BYTES_MAX);
    this.inputOwner = owner;
    if (chunk !== this.readBuffer || start !== 0 || end > WORDS_BYTES_MAX) {
      this.memory.set(chunk.subarray(start, end), this.inputAddress);
      return;
    }
    const source = this.#readWords;
    const words = this.#words;
    const to = this.inputAddress >> 2;
    for (let at = 0; at << 2 < end; at++) words[to + at] = source[at] as number;
  }

  /** Reads input bytes `start` to `end`; returns OK, PAUSED, PAUSED_UPGRADE or an error. */
  execute(pointer: number, listener: ParserListener, start: number, end: number): number {
    this.#listener = listener;
    try {
      return this.#exports.llhttp_execute(pointer, this.inputAddress + start, end - start);
    } finally {
      this.#listener = undefined;
    }
  }

  /** No more input comes; the listener is told where that completes an answer. */
  finish(pointer: number, listener: ParserListener): void {
    this.#listener = listener;
    try {
      this.#exports.llhttp_finish(pointer);
    } finally {
      this.#listener = undefined;
    }
  }

  /** After PAUSED: the input offset to continue from. */
  resume(pointer: number): number {
    const at = pointer >> 2;
    this.#words[at + ERROR_WORD] = 0;
    return this.errorAddress(pointer) - this.inputAddress;
  }

  /** After PAUSED_UPGRADE: the input offset to continue from, in HTTP/1.1 as before. */
  resumeAfterUpgrade(pointer: number): number {
    this.#exports.llhttp_resume_after_upgrade(pointer);
    return this.resume(pointer);
  }

  /**
   * The connection may continue after the request, whatever its trailers contain: the parser reads a
   * Connection field there as if it were in the head. Called within onMessageComplete.
   */
  keepOpen(pointer: number): void {
    this.memory[pointer + FLAGS_OFFSET] = (this.memory[pointer + FLAGS_OFFSET] as number) & ~CLOSE;
  }

  /** Flags of the fields read so far. */
  flags(pointer: number): number {
    return this.memory[pointer + FLAGS_OFFSET] as number;
  }

  /**
   * Restores flags that were read before; the version is known. Returns whether the connection is kept
   * alive.
   */
  setFlags(pointer: number, flags: number): boolean {
    this.memory[pointer + FLAGS_OFFSET] = flags;
    return this.version(pointer) === 11 ? (flags & CLOSE) === 0 : (flags & KEEP_ALIVE) !== 0;
  }

  /** The number of the method. */
  method(pointer: number): number {
    return this.memory[pointer + METHOD_OFFSET] as number;
  }

  /** Ten times the major version and the minor: 11 for HTTP/1.1. */
  version(pointer: number): number {
    const { memory } = this;
    const major = memory[pointer + MAJOR_OFFSET] as number;
    return major * 10 + (memory[pointer + MINOR_OFFSET] as number);
  }

  /** Bytes still to come of the content, or of the chunk that has begun. */
  expectedBytes(pointer: number): number {
    const at = (pointer >> 2) + CONTENT_LENGTH_WORD;
    const [low, high] = [this.#words[at] as number, this.#words[at + 1] as number];
    return (low >>> 0) + (high >>> 0) * 2 ** 32;
  }

  /** The address of the byte that the parser has refused. */
  errorAddress(pointer: number): number {
    return this.#words[(pointer >> 2) + POSITION_WORD] as number;
  }

  /** The parser's reason of its last error; ASCII. */
  errorReason(pointer: number): string {
    const start = this.#exports.llhttp_get_error_reason(pointer);
    return this.memory.toString('latin1', start, this.memory.indexOf(0, start));
  }

  /** A place that no parser has used yet. */
  #place(): number {
    const pointer = this.#unused;
    if (pointer < PAGES * PAGE_BYTES) {
      this.#unused += PARSER_BYTES;
      return pointer;
    }
    return this.#allocated(TYPE_REQUEST);
  }

  /** A parser in the module's own memory. */
  #allocated(type: number): number {
    const allocated = this.#exports.llhttp_alloc(type);
    assert(allocated !== 0);
    if (this.memory.byteLength === 0) this.#view();
    return allocated;
  }

  #view(): void {
    this.memory = Buffer.from(this.#exports.memory.buffer);
    this.view = new DataView(this.memory.buffer);
    this.#words = new Int32Array(this.memory.buffer);
  }

  /**
   * Checks that a parser's fields lie where they are read. There is no getter for the content length,
   * and those of the others cost a call out of JavaScript each. Throws GridError PARSER_UNUSABLE with
   * the field that does not.
   */
  checkLayout(): void {
    const pointer = this.allocate();
    try {
      this.#checkFields(pointer);
    } finally {
      this.free(pointer);
    }
  }

  #checkFields(pointer: number): void {
    const head = Buffer.from(
      'PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n1f0f2e3d4c\r\nx',
    );
    const pausing = new QuietListener();
    pausing.onHeadersComplete = () => PAUSED;
    this.load(undefined, head, 0, head.length);
    const paused = this.execute(pointer, pausing, 0, head.length);
    check(paused === PAUSED, 'a callback does not pause it behind a head');
    const position = this.#exports.llhttp_get_error_pos(pointer) - this.inputAddress;
    check(
      this.resume(pointer) === position,
      `byte ${POSITION_WORD * 4} is not its position's place`,
    );
    const result = this.execute(pointer, pausing, position, head.length);
    check(result === OK, `byte ${ERROR_WORD * 4} is not its error's place`);
    const isLength = this.expectedBytes(pointer) === 0x1f0f2e3d4c - 1;
    check(isLength, `byte ${CONTENT_LENGTH_WORD * 4} is not its content length's place`);
    check(this.method(pointer) === PUT, `byte ${METHOD_OFFSET} is not its method's place`);
    const isVersion = this.version(pointer) === 10;
    check(isVersion, `bytes ${MAJOR_OFFSET} and ${MINOR_OFFSET} are not its version's places`);
    const flags = this.flags(pointer);
    this.keepOpen(pointer);
    const isCleared = (flags & CLOSE) !== 0 && flags - this.flags(pointer) === CLOSE;
    check(isCleared, `byte ${FLAGS_OFFSET} is not its flags' place`);
  }
}

/** The instance of the process, made at the first call. */
export function llhttp(): Llhttp {
  instance ??= new Llhttp();
  return instance;
}

let instance: Llhttp | undefined;
let loaded = false;

const TYPE_REQUEST = 1;
const TYPE_ANSWER = 2;
const NOTHING = Buffer.alloc(0);
/** Places of a parser's fields, in words and in bytes from its pointer; verified by checkLayout. */
const ERROR_WORD = 3;
const POSITION_WORD = 5;
const CONTENT_LENGTH_WORD = 8;
const METHOD_OFFSET = 41;
const MAJOR_OFFSET = 42;
const MINOR_OFFSET = 43;
const FLAGS_OFFSET = 50;
/** Of the flags: the sender keeps the connection, or closes it. */
const KEEP_ALIVE = 1;
const CLOSE = 2;

interface Exports {
  readonly memory: WebAssembly.Memory;
  _initialize(): void;
  llhttp_alloc(type: number): number;
  llhttp_execute(pointer: number, address: number, length: number): number;
  llhttp_finish(pointer: number): number;
  llhttp_resume_after_upgrade(pointer: number): void;
  llhttp_get_error_pos(pointer: number): number;
  llhttp_get_error_reason(pointer: number): number;
}

/** Type definitions for Node 20 leave WebAssembly to the DOM's; only this part is needed. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Buffer);
  }
  class Instance {
    constructor(module: Module, imports: object);
    readonly exports: object;
  }
  interface Memory {
    readonly buffer: ArrayBuffer;
  }
}
