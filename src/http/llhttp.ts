/**
 * The llhttp parser, from the WebAssembly module that undici includes: one instance per process, one parser
 * pointer per connection, and one input area that bytes are copied into before they are parsed.
 *
 * Callbacks are passed to the listener of the running `execute`. They receive addresses in the module's
 * memory, which are offsets in `memory` and valid until the next load. No lenient flag is ever set.
 *
 * The module's memory does not grow in normal operation, because growing it detaches its buffer: once any
 * buffer has been detached, every access to any typed array of the process checks for that, which slows
 * reads down (bench: detached-buffer). So the module starts with more memory than its allocator uses. The
 * input area and the parsers follow the allocator's part. Only with very many connections does the module
 * allocate parsers itself, and then `memory` is replaced by a new view.
 */
import assert from 'node:assert';
import { copyWords } from '../base/copy-bytes.ts';
import { NO_BYTES } from '../base/span.ts';
import { unpooledBuffer } from '../base/unpooled-buffer.ts';
import {
  check,
  enlargeMemory,
  isCheckedModule,
  MODULE_PAGES,
  PAGE_BYTES,
  PAGES,
  readModule,
} from './llhttp-module.ts';
import { PUT } from './methods.ts';
import { OK, PAUSED, type ParserListener, QUIET } from './parser-listener.ts';

/** Size of the input area, in bytes: the most that one read of a socket returns. */
export const INPUT_BYTES_MAX = 65536;
/** Size of a parser, in bytes. */
const PARSER_BYTES = 64;

export class Llhttp {
  readonly #exports: Exports;
  readonly inputAddress = MODULE_PAGES * PAGE_BYTES;
  /** The read buffer of all connections, and its words; input in it is loaded fastest. */
  readonly readBuffer = unpooledBuffer(INPUT_BYTES_MAX);
  readonly #readWords = new Int32Array(this.readBuffer.buffer);
  /** The module's memory; `view` and `#words` refer to the same bytes. */
  memory: Buffer = NO_BYTES;
  view: DataView = new DataView(NO_BYTES.buffer);
  #words: Int32Array = new Int32Array();
  /** A request parser that has read nothing; new ones are copied from it. */
  readonly #pattern: number;
  /** A response parser that has read nothing; created by the first `expectResponse`. */
  #responsePattern: number | undefined;
  /** Pointers of freed parsers, and the first address after all allocated ones. */
  readonly #freed: number[] = [];
  #unused = this.inputAddress + INPUT_BYTES_MAX;
  #listener: ParserListener | undefined;
  /** The owner of the bytes in the input area. */
  inputOwner: ParserListener | undefined;
  /** Whether the module is the one that the specs check. */
  readonly isChecked: boolean;

  constructor() {
    assert(!loaded, 'one llhttp instance per process');
    loaded = true;
    const listener = (): ParserListener => this.#listener as ParserListener;
    const module = readModule();
    this.isChecked = isCheckedModule(module);
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
    check(length === PAGES * PAGE_BYTES, `its memory has ${length} bytes after its initialization`);
    // Skipped for the checked module: parsing even this much makes V8 optimize it, 20 ms of a thread.
    if (!this.isChecked) this.checkLayout();
  }

  /** Allocates a request parser, to be freed when its connection ends. */
  allocate(): number {
    const pointer = this.#freed.pop() ?? this.#place();
    this.setState(pointer, undefined);
    return pointer;
  }

