/**
 * `gridnode migrate`: copies maps and queues of a running original into a member. The original keeps
 * them. A map is read partition by partition, in pages, and sent in bulk requests, one of which is on
 * its way while the next one is read. A queue is read as a whole, and offered item by item to a queue
 * that is empty at the start; after a break, the size of that queue shows which item is next.
 */
import { createHash } from 'node:crypto';
import { counted } from '../base/quantities.ts';
import type { MemberRequest } from '../client/member-client.ts';
import { ROUTES } from '../member/routes.ts';
import type { Route } from '../surface/route.ts';
import { type Client, RefusedError } from './client.ts';
import { refuseReplaced } from './command-input.ts';
import { bulkLine, bytesMember, type EntryLine, putCall } from './entry-lines.ts';
import { EXIT_ABSENT, EXIT_CLEAN, EXIT_REFUSED, type ExitCode } from './exit-code.ts';
import { beforeInterruption } from './interruption.ts';
import { LINE_BYTES_MAX } from './line-blocks.ts';
import { LineBatch, sendLines } from './map-lines.ts';
import { linesOf, objectIn } from './map-lists.ts';
import { type Copy, describeCopy, MigrationState, omit, omittedIn } from './migration-state.ts';
import {
  connectOriginal,
  MAP_SERVICE,
  MigrationError,
  type Original,
  type OriginalEntry,
  type OriginalObject,
  type OriginalOptions,
  QUEUE_SERVICE,
} from './original-client.ts';
import { keyIn, type RestValue, valueIn } from './original-values.ts';
import { print, type Streams } from './output.ts';
import { Progress } from './progress.ts';
import { shownName } from './shown-name.ts';

export interface MigrateOptions extends OriginalOptions {
  readonly map?: readonly string[];
  readonly queue?: readonly string[];
  readonly queueItemsMax: string;
  readonly dryRun?: true;
  readonly state: string;
  /** The address of the member. */
  readonly address: string;
  readonly json?: true;
}

/** Maximum number of entries that are read at once, and of their bytes if all are like the last ones. */
const READ_ENTRIES = 100;
const READ_BYTES = 16_777_216;
const SECONDS_MAX = 2 ** 31 - 1;
/** Maximum number of other objects that are listed for people. */
const OTHERS_MAX = 20;
const REASON_CHARACTERS_MAX = 200;
/** Statuses of a request whose entry the member can never accept. */
const OF_ENTRY: ReadonlySet<number> = new Set([400, 414, 431]);
const CONTENT_TYPE = /^[\t -~\u0080-\u00ff]*$/;

/** A running migration. */
interface Migration {
  readonly original: Original;
  /** Undefined for a trial, which writes nothing. */
  readonly client: Client | undefined;
  readonly state: MigrationState;
  show(copy: Copy, total: number): void;
}

/** Copies the maps and queues, and prints a report. */
export async function migrate(
  client: Client,
  streams: Streams,
  options: MigrateOptions,
): Promise<ExitCode> {
  const queueItemsMax = Number(options.queueItemsMax);
  if (!/^\d{1,9}$/.test(options.queueItemsMax)) {
    const seen = JSON.stringify(options.queueItemsMax);
    throw new RangeError(`Cannot use --queue-items-max ${seen}: not an integer up to 999999999`);
  }
  for (const name of [...(options.map ?? []), ...(options.queue ?? [])]) {
    refuseReplaced('name', name);
  }
  let original: Original | undefined;
  try {
    original = await connectOriginal(streams, options);
    return await copyAll(original, client, streams, options, queueItemsMax);
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    streams.stderr.write(`${shownName(error.message, undefined)}\n`);
    return error.exitCode;
  } finally {
    await original?.close();
  }
}

