/**
 * Reads maps and queues of a running original over its client protocol, through one connection of the
 * package `hazelcast-client`, which is loaded from the working directory and is no dependency. Values
 * stay in the original's format. The messages are made here: the API of that package reads no map in
 * pages, converts values to objects, and creates each map and queue that it opens. These messages change
 * nothing, also not the time of last access. Integers of the protocol are little endian.
 * Tested by migrate.spec.ts.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { reasonOf } from '../base/errors.ts';
import { DEFAULT_PORT } from '../base/server-address.ts';
import { readInput, readPassword } from './command-input.ts';
import { EXIT_REFUSED, EXIT_UNREACHABLE, type ExitCode } from './exit-code.ts';
import type { Streams } from './output.ts';

export interface OriginalOptions {
  readonly from: string;
  readonly cluster: string;
  readonly fromUser?: string;
  readonly fromCa?: string;
  readonly fromTlsCertificate?: string;
  readonly fromTlsKey?: string;
}

/** Maximum number of keys of a page. */
const PAGE_KEYS = 1000;
/** Time limit for a connection to be made, in ms. */
const CONNECT_MS = 10_000;

const PACKAGE = 'hazelcast-client';
const VERSION = /^5\./;
/** The variable of the password of `--from-user`. */
const FROM_PASSWORD_VARIABLE = 'GRID_FROM_PASSWORD';

// The types of the messages.
const GET_OBJECTS = 0x000800;
const GET_ENTRY_VIEW = 0x011d00;
const GET_MAP_SIZE = 0x012a00;
const FETCH_KEYS = 0x013700;
const GET_QUEUE_SIZE = 0x030300;
const GET_QUEUE_ITEMS = 0x030800;

/** Place of the fixed fields in the first frame of a request. */
const REQUEST_FIELDS = 16;
/** Place of the fixed fields in the first frame of a response. */
const RESPONSE_FIELDS = 13;
/** Flags of frames without a value: the null value, and the ends of structures. */
const NO_VALUE_FLAGS = 0x1c00;

// Places in the fields of the view of an entry.
const EXPIRATION_TIME = 16;
const LAST_UPDATE_TIME = 48;
const TTL = 64;
/** A time or a duration without a limit. */
const NO_LIMIT = 2n ** 63n - 1n;

/** An entry, with its value in the original's format. */
export interface OriginalEntry {
  readonly value: Buffer;
  /** When its time to live ends, in ms since 1970; undefined without a limit. */
  readonly expiryMs: number | undefined;
  /** Undefined without a limit. */
  readonly maxIdleMs: number | undefined;
}

/** The name of a map, a queue or another object, and the service that has it. */
export interface OriginalObject {
  readonly service: string;
  readonly name: string;
}

export const MAP_SERVICE = 'hz:impl:mapService';
export const QUEUE_SERVICE = 'hz:impl:queueService';

// The used parts of the package.

interface Frame {
  readonly content: Buffer;
  readonly flags: number;
}

interface Message {
  setRetryable(isRetryable: boolean): void;
  addFrame(frame: Frame): void;
  setMessageType(type: number): void;
  setPartitionId(id: number): void;
  nextFrame(): Frame | undefined | null;
}

type Handler = (message: Message) => readonly Frame[];

interface PackageClient {
  getInvocationService(): {
    invokeOnPartition(message: Message, id: number, handler: Handler): Promise<readonly Frame[]>;
    invokeOnRandomTarget(message: Message, handler: Handler): Promise<readonly Frame[]>;
  };
  getPartitionService(): { getPartitionCount(): number; getPartitionId(key: string): number };
  shutdown(): Promise<void>;
}

interface ClientPackage {
  readonly Client: { newHazelcastClient(config: unknown): Promise<PackageClient> };
}

interface MessagePackage {
  readonly ClientMessage: { createForEncode(): Message };
  readonly Frame: {
    new (content: Buffer): Frame;
    createInitialFrame(bytes: number): Frame;
  };
}

/** The migration cannot begin or go on; the message is for the user. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = EXIT_UNREACHABLE) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Connects. Throws TypeError for an option that cannot be used, and MigrationError. */
export async function connectOriginal(
  streams: Streams,
  options: OriginalOptions,
): Promise<Original> {
  const { from, cluster, fromUser: user } = options;
  const { client, message } = loadPackage();
  if (!/^(\[[0-9a-f:.]+\]|[^\s/:@]+)(:\d{1,5})?$/i.test(from)) {
    throw new TypeError(`Cannot use --from ${JSON.stringify(from)}: not a host and port`);
  }
  const address = /:\d+$/.test(from) ? from : `${from}:${DEFAULT_PORT}`;
  const ssl = await tlsOf(options);
  const password =
    user === undefined
      ? undefined
      : await readPassword(streams, `Password of ${user} at ${address}: `, FROM_PASSWORD_VARIABLE);
  let fail = (_reason: string) => {};
  const failed = new Promise<never>((_, reject) => {
    fail = (reason) => reject(connectionFault(reason, address, options));
  });
  failed.catch(() => {});
  const connected = client.Client.newHazelcastClient({
    clusterName: cluster,
    network: {
      clusterMembers: [address],
      smartRouting: false,
      connectionTimeout: CONNECT_MS,
      ...(ssl === undefined ? {} : { ssl }),
    },
    ...(user === undefined ? {} : { security: { usernamePassword: { username: user, password } } }),
    connectionStrategy: {
      reconnectMode: 'OFF',
      connectionRetry: { clusterConnectTimeoutMillis: 0 },
    },
    customLogger: loggerFor(fail),
  });
  try {
    return new Original(await Promise.race([failed, connected]), message, address);
  } catch (error) {
    connected.then((late) => late.shutdown()).catch(() => {});
    if (error instanceof MigrationError) throw error;
    throw connectionFault(reasonOf(error), address, options);
  }
}

