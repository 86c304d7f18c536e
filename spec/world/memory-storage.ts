/**
 * Files in memory that crash in the worst way a disk may. Until the crash, everything is readable
 * as it was written. Afterwards the synced data remains, and a random part of the rest: of each
 * write some sectors, some of them incomplete; some of the lengths, new files, renames and
 * removals. `kill` is only the end of the process: everything written remains.
 *
 * Handles are counted, and a removed file uses space until its last handle is closed.
 *
 * Calls whose names do not end in `Now` complete when `pump` is called, in random order. The call
 * with the number `crashAt` is the last that has an effect. Calls that `failure` selects have none,
 * and fail with a system error; a write that fails with ENOSPC writes half of its bytes.
 */
import type { Random } from '../../bench/harness.ts';
import type {
  FileIdentity,
  NonFileEntry,
  Storage,
  StoredFile,
} from '../../src/persistence/storage.ts';

const SECTOR_BYTES = 512;
/** Length of a buffer above which it belongs to one file, in bytes: others may be Node's pool. */
const OWNED_BYTES_MIN = Buffer.poolSize;

/** The content of a file, and its changes that are not synced. */
class Inode {
  durable: Buffer = Buffer.alloc(0);
  content: Buffer = Buffer.alloc(0);
  pending: FileChange[] = [];
  modifiedMs = 0;
}

type FileChange =
  | { readonly position: number; readonly bytes: Buffer }
  | { readonly truncatedTo: number };

type EntryChange =
  | { readonly added: string; readonly inode: Inode }
  | { readonly removed: string }
  | { readonly from: string; readonly to: string; readonly inode: Inode };

/** A kind of calls. */
export type Call = 'create' | 'write' | 'sync' | 'rename' | 'truncate' | 'other';

export interface Failure {
  /** Number of the call that fails, from 1. */
  readonly at: number;
  readonly code: string;
  /** Whether all later calls fail, too. */
  readonly isLasting: boolean;
  /** The kinds of calls that fail; undefined for all. */
  readonly of?: readonly Call[];
}

class Crash extends Error {}

export class MemoryStorage implements Storage {
  readonly path = '/memory';
  readonly bootId: string | undefined;
  readonly #random: Random;
  /** Device of the files. Two storages with the same device have the same files. */
  device = 1n;
  /** Size of the disk, in bytes. */
  bytesMax: number;
  #entries = new Map<string, Inode>();
  #durableEntries = new Map<string, Inode>();
  #pendingEntries: EntryChange[] = [];
  #waiting: (() => void)[] = [];
  #isLocked = false;
  /** Time of changes, in ms since 1970. */
  wallMs = 0;
  /** Whether even a write within a file finds no space. */
  isFullForWrites = false;
  /** Called when a file is removed by a call that blocks. */
  onRemoved: () => void = () => {};
  /** The kinds of all calls, in order. */
  readonly calls: Call[] = [];
  /** The calls that fail; undefined for none. */
  failure: Failure | undefined;
  /** Number of calls that had an effect. */
  effectCount = 0;
  crashAt = Number.POSITIVE_INFINITY;
  hasCrashed = false;
  /** Whether the process has ended, and another one uses the files. */
  hasEnded = false;
  /** Names of the files that were closed more than once. */
  readonly closedTwice: string[] = [];
  /** Open handles, by file. */
  readonly #handles = new Map<Inode, number>();

  constructor(random: Random, bootId?: string, bytesMax = Number.POSITIVE_INFINITY) {
    this.#random = random;
    this.bootId = bootId;
    this.bytesMax = bytesMax;
  }

  /** Completes a random call. Returns whether there was one. */
  pump(): boolean {
    const at = this.#random.below(Math.max(this.#waiting.length, 1));
    const [complete] = this.#waiting.splice(at, 1);
    if (complete === undefined || this.hasCrashed) return false;
    complete();
    return true;
  }

  /**
   * Completes calls until the promise is resolved: true, or the storage has crashed: false. Calls
   * `go` after each call. Rejects if the promise does so before a crash.
   */
  async drive(promise: Promise<unknown>, go: () => void = () => {}): Promise<boolean> {
    let isDone = false;
    let failure: { readonly error: unknown } | undefined;
    promise.then(
      () => {
        isDone = true;
      },
      (error: unknown) => {
        failure = { error };
      },
    );
    while (!isDone && failure === undefined && !this.hasCrashed) {
      this.pump();
      await new Promise((resolve) => setImmediate(resolve));
      go();
    }
    if (failure !== undefined && !this.hasCrashed) throw failure.error;
    return isDone;
  }

