/** A storage whose n-th call fails, once or from then on, with a system error. */
import type { Storage, StoredFile } from '../../src/persistence/storage.ts';
import { systemError } from './memory-storage.ts';

export interface Failure {
  readonly at: number;
  readonly code: string;
  readonly isLasting: boolean;
  /** Whether only calls that make a file fail. */
  readonly isOfCreate?: boolean;
}

export class FailingStorage implements Storage {
  readonly place: string;
  readonly bootId: string | undefined;
  callCount = 0;
  /** The calls that fail; none unless set. */
  failure: Failure | undefined;
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.place = storage.place;
    this.bootId = storage.bootId;
    this.#storage = storage;
  }

  lock = (): Promise<void> => this.#storage.lock();
  close = (): Promise<void> => this.#storage.close();
  list = () => this.#later(() => this.#storage.list());
  rename = (from: string, to: string) => this.#later(() => this.#storage.rename(from, to));
  remove = (name: string) => this.#later(() => this.#storage.remove(name));
  makeDirectory = (name: string) => this.#later(() => this.#storage.makeDirectory(name));
  syncDirectory = (name?: string) => this.#later(() => this.#storage.syncDirectory(name));
  space = () => this.#later(() => this.#storage.space());

  syncDirectoryNow(): void {
    this.check();
    this.#storage.syncDirectoryNow();
  }

  async open(name: string): Promise<StoredFile> {
    this.check();
    return new FailingFile(await this.#storage.open(name), this);
  }

  async create(name: string): Promise<StoredFile> {
    this.check(true);
    return new FailingFile(await this.#storage.create(name), this);
  }

  createNow(name: string): StoredFile {
    this.check(true);
    return new FailingFile(this.#storage.createNow(name), this);
  }

  /** Counts a call; throws where it must fail. */
  check(isCreate = false): void {
    const { failure } = this;
    this.callCount++;
    if (failure?.isOfCreate && !isCreate) return;
    if (failure === undefined || this.callCount < failure.at) return;
    if (this.callCount === failure.at || failure.isLasting) throw systemError(failure.code);
  }

  async #later<Value>(call: () => Promise<Value>): Promise<Value> {
    this.check();
    return await call();
  }
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

  writeNow(bytes: Buffer, start: number, end: number, position: number): void {
    this.#storage.check();
    this.#file.writeNow(bytes, start, end, position);
  }

  async write(bytes: Buffer, start: number, end: number, position: number): Promise<void> {
    this.#storage.check();
    await this.#file.write(bytes, start, end, position);
  }

  async read(into: Buffer, position: number): Promise<number> {
    this.#storage.check();
    return await this.#file.read(into, position);
  }

  async truncate(length: number): Promise<void> {
    this.#storage.check();
    await this.#file.truncate(length);
  }

  async sync(): Promise<void> {
    this.#storage.check();
    await this.#file.sync();
  }

  async close(): Promise<void> {
    // A close that fails frees the handle, too.
    await this.#file.close();
    this.#storage.check();
  }
}