function loadPackage(): { readonly client: ClientPackage; readonly message: MessagePackage } {
  const directory = process.cwd();
  const load = createRequire(join(directory, 'package.json'));
  let version = '';
  try {
    ({ version } = load(`${PACKAGE}/package.json`));
  } catch {
    throw new TypeError(
      `Cannot read the original without the package ${PACKAGE}: ` +
        `"npm install ${PACKAGE}" in ${JSON.stringify(directory)} installs it`,
    );
  }
  try {
    if (VERSION.test(version)) {
      return { client: load(PACKAGE), message: load(`${PACKAGE}/lib/protocol/ClientMessage.js`) };
    }
  } catch {
    // Reported below.
  }
  throw new TypeError(
    `Cannot use ${PACKAGE} ${version}: "npm install ${PACKAGE}@5" installs a version that can be used`,
  );
}

/** Reads the files for TLS. Returns undefined without `--from-ca`. */
async function tlsOf({ fromCa, fromTlsCertificate, fromTlsKey }: OriginalOptions) {
  if ((fromTlsCertificate === undefined) !== (fromTlsKey === undefined)) {
    throw new TypeError('Cannot use one of --from-tls-certificate and --from-tls-key only');
  }
  if (fromCa === undefined) {
    if (fromTlsKey === undefined) return undefined;
    throw new TypeError('Cannot use --from-tls-key without --from-ca');
  }
  const ca = await readInput('--from-ca', fromCa);
  if (fromTlsCertificate === undefined || fromTlsKey === undefined) {
    return { enabled: true, sslOptions: { ca } };
  }
  const cert = await readInput('--from-tls-certificate', fromTlsCertificate);
  const key = await readInput('--from-tls-key', fromTlsKey);
  return { enabled: true, sslOptions: { ca, cert, key } };
}

/** Returns a log for the package, which reports only there why it cannot connect. */
function loggerFor(fail: (reason: string) => void) {
  const ignored = () => {};
  const warn = (source: string, text: string) => {
    if (source.startsWith('Connection')) fail(text);
  };
  return { log: ignored, error: ignored, warn, info: ignored, debug: ignored, trace: ignored };
}

/** `reason`: a line of the package's log, or the message of its error. */
function connectionFault(
  reason: string,
  address: string,
  { cluster, fromUser, fromCa }: OriginalOptions,
): MigrationError {
  if (/credentials|not allowed in the cluster/i.test(reason)) {
    const also =
      fromUser === undefined
        ? 'the original requires --from-user'
        : '--from-user or its password is wrong';
    const message = `Cannot log in to ${address}: --cluster ${JSON.stringify(cluster)} is wrong, or ${also}`;
    return new MigrationError(message, EXIT_REFUSED);
  }
  const fault = `Cannot connect to ${address}:`;
  if (/closed by the other side|ECONNRESET|EPIPE|socket disconnected/.test(reason)) {
    const hint =
      fromCa === undefined
        ? 'if it uses TLS, --from-ca names the certificates to trust'
        : 'does it use TLS, and does it require --from-tls-certificate?';
    return new MigrationError(`${fault} the original closed the connection; ${hint}`);
  }
  if (/wrong version number|packet length too long/i.test(reason)) {
    return new MigrationError(`${fault} the port does not use TLS; leave out --from-ca`);
  }
  const [, cause = reason] = /(?:Error:|Reason:) (.*)/s.exec(reason) ?? [];
  return new MigrationError(`${fault} ${cause}`);
}

/** A connection. Methods reject with MigrationError. */
export class Original {
  readonly #client: PackageClient;
  readonly #message: MessagePackage;
  readonly #address: string;

  constructor(client: PackageClient, message: MessagePackage, address: string) {
    this.#client = client;
    this.#message = message;
    this.#address = address;
  }

  get partitionCount(): number {
    return this.#client.getPartitionService().getPartitionCount();
  }

