/**
 * An original with the package `hazelcast-client` in front of it: as much of both as `gridnode migrate`
 * uses. The package is installed into a folder; requests and responses are the frames of the protocol.
 */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Flags of frames: null, and the beginning and the end of a structure. */
const NULL = 0x400;
const END = 0x800;
const BEGIN = 0x1000;
const NO_LIMIT = 2n ** 63n - 1n;
const REQUEST_FIELDS = 16;
const RESPONSE_FIELDS = 13;

class Frame {
  readonly content: Buffer;
  readonly flags: number;

  constructor(content: Buffer = Buffer.alloc(0), flags = 0) {
    this.content = content;
    this.flags = flags;
  }

  static createInitialFrame(bytes: number): Frame {
    return new Frame(Buffer.alloc(bytes), 0xc000);
  }
}

class ClientMessage {
  readonly frames: Frame[] = [];
  #next = 0;

  static createForEncode(): ClientMessage {
    return new ClientMessage();
  }

  setRetryable(isRetryable: boolean): void {
    assert.ok(isRetryable);
  }

  addFrame(frame: Frame): void {
    this.frames.push(frame);
  }

  setMessageType(type: number): void {
    this.frames[0]?.content.writeInt32LE(type);
  }

  setPartitionId(id: number): void {
    this.frames[0]?.content.writeInt32LE(id, 12);
  }

  nextFrame(): Frame | undefined {
    return this.frames[this.#next++];
  }
}

/** An entry, in the original's format. Times in ms. */
export interface FakeEntry {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly ttl?: number;
  readonly maxIdle?: number;
  readonly updateTime?: number;
}

/** The content of a value: the id of its type, four bytes, after those of its hash. */
export function dataOf(type: number, content: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([int(0), int(type), content]);
}

export function int(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(number);
  return bytes;
}

/** An array of bytes with its length; a text is such an array. */
export function array(bytes: string | Buffer | null): Buffer {
  if (bytes === null) return int(-1);
  const content = Buffer.from(bytes);
  return Buffer.concat([int(content.length), content]);
}

export const text = (content: string) => dataOf(-11, array(content));

/** A value that REST has written. */
export const restValue = (value: string | Buffer | null, contentType: string | Buffer | null) =>
  dataOf(-2, Buffer.concat([Buffer.of(1), int(-25), int(1), array(value), array(contentType)]));

type Handler = (message: ClientMessage) => unknown;

export class FakeOriginal {
  readonly maps = new Map<string, readonly FakeEntry[]>();
  readonly queues = new Map<string, readonly Buffer[]>();
  /** Services and names of further objects. */
  readonly others: (readonly [service: string, name: string])[] = [];
  readonly partitionCount = 5;
  /** Maximum number of keys of a page. */
  pageKeys = 3;
  /** Number of requests for partitions that are on their way, and its maximum. */
  pending = 0;
  mostPending = 0;
  /** Number of requests until the connection ends. */
  requestsLeft = Number.POSITIVE_INFINITY;
  /** Lines of the package's log, with which connecting fails. */
  faults: (readonly [source: string, text: string])[] = [];
  /** Whether connecting never ends, as with a silent port. */
  isSilent = false;
  /** The options of the last connection. */
  config: Record<string, unknown> = {};
  openConnections = 0;

  /** Installs the package into the folder. */
  install(folder: string, version = '5.6.0'): void {
    const name = `fakeOriginal${folder.replaceAll(/\W/g, '')}`;
    Object.assign(globalThis, { [name]: { client: { Client: this }, message: MESSAGES } });
    const root = join(folder, 'node_modules/hazelcast-client');
    mkdirSync(join(root, 'lib/protocol'), { recursive: true });
    writeFileSync(join(root, 'package.json'), JSON.stringify({ version, main: 'index.js' }));
    writeFileSync(join(root, 'index.js'), `module.exports = globalThis.${name}.client;`);
    const messages = join(root, 'lib/protocol/ClientMessage.js');
    writeFileSync(messages, `module.exports = globalThis.${name}.message;`);
  }