  /** Makes the parser read a response next. */
  expectResponse(pointer: number): void {
    this.#responsePattern ??= this.#allocated(TYPE_RESPONSE);
    this.memory.copyWithin(pointer, this.#responsePattern, this.#responsePattern + PARSER_BYTES);
  }

  free(pointer: number): void {
    this.#freed.push(pointer);
  }

  /** Copies the parser's state, into `copy` if passed. */
  copyState(pointer: number, copy: Uint8Array = new Uint8Array(PARSER_BYTES)): Uint8Array {
    copy.set(this.memory.subarray(pointer, pointer + PARSER_BYTES));
    return copy;
  }

  /** Restores the parser's state from a copy; without one, resets it to the beginning of a request. */
  setState(pointer: number, copy: Uint8Array | undefined): void {
    if (copy !== undefined) this.memory.set(copy, pointer);
    else this.memory.copyWithin(pointer, this.#pattern, this.#pattern + PARSER_BYTES);
  }

  /** Copies bytes `start` to `end` of the chunk, at most INPUT_BYTES_MAX, into the input area. */
  load(owner: ParserListener | undefined, chunk: Buffer, start: number, end: number): void {
    assert(this.#listener === undefined && end - start <= INPUT_BYTES_MAX);
    this.inputOwner = owner;
    if (chunk !== this.readBuffer || start !== 0)
      this.memory.set(chunk.subarray(start, end), this.inputAddress);
    else copyWords(this.#words, this.inputAddress >> 2, this.#readWords, 0, (end + 3) >> 2);
  }

  /** Parses input bytes `start` to `end`. Returns OK, PAUSED, PAUSED_UPGRADE or an error. */
  execute(pointer: number, listener: ParserListener, start: number, end: number): number {
    this.#listener = listener;
    try {
      return this.#exports.llhttp_execute(pointer, this.inputAddress + start, end - start);
    } finally {
      this.#listener = undefined;
    }
  }

  /** Ends the input. If that completes a response, the listener's onMessageComplete is called. */
  finish(pointer: number, listener: ParserListener): void {
    this.#listener = listener;
    try {
      this.#exports.llhttp_finish(pointer);
    } finally {
      this.#listener = undefined;
    }
  }

  /** Resumes after PAUSED. Returns the input offset to continue from. */
  resume(pointer: number): number {
    const at = pointer >> 2;
    this.#words[at + ERROR_WORD] = 0;
    return this.errorAddress(pointer) - this.inputAddress;
  }

  /** Resumes after PAUSED_UPGRADE, still in HTTP/1.1. Returns the input offset to continue from. */
  resumeAfterUpgrade(pointer: number): number {
    this.#exports.llhttp_resume_after_upgrade(pointer);
    return this.resume(pointer);
  }

  /**
   * Keeps the connection open after the request, whatever its trailers contain: the parser treats a
   * Connection field among them like one in the head. Called in onMessageComplete.
   */
  keepOpen(pointer: number): void {
    this.memory[pointer + FLAGS_OFFSET] = (this.memory[pointer + FLAGS_OFFSET] as number) & ~CLOSE;
  }

  /** Returns the flags of the fields read so far. */
  flags(pointer: number): number {
    return this.memory[pointer + FLAGS_OFFSET] as number;
  }

  /**
   * Restores earlier flags, after the version has been read. Returns whether the connection is kept alive.
   */
  setFlags(pointer: number, flags: number): boolean {
    this.memory[pointer + FLAGS_OFFSET] = flags;
    return this.version(pointer) === 11 ? (flags & CLOSE) === 0 : (flags & KEEP_ALIVE) !== 0;
  }

  /** Returns the number of the method. */
  method(pointer: number): number {
    return this.memory[pointer + METHOD_OFFSET] as number;
  }

  /** Returns the version, ten times major plus minor: 11 for HTTP/1.1. */
  version(pointer: number): number {
    const { memory } = this;
    const major = memory[pointer + MAJOR_OFFSET] as number;
    return major * 10 + (memory[pointer + MINOR_OFFSET] as number);
  }

  /** Returns the bytes that are missing of the content, or of the present chunk. */
  expectedBytes(pointer: number): number {
    const at = (pointer >> 2) + CONTENT_LENGTH_WORD;
    const low = this.#words[at] as number;
    const high = this.#words[at + 1] as number;
    return (low >>> 0) + (high >>> 0) * 2 ** 32;
  }

  /** Returns the address of the byte that the parser refused. */
  errorAddress(pointer: number): number {
    return this.#words[(pointer >> 2) + POSITION_WORD] as number;
  }

  /** Returns the parser's reason for its last error; ASCII. */
  errorReason(pointer: number): string {
    const start = this.#exports.llhttp_get_error_reason(pointer);
    return this.memory.toString('latin1', start, this.memory.indexOf(0, start));
  }

  /** Returns memory for a parser that no parser has used yet. */
  #place(): number {
    const pointer = this.#unused;
    if (pointer < PAGES * PAGE_BYTES) {
      this.#unused += PARSER_BYTES;
      return pointer;
    }
    return this.#allocated(TYPE_REQUEST);
  }

  /** Returns a parser in the memory of the module's allocator. */
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
   * Checks the offsets of a parser's fields. They are read directly, as there is no getter for the content
   * length, and the other getters cost a call out of JavaScript each. Throws GridError PARSER_UNUSABLE,
   * naming the field with another offset.
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
    const pausing = { ...QUIET, onHeadersComplete: () => PAUSED };
    this.load(undefined, head, 0, head.length);
    const paused = this.execute(pointer, pausing, 0, head.length);
    check(paused === PAUSED, 'a callback does not pause it after a head');
    const position = this.#exports.llhttp_get_error_pos(pointer) - this.inputAddress;
    check(
      this.resume(pointer) === position,
      `byte ${POSITION_WORD * 4} does not hold its position`,
    );
    const result = this.execute(pointer, pausing, position, head.length);
    check(result === OK, `byte ${ERROR_WORD * 4} does not hold its error`);
    const isLength = this.expectedBytes(pointer) === 0x1f0f2e3d4c - 1;
    check(isLength, `byte ${CONTENT_LENGTH_WORD * 4} does not hold its content length`);
    check(this.method(pointer) === PUT, `byte ${METHOD_OFFSET} does not hold its method`);
    const isVersion = this.version(pointer) === 10;
    check(isVersion, `bytes ${MAJOR_OFFSET} and ${MINOR_OFFSET} do not hold its version`);
    const flags = this.flags(pointer);
    this.keepOpen(pointer);
    const isCleared = (flags & CLOSE) !== 0 && flags - this.flags(pointer) === CLOSE;
    check(isCleared, `byte ${FLAGS_OFFSET} does not hold its flags`);
  }
}

/** Returns the instance of the process, created by the first call. */
export function llhttp(): Llhttp {
  instance ??= new Llhttp();
  return instance;
}

let instance: Llhttp | undefined;
let loaded = false;

const TYPE_REQUEST = 1;
const TYPE_RESPONSE = 2;
/** Offsets of a parser's fields from its pointer, in words and in bytes; verified by checkLayout. */
const ERROR_WORD = 3;
const POSITION_WORD = 5;
const CONTENT_LENGTH_WORD = 8;
const METHOD_OFFSET = 41;
const MAJOR_OFFSET = 42;
const MINOR_OFFSET = 43;
const FLAGS_OFFSET = 50;
/** Bits of the flags: the sender keeps the connection open, or closes it. */
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

/** The part of WebAssembly that is used here; Node 20's type definitions leave it to the DOM's. */
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