  /** Returns the names of all objects, of maps, queues and others, in no order. */
  async objects(): Promise<readonly OriginalObject[]> {
    const [, ...texts] = valuesOf(await this.#invoke(GET_OBJECTS, undefined, []));
    return Array.from({ length: texts.length >> 1 }, (_, index) => ({
      service: String(texts[2 * index]),
      name: String(texts[2 * index + 1]),
    }));
  }

  /** Returns the number of entries of a map. */
  async mapSize(name: string): Promise<number> {
    return sizeIn(await this.#invoke(GET_MAP_SIZE, undefined, [Buffer.from(name)]));
  }

  /** Returns the keys of a partition of a map, in pages. A key may be returned twice. */
  async *keys(name: string, partition: number): AsyncGenerator<readonly Buffer[]> {
    const count = Buffer.alloc(4);
    count.writeInt32LE(PAGE_KEYS);
    // From the highest index down; the original changes the pointers.
    let pointers = Buffer.from('ffffff7fffffffff', 'hex');
    for (;;) {
      const request = [Buffer.from(name), pointers];
      const response = await this.#invoke(FETCH_KEYS, partition, request, count);
      const [, next, ...keys] = valuesOf(response);
      if (keys.length > 0) yield keys;
      if (next === undefined || keys.length === 0 || next.readInt32LE(next.length - 8) < 0) return;
      pointers = Buffer.from(next);
    }
  }

  /** Returns the entry of a key; undefined if there is none any more. */
  async entry(name: string, partition: number, key: Buffer): Promise<OriginalEntry | undefined> {
    // The field is the id of a thread, which has no meaning for a read.
    const request = [Buffer.from(name), key];
    const response = await this.#invoke(GET_ENTRY_VIEW, partition, request, Buffer.alloc(8));
    const [head, fields, , value] = valuesOf(response);
    if (head === undefined || fields === undefined || value === undefined) return undefined;
    const ttl = fields.readBigInt64LE(TTL);
    const maxIdle = head.readBigInt64LE(RESPONSE_FIELDS);
    const isIdle = maxIdle > 0n && maxIdle < NO_LIMIT;
    const updateTime = fields.readBigInt64LE(LAST_UPDATE_TIME);
    // With a max idle, the expiration time is the sooner of both.
    const expiry =
      isIdle && updateTime > 0n ? updateTime + ttl : fields.readBigInt64LE(EXPIRATION_TIME);
    return {
      value,
      expiryMs: ttl > 0n && ttl < NO_LIMIT ? Number(expiry) : undefined,
      maxIdleMs: isIdle ? Number(maxIdle) : undefined,
    };
  }

  /** Returns the number of items of a queue. */
  async queueSize(name: string): Promise<number> {
    const partition = this.#partitionOf(name);
    return sizeIn(await this.#invoke(GET_QUEUE_SIZE, partition, [Buffer.from(name)]));
  }

  /** Returns all items of a queue, in its order: the protocol has no pages of a queue. */
  async items(name: string): Promise<readonly Buffer[]> {
    const partition = this.#partitionOf(name);
    const [, ...items] = valuesOf(
      await this.#invoke(GET_QUEUE_ITEMS, partition, [Buffer.from(name)]),
    );
    return items;
  }

  async close(): Promise<void> {
    await this.#client.shutdown().catch(() => {});
  }

  /** A name after an @ determines the partition of a queue. */
  #partitionOf(name: string): number {
    return this.#client.getPartitionService().getPartitionId(name.slice(name.indexOf('@') + 1));
  }

  async #invoke(
    type: number,
    partition: number | undefined,
    values: readonly Buffer[],
    fields = Buffer.alloc(0),
  ): Promise<readonly Frame[]> {
    const { ClientMessage, Frame } = this.#message;
    const message = ClientMessage.createForEncode();
    // All are reads.
    message.setRetryable(true);
    const head = Frame.createInitialFrame(REQUEST_FIELDS + fields.length);
    fields.copy(head.content, REQUEST_FIELDS);
    message.addFrame(head);
    message.setMessageType(type);
    message.setPartitionId(-1);
    for (const value of values) message.addFrame(new Frame(value));
    const service = this.#client.getInvocationService();
    try {
      return partition === undefined
        ? await service.invokeOnRandomTarget(message, framesOf)
        : await service.invokeOnPartition(message, partition, framesOf);
    } catch (error) {
      const reason = reasonOf(error);
      // The package shuts down once it has lost the connection.
      const shown = /shutting down|not active/.test(reason) ? 'the connection has ended' : reason;
      throw new MigrationError(`Cannot read from ${this.#address}: ${shown}`);
    }
  }
}

function framesOf(message: Message): readonly Frame[] {
  const frames: Frame[] = [];
  for (let frame = message.nextFrame(); frame; frame = message.nextFrame()) frames.push(frame);
  return frames;
}

/** Returns the contents of the frames that have a value. */
function valuesOf(frames: readonly Frame[]): readonly Buffer[] {
  return frames.filter(({ flags }) => !(flags & NO_VALUE_FLAGS)).map(({ content }) => content);
}

function sizeIn([head]: readonly Frame[]): number {
  return head?.content.readInt32LE(RESPONSE_FIELDS) ?? 0;
}