  async newHazelcastClient(config: {
    readonly customLogger: { warn(source: string, text: string): void };
  }) {
    this.config = config as never;
    for (const [source, line] of this.faults) config.customLogger.warn(source, line);
    if (this.isSilent) return await new Promise<never>(() => {});
    if (this.faults.length > 0) throw new Error('Unable to connect to any cluster.');
    this.openConnections++;
    return {
      getInvocationService: () => ({
        invokeOnPartition: async (message: ClientMessage, id: number, handler: Handler) => {
          this.pending++;
          this.mostPending = Math.max(this.mostPending, this.pending);
          await nextTurn();
          this.pending--;
          return handler(this.#respond(message, id));
        },
        invokeOnRandomTarget: async (message: ClientMessage, handler: Handler) =>
          handler(this.#respond(message, -1)),
      }),
      getPartitionService: () => ({
        getPartitionCount: () => this.partitionCount,
        getPartitionId: (key: string) => this.#partitionOf(Buffer.from(key)),
      }),
      shutdown: async () => {
        this.openConnections--;
      },
    };
  }

  #partitionOf(bytes: Buffer): number {
    return bytes.reduce((sum, byte) => sum + byte, 0) % this.partitionCount;
  }

  #respond({ frames }: ClientMessage, partition: number): ClientMessage {
    if (this.requestsLeft-- <= 0) throw new Error('Client is shutting down.');
    const [head, first, second] = frames.map(({ content }) => content);
    assert.ok(head !== undefined);
    const name = String(first);
    const response = new ClientMessage();
    const add = (content?: Buffer, flags?: number) => response.addFrame(new Frame(content, flags));
    switch (head.readInt32LE()) {
      case 0x000800:
        add(Buffer.alloc(RESPONSE_FIELDS));
        add(undefined, BEGIN);
        for (const [service, object] of this.#objects()) {
          add(undefined, BEGIN);
          add(Buffer.from(service));
          add(Buffer.from(object));
          add(undefined, END);
        }
        add(undefined, END);
        break;
      case 0x012a00:
        add(sizeOf(this.maps.get(name)));
        break;
      case 0x013700:
        this.#addKeys(add, name, partition, head.readInt32LE(REQUEST_FIELDS), second);
        break;
      case 0x011d00:
        this.#addView(add, name, partition, second);
        break;
      case 0x030300:
      case 0x030800: {
        assert.equal(partition, this.#partitionOf(Buffer.from(name.replace(/^.*@/, ''))));
        const items = this.queues.get(name) ?? [];
        add(sizeOf(items));
        if (head.readInt32LE() === 0x030800) for (const item of items) add(item);
        break;
      }
      default:
        assert.fail(`request ${head.toString('hex')}`);
    }
    return response;
  }

  #objects(): (readonly [service: string, name: string])[] {
    const maps = [...this.maps.keys()].map((name) => ['hz:impl:mapService', name] as const);
    const queues = [...this.queues.keys()].map((name) => ['hz:impl:queueService', name] as const);
    return [...maps, ...queues, ...this.others];
  }

  /** The pointer is the index from which on keys were returned, downwards; -1 at the end. */
  #addKeys(
    add: (content?: Buffer, flags?: number) => void,
    name: string,
    partition: number,
    count: number,
    pointers: Buffer = Buffer.alloc(0),
  ): void {
    const all = (this.maps.get(name) ?? []).filter(
      ({ key }) => this.#partitionOf(key) === partition,
    );
    const end = Math.min(pointers.readInt32LE(pointers.length - 8), all.length);
    const start = Math.max(0, end - Math.min(count, this.pageKeys));
    const last = Buffer.alloc(8);
    last.writeInt32LE(start === 0 ? -1 : start);
    add(Buffer.alloc(RESPONSE_FIELDS));
    // After a table has grown, there is a pointer for each of its sizes.
    add(Buffer.concat([pointers, last]));
    add(undefined, BEGIN);
    for (const { key } of all.slice(start, end)) add(key);
    add(undefined, END);
  }

  #addView(
    add: (content?: Buffer, flags?: number) => void,
    name: string,
    partition: number,
    key: Buffer = Buffer.alloc(0),
  ): void {
    assert.equal(partition, this.#partitionOf(key));
    const entry = this.maps.get(name)?.find((each) => each.key.equals(key));
    const { value, ttl, maxIdle, updateTime = -1 } = entry ?? {};
    const head = Buffer.alloc(RESPONSE_FIELDS + 8);
    const limit = (ms: number | undefined) => (ms === undefined ? NO_LIMIT : BigInt(ms));
    head.writeBigInt64LE(limit(maxIdle), RESPONSE_FIELDS);
    add(head);
    if (value === undefined) return add(undefined, NULL);
    const fields = Buffer.alloc(80, 0xff);
    const shorter = Math.min(ttl ?? Number.POSITIVE_INFINITY, maxIdle ?? Number.POSITIVE_INFINITY);
    fields.writeBigInt64LE(Number.isFinite(shorter) ? BigInt(updateTime + shorter) : NO_LIMIT, 16);
    fields.writeBigInt64LE(BigInt(updateTime), 48);
    fields.writeBigInt64LE(limit(ttl), 64);
    add(undefined, BEGIN);
    for (const content of [fields, key, value]) add(content);
    add(undefined, END);
  }
}

function sizeOf(all: readonly unknown[] = []): Buffer {
  const head = Buffer.alloc(RESPONSE_FIELDS + 4);
  head.writeInt32LE(all.length, RESPONSE_FIELDS);
  return head;
}

const MESSAGES = { ClientMessage, Frame };