async function copyAll(
  original: Original,
  client: Client,
  streams: Streams,
  options: MigrateOptions,
  queueItemsMax: number,
): Promise<ExitCode> {
  const { from, cluster, address, dryRun, json } = options;
  const objects = await original.objects();
  const maps = namesOf(objects, 'map', options);
  const queues = namesOf(objects, 'queue', options);
  const ends = { from, cluster, partitions: original.partitionCount, address };
  const state = new MigrationState(dryRun ? undefined : options.state, ends);
  const progress = new Progress(streams, dryRun ? 'reading' : 'migrating');
  const migration: Migration = {
    original,
    state,
    client: dryRun ? undefined : client,
    show: ({ kind, name, copied }, total) =>
      progress.show(`${kind} ${shownName(name, undefined)}, ${copied} of ${total}`),
  };
  const copies: Copy[] = [];
  const printContinuation = () => {
    progress.end();
    if (dryRun) return;
    streams.stderr.write('The migration is not complete: the same command continues it\n');
  };
  const stopWatching = beforeInterruption(printContinuation);
  const release = dryRun ? undefined : await client.keepConnection();
  try {
    for (const name of maps) copies.push(await new MapCopy(migration, name).run());
    for (const name of queues) copies.push(await copyQueue(migration, name, queueItemsMax));
    state.remove();
  } catch (error) {
    printContinuation();
    throw error;
  } finally {
    release?.();
    stopWatching();
    progress.end();
  }
  const isAll = options.map === undefined && options.queue === undefined;
  const others = isAll ? objects.filter(({ service }) => !SERVICES.has(service)) : [];
  await print(streams, json ? `${reportOf(copies, others)}\n` : textOf(copies, others));
  return copies.some((copy) => omittedIn(copy) > 0) ? EXIT_ABSENT : EXIT_CLEAN;
}

const SERVICES: ReadonlySet<string> = new Set([MAP_SERVICE, QUEUE_SERVICE]);

/**
 * Returns the names of the options; without any, all but those that begin with `__`, which the original
 * has for itself. Throws TypeError for a name that the original does not have.
 */
function namesOf(
  objects: readonly OriginalObject[],
  kind: Copy['kind'],
  options: MigrateOptions,
): readonly string[] {
  const service = kind === 'map' ? MAP_SERVICE : QUEUE_SERVICE;
  const all = objects.filter((each) => each.service === service).map(({ name }) => name);
  if (options.map === undefined && options.queue === undefined) {
    return all.filter((name) => name !== '' && !name.startsWith('__')).sort();
  }
  const names = [...new Set(options[kind])];
  const absent = names.find((name) => !all.includes(name));
  if (absent === undefined) return names;
  const seen = `Cannot use --${kind} ${JSON.stringify(absent)}`;
  throw new TypeError(`${seen}: the original has no ${kind} of that name`);
}

/** Copies a map. */
class MapCopy {
  readonly #migration: Migration;
  readonly #map: string;
  readonly #copy: Copy;
  #batch = new LineBatch();
  /** Keys of the lines in the batch. */
  #keys: Buffer[] = [];
  /** The requests that are on their way. */
  #sending: Promise<void> = Promise.resolve();
  /** Number of entries that are read at once. */
  #readEntries = 1;
  #total = 0;

  constructor(migration: Migration, name: string) {
    this.#migration = migration;
    this.#map = name;
    this.#copy = migration.state.copyOf('map', name);
  }

