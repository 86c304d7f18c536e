/** A storage whose nth call fails, either once or from then on, with a system error. */
import type { FileIdentity, Storage, StoredFile } from '../../src/persistence/storage.ts';
import { type MemoryStorage, systemError } from './memory-storage.ts';

export interface Failure {
  readonly at: number;
  readonly code: string;
  readonly isLasting: boolean;
  /** The kinds of calls that fail; undefined for all. */
  readonly of?: readonly Call[];
}

/** A kind of calls. */
export type Call = 'create' | 'write' | 'sync' | 'rename' | 'truncate' | 'other';

export class FailingStorage implements Storage {
  readonly path: string;
  readonly bootId: string | undefined;
  /** The kinds of all calls, in order. */
  readonly calls: Call[] = [];
  /** The calls that fail; undefined for none. */
  failure: Failure | undefined;
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.path = storage.path;
    this.bootId = storage.bootId;
    this.#storage = storage;
  }

  lock = (): Promise<void> => this.#storage.lock();
  close = (): Promise<void> => this.#storage.close();
  existsNow = (name: string): boolean => this.#storage.existsNow(name);
  list = () => this.#later(() => this.#storage.list());
  listNonFiles = () => this.#later(() => this.#storage.listNonFiles());
  rename = (from: string, to: string) =>
    this.#later(() => this.#storage.rename(from, to), 'rename');
  remove = (name: string) => this.#later(() => this.#storage.remove(name));
  makeDirectory = (name: string) => this.#later(() => this.#storage.makeDirectory(name));
  syncDirectory = (name?: string) => this.#later(() => this.#storage.syncDirectory(name), 'sync');
  space = () => this.#later(() => this.#storage.space());

  get callCount(): number {
    return this.calls.length;
  }

  syncDirectoryNow(): void {
    this.check('sync');
    this.#storage.syncDirectoryNow();
  }

  renameNow(from: string, to: string): void {
    this.check('rename');
    this.#storage.renameNow(from, to);
  }

  removeNow(name: string): void {
    this.check();
    this.#storage.removeNow(name);
  }

  async open(name: string): Promise<StoredFile> {
    this.check();
    return new FailingFile(await this.#storage.open(name), this);
  }

  async create(name: string): Promise<StoredFile> {
    this.check('create');
    return new FailingFile(await this.#storage.create(name), this);
  }

  createNow(name: string): StoredFile {
    this.check('create');
    return new FailingFile(this.#storage.createNow(name), this);
  }

  /** Counts a call; throws if it must fail. */
  check(call: Call = 'other'): void {
    const { failure } = this;
    this.calls.push(call);
    if (failure?.of?.includes(call) === false) return;
    if (failure === undefined || this.callCount < failure.at) return;
    if (this.callCount === failure.at || failure.isLasting) throw systemError(failure.code);
  }

  async #later<Value>(run: () => Promise<Value>, call?: Call): Promise<Value> {
    this.check(call);
    return await run();
  }
}

/** The failing storage, as a parameter of openPersistent. */
export function pumped(storage: FailingStorage, memory: MemoryStorage) {
  Object.defineProperty(storage, 'openNames', { get: () => memory.openNames });
  Object.defineProperty(storage, 'closedTwice', { get: () => memory.closedTwice });
  Object.defineProperty(storage, 'hasEnded', { get: () => memory.hasEnded });
  return Object.assign(storage, { pump: () => memory.pump() });
}

class FailingFile implements StoredFile {
  readonly name: string;
  readonly #file: StoredFile;
  readonly #storage: FailingStorage;

  constructor(file: StoredFile, storage: FailingStorage) {
    this.name = file.name;
    this.#file = file;
    this.#storage = storage;
  }

  get length(): number {
    return this.#file.length;
  }

  identityNow(): FileIdentity {
    return this.#file.identityNow();
  }

  writeNow(bytes: Buffer, start: number, end: number, position: number): void {
    const written = this.#checkWrite(start, end);
    this.#file.writeNow(bytes, start, written, position);
    if (written < end) throw systemError('ENOSPC');
  }

  async write(bytes: Buffer, start: number, end: number, position: number): Promise<void> {
    const written = this.#checkWrite(start, end);
    await this.#file.write(bytes, start, written, position);
    if (written < end) throw systemError('ENOSPC');
  }

  async read(into: Buffer, position: number): Promise<number> {
    this.#storage.check();
    return await this.#file.read(into, position);
  }

  async truncate(length: number): Promise<void> {
    this.#storage.check('truncate');
    await this.#file.truncate(length);
  }

  async sync(): Promise<void> {
    this.#storage.check('sync');
    await this.#file.sync();
  }

  syncNow(): void {
    this.#storage.check('sync');
    this.#file.syncNow();
  }

  /** Returns the end of the bytes that are written: on a full disk, only a part of them. */
  #checkWrite(start: number, end: number): number {
    try {
      this.#storage.check('write');
      return end;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      return start + ((end - start) >> 1);
    }
  }

  closeNow(): void {
    this.#file.closeNow();
  }

  async close(): Promise<void> {
    // A close that fails also frees the handle.
    await this.#file.close();
    this.#storage.check();
  }
}