  /** Returns the storage of the next start after a crash of the machine. */
  afterCrash(bootId?: string): MemoryStorage {
    this.hasEnded = true;
    const next = new MemoryStorage(this.#random, bootId, this.bytesMax);
    for (const change of this.#pendingEntries) {
      if (this.#random.below(2) === 0) applyEntry(this.#durableEntries, change);
    }
    const inodes = new Map<Inode, Inode>();
    for (const [name, inode] of this.#durableEntries) {
      const copy = inodes.get(inode) ?? this.#crashed(inode);
      inodes.set(inode, copy);
      next.#entries.set(name, copy);
      next.#durableEntries.set(name, copy);
    }
    return next;
  }

  /** Returns the storage of the next start after the end of the process. */
  afterKill(): MemoryStorage {
    this.hasEnded = true;
    const next = new MemoryStorage(this.#random, this.bootId, this.bytesMax);
    next.#entries = new Map(this.#entries);
    next.#durableEntries = this.#durableEntries;
    next.#pendingEntries = this.#pendingEntries;
    return next;
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /** Returns the content of the file, to be read or damaged. */
  bytes(name: string): Buffer {
    return this.#find(name).content;
  }

  /** The files of the directory, without those of its directories. */
  get files(): ReadonlyMap<string, Buffer> {
    const files = [...this.#entries].filter(([name]) => !name.includes('/'));
    return new Map(files.map(([name, { content }]) => [name, content]));
  }

  /** Replaces, adds or removes a file, durably. */
  put(name: string, content: Buffer | undefined): void {
    if (content === undefined) {
      this.#entries.delete(name);
      this.#durableEntries.delete(name);
      return;
    }
    const inode = new Inode();
    inode.content = Buffer.from(content);
    inode.durable = Buffer.from(content);
    this.#entries.set(name, inode);
    this.#durableEntries.set(name, inode);
  }

  async lock(): Promise<void> {
    if (this.#isLocked) throw new Error('locked');
    this.#isLocked = true;
  }

  existsNow(name: string): boolean {
    return this.#entries.has(name);
  }

  list(): Promise<readonly string[]> {
    return this.later('other', () => [...this.files.keys()]);
  }

  listNonFiles(): Promise<readonly NonFileEntry[]> {
    return this.later('other', () => []);
  }

  modifiedMs(name: string): Promise<number> {
    return this.later('other', () => this.#find(name).modifiedMs);
  }

  open(name: string): Promise<StoredFile> {
    return this.later('other', () => this.#handle(name, this.#find(name)));
  }

  create(name: string): Promise<StoredFile> {
    return this.later('create', () => this.#create(name));
  }

  createNow(name: string): StoredFile {
    return this.now('create', () => this.#create(name));
  }

  rename(from: string, to: string): Promise<void> {
    return this.later('rename', () => this.#change({ from, to, inode: this.#find(from) }));
  }

  renameNow(from: string, to: string): void {
    this.now('rename', () => this.#change({ from, to, inode: this.#find(from) }));
  }

  remove(name: string): Promise<void> {
    return this.later('other', () => this.#remove(name));
  }

  removeNow(name: string): void {
    this.now('other', () => {
      this.#remove(name);
      this.onRemoved();
    });
  }

  makeDirectory(name: string): Promise<boolean> {
    const isInside = (each: string) => each.startsWith(`${name}/`);
    return this.later('other', () => ![...this.#entries.keys()].some(isInside));
  }

  syncDirectory(): Promise<void> {
    return this.later('sync', () => this.#syncDirectory());
  }

  syncDirectoryNow(): void {
    this.now('sync', () => this.#syncDirectory());
  }

  async space(): Promise<{ freeBytes: number; totalBytes: number }> {
    this.check('other');
    return { freeBytes: this.bytesMax - this.usedBytes, totalBytes: this.bytesMax };
  }

  async close(): Promise<void> {
    this.#isLocked = false;
  }

  get usedBytes(): number {
    const inodes = new Set([...this.#entries.values(), ...this.#handles.keys()]);
    return [...inodes].reduce((sum, { content }) => sum + content.length, 0);
  }

  /** Whether the disk has space for this many more bytes. */
  hasRoom(bytes: number): boolean {
    return this.bytesMax === Number.POSITIVE_INFINITY || this.usedBytes + bytes <= this.bytesMax;
  }

  /**
   * Counts a call, and throws if it must fail. Returns whether a write finds space for only half of
   * its bytes.
   */
  check(call: Call): boolean {
    const { failure } = this;
    const number = this.calls.push(call);
    if (failure === undefined || number < failure.at) return false;
    if (number > failure.at && !failure.isLasting) return false;
    if (failure.of?.includes(call) === false) return false;
    if (call === 'write' && failure.code === 'ENOSPC') return true;
    throw systemError(failure.code);
  }

  now<Result>(call: Call, run: (isHalf: boolean) => Result): Result {
    const isHalf = this.check(call);
    return this.#effect(() => run(isHalf));
  }

  /** Returns the promise of a call that takes effect when it completes. */
  later<Result>(call: Call | undefined, run: (isHalf: boolean) => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      const isHalf = call !== undefined && this.check(call);
      this.#waiting.push(() => {
        try {
          resolve(this.#effect(() => run(isHalf)));
        } catch (error) {
          // The process has ended: the promise stays unsettled.
          if (!(error instanceof Crash)) reject(error);
        }
      });
    });
  }

  /** Runs a call. After a crash during the call, its change may exist or not. */
  #effect<Result>(run: () => Result): Result {
    if (this.hasCrashed) throw new Crash();
    const result = run();
    this.effectCount++;
    if (this.effectCount < this.crashAt) return result;
    this.hasCrashed = true;
    throw new Crash();
  }

  #find(name: string): Inode {
    const inode = this.#entries.get(name);
    if (inode === undefined) throw Object.assign(systemError('ENOENT'), { path: name });
    return inode;
  }

  #create(name: string): StoredFile {
    const inode = new Inode();
    this.#change({ added: name, inode });
    return this.#handle(name, inode);
  }

  #remove(name: string): void {
    if (this.#entries.has(name)) this.#change({ removed: name });
  }

  #handle(name: string, inode: Inode): StoredFile {
    this.#handles.set(inode, (this.#handles.get(inode) ?? 0) + 1);
    return new MemoryFile(name, inode, this);
  }

  /** Used by files. */
  closed(inode: Inode): void {
    const count = (this.#handles.get(inode) ?? 0) - 1;
    if (count > 0) this.#handles.set(inode, count);
    else this.#handles.delete(inode);
  }

  /** Names of the files that are open, or were before they were removed. */
  get openNames(): readonly string[] {
    const names = new Map([...this.#entries].map(([name, inode]) => [inode, name]));
    return [...this.#handles.keys()].map((inode) => names.get(inode) ?? 'a removed file');
  }

  #change(change: EntryChange): void {
    applyEntry(this.#entries, change);
    this.#pendingEntries.push(change);
  }

  #syncDirectory(): void {
    for (const change of this.#pendingEntries) applyEntry(this.#durableEntries, change);
    this.#pendingEntries = [];
  }

  #crashed({ durable, pending, modifiedMs }: Inode): Inode {
    const next = new Inode();
    let bytes: Buffer = Buffer.from(durable);
    for (const change of pending) bytes = this.#applyPart(bytes, change);
    next.content = bytes;
    next.durable = Buffer.from(bytes);
    next.modifiedMs = modifiedMs;
    return next;
  }

  /** Applies none, all, or some sectors of the change. */
  #applyPart(bytes: Buffer, change: FileChange): Buffer {
    const choice = this.#random.below(4);
    if (choice === 0) return bytes;
    if (choice === 1 || 'truncatedTo' in change) return applied(bytes, change);
    let next = bytes;
    const end = choice === 2 ? this.#random.below(change.bytes.length + 1) : change.bytes.length;
    for (let from = 0; from < end; from += SECTOR_BYTES) {
      if (choice === 3 && this.#random.below(2) === 0) continue;
      const sector = change.bytes.subarray(from, Math.min(end, from + SECTOR_BYTES));
      next = applied(next, { position: change.position + from, bytes: sector });
    }
    return next;
  }
}

class MemoryFile implements StoredFile {
  readonly name: string;
  readonly #inode: Inode;
  readonly #storage: MemoryStorage;
  #isOpen = true;
  #isClosing = false;

  constructor(name: string, inode: Inode, storage: MemoryStorage) {
    this.name = name;
    this.#inode = inode;
    this.#storage = storage;
  }

  get length(): number {
    return this.#inode.content.length;
  }

  identityNow(): FileIdentity {
    return { device: this.#storage.device, inode: 1n };
  }

  writeNow(bytes: Buffer, start: number, end: number, position: number): void {
    this.#storage.now('write', (isHalf) => this.#write(bytes, start, end, position, isHalf));
  }

  write(bytes: Buffer, start: number, end: number, position: number): Promise<void> {
    const write = (isHalf: boolean) => this.#write(bytes, start, end, position, isHalf);
    return this.#storage.later('write', write);
  }

  read(into: Buffer, position: number): Promise<number> {
    return this.#storage.later('other', () => this.#inode.content.copy(into, 0, position));
  }

  truncate(length: number): Promise<void> {
    return this.#storage.later('truncate', () => this.#change({ truncatedTo: length }));
  }

  sync(): Promise<void> {
    const covered = new Set(this.#inode.pending);
    return this.#storage.later('sync', () => this.#sync(covered));
  }

  syncNow(): void {
    this.#storage.now('sync', () => this.#sync(new Set(this.#inode.pending)));
  }

  /** Frees the handle even if the call fails. */
  async close(): Promise<void> {
    this.#noteClose();
    await this.#storage.later(undefined, () => this.#free());
    this.#storage.check('other');
  }

  closeNow(): void {
    this.#noteClose();
    this.#free();
  }

  /** Callers ignore errors of closing, so the specs check whether a file is closed twice. */
  #noteClose(): void {
    if (this.#isClosing) this.#storage.closedTwice.push(this.name);
    this.#isClosing = true;
  }

  #free(): void {
    if (!this.#isOpen) throw systemError('EBADF');
    this.#isOpen = false;
    this.#storage.closed(this.#inode);
  }

  #sync(covered: ReadonlySet<FileChange>): void {
    const { pending } = this.#inode;
    for (const change of pending) {
      if (covered.has(change)) this.#inode.durable = applied(this.#inode.durable, change);
    }
    this.#inode.pending = pending.filter((change) => !covered.has(change));
  }

  #write(bytes: Buffer, start: number, end: number, position: number, isHalf: boolean): void {
    if (!this.#isOpen) throw systemError('EBADF');
    const written = isHalf ? start + ((end - start) >> 1) : end;
    const grown = position + written - start - this.length;
    if (grown > 0 && !this.#storage.hasRoom(grown)) throw systemError('ENOSPC');
    if (this.#storage.isFullForWrites) throw systemError('ENOSPC');
    this.#change({ position, bytes: Buffer.from(bytes.subarray(start, written)) });
    if (isHalf) throw systemError('ENOSPC');
  }

  #change(change: FileChange): void {
    this.#inode.content = applied(this.#inode.content, change);
    this.#inode.modifiedMs = this.#storage.wallMs;
    this.#inode.pending.push(change);
  }
}

/** Returns an error with the code of a system error. */
export function systemError(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: made by a test`), { code });
}

function applied(content: Buffer, change: FileChange): Buffer {
  if ('truncatedTo' in change) {
    const next = Buffer.alloc(change.truncatedTo);
    content.copy(next);
    return next;
  }
  const end = change.position + change.bytes.length;
  let next = content;
  if (end > content.length) next = grown(content, end);
  change.bytes.copy(next, change.position);
  return next;
}

/** Returns the content with zeros up to `length`, in place if its buffer is long enough. */
function grown(content: Buffer, length: number): Buffer {
  const { buffer, byteOffset } = content;
  const isOwned = byteOffset === 0 && buffer.byteLength > OWNED_BYTES_MIN;
  if (isOwned && length <= buffer.byteLength) return Buffer.from(buffer, 0, length);
  const capacity = length <= OWNED_BYTES_MIN ? length : Math.max(length, content.length * 2);
  const next = Buffer.alloc(capacity);
  content.copy(next);
  return next.subarray(0, length);
}

function applyEntry(entries: Map<string, Inode>, change: EntryChange): void {
  if ('added' in change) entries.set(change.added, change.inode);
  else if ('removed' in change) entries.delete(change.removed);
  else {
    entries.delete(change.from);
    entries.set(change.to, change.inode);
  }
}