  async run(): Promise<Copy> {
    const { original, state, client } = this.#migration;
    const { partitionCount } = original;
    // A member that was started again may have lost the entries.
    const isLost =
      client !== undefined &&
      this.#copy.copied > 0 &&
      (await sizeAt(client, ROUTES.mapSize, this.#map)) === 0;
    if (isLost)
      throw faultOf(this.#copy, 'the entries of the member have been lost since it began');
    this.#total = await original.mapSize(this.#map);
    for (let partition = this.#copy.position; partition < partitionCount; partition++) {
      for await (const keys of original.keys(this.#map, partition)) {
        await this.#copyPage(partition, keys);
      }
      if (!state.isDue() && partition < partitionCount - 1) continue;
      await this.#sendBatch();
      await this.#sending;
      this.#copy.position = partition + 1;
      state.save();
    }
    return this.#copy;
  }

  async #copyPage(partition: number, keys: readonly Buffer[]): Promise<void> {
    const { original } = this.#migration;
    for (let start = 0; start < keys.length; ) {
      const some = keys.slice(start, start + this.#readEntries);
      start += some.length;
      const entries = await Promise.all(
        some.map((key) => original.entry(this.#map, partition, key)),
      );
      let longest = 1;
      for (const [index, key] of some.entries()) {
        const entry = entries[index];
        if (entry === undefined) continue;
        longest = Math.max(longest, entry.value.length);
        await this.#add(key, entry);
      }
      const fitting = Math.max(1, Math.floor(READ_BYTES / longest));
      this.#readEntries = Math.min(READ_ENTRIES, 2 * this.#readEntries, fitting);
      this.#migration.show(this.#copy, this.#total);
    }
  }

  async #add(keyData: Buffer, entry: OriginalEntry): Promise<void> {
    const key = keyIn(keyData);
    if (typeof key === 'string') return omit(this.#copy, `key of ${key}`);
    if (key.length === 0) return omit(this.#copy, 'an empty key');
    const value = valueIn(entry.value);
    if (typeof value === 'string') return omit(this.#copy, `value of ${value}`, key);
    if (!canBeSent(value)) return omit(this.#copy, INVALID_TYPE, key);
    const leftMs = entry.expiryMs === undefined ? 0 : entry.expiryMs - Date.now();
    // It has expired since it was read.
    if (entry.expiryMs !== undefined && leftMs <= 0) return;
    const { client } = this.#migration;
    if (client === undefined) {
      this.#copy.copied++;
      return;
    }
    const { bytes, contentType } = value;
    const members: EntryLine = {
      ...bytesMember('key', key),
      ...(contentType === undefined ? {} : bytesMember('contentType', contentType)),
      timeToLiveSeconds: secondsOf(leftMs),
      maxIdleSeconds: secondsOf(entry.maxIdleMs ?? 0),
    };
    const isShort = bytes.length <= LINE_BYTES_MAX;
    const line = isShort ? bulkLine({ ...members, ...bytesMember('value', bytes) }) : undefined;
    if (line === undefined) return await this.#put(client, key, value, members);
    this.#batch.add(line);
    this.#keys.push(key);
    if (this.#batch.isFull) await this.#sendBatch();
  }

  /** Puts an entry that cannot be in a bulk request. */
  async #put(client: Client, key: Buffer, value: RestValue, members: EntryLine): Promise<void> {
    try {
      await client.complete(putCall(client, this.#map, members, value.bytes));
      this.#copy.copied++;
    } catch (error) {
      if (!(error instanceof RefusedError) || !OF_ENTRY.has(error.response.status)) throw error;
      omit(this.#copy, `refused with ${error.response.status}`, key);
    }
  }

  /** Sends the batch once the one before it has been confirmed. */
  async #sendBatch(): Promise<void> {
    const { client } = this.#migration;
    const [{ lines }, keys] = [this.#batch, this.#keys];
    if (client === undefined || lines.length === 0) return;
    this.#batch = new LineBatch();
    this.#keys = [];
    await this.#sending;
    this.#sending = this.#send(client, lines, keys);
    // The error is thrown where the promise is awaited.
    this.#sending.catch(() => {});
  }

  async #send(client: Client, lines: readonly Buffer[], keys: readonly Buffer[]): Promise<void> {
    let index = 0;
    let fault: MigrationError | undefined;
    await sendLines(client, ROUTES.changeEntries, this.#map, lines, async (block) => {
      for (const line of linesOf(block)) {
        const { status, message = '' } = objectIn(line) as { status: number; message?: string };
        const key = keys[index++];
        if (status < 400) this.#copy.copied++;
        else if (OF_ENTRY.has(status)) omit(this.#copy, `refused: ${reasonIn(message)}`, key);
        else fault ??= new MigrationError(`Refused with ${status}: ${message}`, EXIT_REFUSED);
      }
    });
    if (fault !== undefined) throw fault;
  }
}

/** Returns the end of a message, which is the same for all keys. */
function reasonIn(message: string): string {
  return (message.split(': ').at(-1) ?? '').slice(0, REASON_CHARACTERS_MAX);
}

function secondsOf(ms: number): number {
  return Math.min(Math.ceil(ms / 1000), SECONDS_MAX);
}

const INVALID_TYPE = 'a content type that HTTP cannot send';

function canBeSent({ contentType }: RestValue): boolean {
  return contentType === undefined || CONTENT_TYPE.test(contentType.toString('latin1'));
}

/** Copies a queue. The member's must be empty, or have the items of this migration. */
async function copyQueue(
  { original, client, state, show }: Migration,
  name: string,
  itemsMax: number,
): Promise<Copy> {
  const size = await original.queueSize(name);
  if (size > itemsMax) {
    const many = `Cannot copy queue ${JSON.stringify(name)} of ${counted(size, 'item')}`;
    const why = 'the original sends all at once, into the memory of this command';
    throw new MigrationError(`${many}: ${why}; --queue-items-max ${size} permits it`, EXIT_REFUSED);
  }
  const copy = state.copyOf('queue', name);
  const items = await original.items(name);
  // The first items at the member are those of a run that broke off.
  let present = client === undefined ? 0 : await presentItems(client, copy, items);
  copy.copied = 0;
  copy.omissions.length = 0;
  // Items that are offered belong to this migration, even if it is killed.
  state.save();
  try {
    for (const item of items) {
      const value = valueIn(item);
      if (typeof value === 'string') omit(copy, `item of ${value}`);
      else if (!canBeSent(value)) omit(copy, INVALID_TYPE);
      else {
        if (present > 0) present--;
        else if (client !== undefined) await offer(client, name, value);
        copy.copied++;
        show(copy, items.length);
        if (state.isDue()) state.save();
      }
    }
    // Another run of the command, or another program, may have offered items meanwhile.
    if (client !== undefined && (await sizeAt(client, ROUTES.queueSize, name)) > copy.copied)
      throw faultOf(copy, 'the queue of the member has items of others');
  } finally {
    state.save();
  }
  return copy;
}

/** Returns the number of items at the member, once it is sure that they are those of this copy. */
async function presentItems(client: Client, copy: Copy, items: readonly Buffer[]): Promise<number> {
  const present = await sizeAt(client, ROUTES.queueSize, copy.name);
  if (copy.digest === undefined) {
    const reason = `the queue of the member has ${counted(present, 'item')} already`;
    if (present > 0) throw faultOf(copy, reason);
    copy.position = items.length;
    copy.digest = digestOf(items);
  } else if (digestOf(items.slice(0, copy.position)) !== copy.digest) {
    throw faultOf(copy, 'the items of the original have changed since it began');
  } else if (present < copy.copied) {
    throw faultOf(copy, 'items of the member have been taken or lost since it began');
  }
  return present;
}

function digestOf(items: readonly Buffer[]): string {
  const hash = createHash('sha256');
  for (const item of items) hash.update(`${item.length} `).update(item);
  return hash.digest('base64');
}

/** Returns the number of entries or items that the member has. `row`: of a map or of a queue. */
async function sizeAt(client: Client, row: Route, name: string): Promise<number> {
  const { body } = await client.complete(client.requestOf(row, [name]));
  return Number(body.toString());
}

function faultOf({ kind, name }: Copy, reason: string): MigrationError {
  const fault = `Cannot copy ${kind} ${JSON.stringify(name)}: ${reason}`;
  const help = `to begin again, empty the ${kind} of the member and remove the file of --state`;
  return new MigrationError(`${fault}; ${help}`, EXIT_REFUSED);
}

/** Offers an item. A full queue is a 503 without a message. */
async function offer(
  client: Client,
  name: string,
  { bytes: body, contentType: type }: RestValue,
): Promise<void> {
  const parts = type === undefined ? { body } : { body, contentType: type.toString('latin1') };
  const call: MemberRequest = client.requestOf(ROUTES.offer, [name], parts);
  try {
    await client.complete(call);
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    const { status, body } = error.response;
    if (status !== 503 || body.length > 0) throw error;
    const full = `The queue ${JSON.stringify(name)} of the member is full: its max-size is too small`;
    throw new MigrationError(full, EXIT_REFUSED);
  }
}

/** Returns the report as JSON. */
function reportOf(copies: readonly Copy[], others: readonly OriginalObject[]): string {
  const of = (kind: Copy['kind']) =>
    copies
      .filter((copy) => copy.kind === kind)
      .map(({ name, copied, omissions }) => ({ name, copied, leftOut: omissions }));
  return JSON.stringify({ maps: of('map'), queues: of('queue'), notServed: others });
}

/** Returns the report for people. */
function textOf(copies: readonly Copy[], others: readonly OriginalObject[]): string {
  const shown = others.slice(0, OTHERS_MAX).map(({ service, name }) => {
    const kind = service.replace(/^hz:impl:|Service$/g, '');
    return shownName(`not served here: ${kind} ${name}`, undefined);
  });
  const more = others.length - shown.length;
  const lines = [...copies.map(describeCopy), ...shown];
  if (more > 0) lines.push(`not served here: ${counted(more, 'more object')}`);
  return lines.map((line) => `${line}\n`).join('');
}
