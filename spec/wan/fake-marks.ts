/**
 * The marks of changes on servers, in memory: what the members of a cluster share, and each member's
 * access to it (src/engine/marked-changes.ts). Steps take time, and fail when the test wants it.
 */
import type { Clock } from '../../src/base/clock.ts';
import { Span } from '../../src/base/span.ts';
import type { ChangedPartitions } from '../../src/engine/changed-partitions.ts';
import { partitionOf } from '../../src/engine/hash.ts';
import { KeyWords } from '../../src/engine/key-words.ts';
import type {
  MapReferences,
  MarkedChanges,
  MarkedPublisher,
  WaitingChange,
  WaitingChanges,
  WaitingRoom,
} from '../../src/engine/marked-changes.ts';
import { CLEAR, DELETE, Mutation, type Operation, SET } from '../../src/engine/mutation.ts';
import type { EntriesRead, PartitionEntries } from '../../src/engine/partition-entries.ts';
import { setVersion } from '../../src/engine/redis/partition-clock.ts';
import { copyOf } from '../engine/sinks.ts';
import { textOf } from './simulated-engine.ts';

/** Length from which a value is read alone, in bytes. */
const LONG_BYTES = 65_536;

/** What happens to a step: whether the servers do it, and whether the member learns that. */
interface Fate {
  readonly isDone: boolean;
  readonly isKnown: boolean;
  readonly delayMs: number;
}

const AT_ONCE: Fate = { isDone: true, isKnown: true, delayMs: 0 };

/** The state of a key. */
interface Key {
  entry: Mutation | undefined;
  removal: Mutation | undefined;
}

/** The state that failovers can restore. */
interface State {
  readonly clocks: Map<number, number>;
  readonly keys: Map<string, Key>;
  /** By publisher and partition, the numbers of keys. */
  readonly marks: Map<string, Map<string, number>>;
}

export class FakeServers {
  readonly partitionCount: number;
  readonly clock: Clock;
  /** Decides what happens to a step on the partition, which is -1 for one on all. */
  fate: (partition: number) => Fate = () => AT_ONCE;
  /** Whether the next page of a list has to begin again. */
  beginsAgain = (): boolean => false;
  /** Steps of each kind. */
  readonly stepCounts = { read: 0, acknowledge: 0, count: 0, drop: 0 };
  readonly #listeners: ((partitions: Uint8Array) => void)[] = [];
  #state: State = { clocks: new Map(), keys: new Map(), marks: new Map() };

  constructor(clock: Clock, partitionCount = 13) {
    this.clock = clock;
    this.partitionCount = partitionCount;
  }

  /** Returns a copy of the state, to which `restore` goes back. */
  snapshot(): State {
    const { clocks, keys, marks } = this.#state;
    const marksOf = [...marks].map(([name, each]) => [name, new Map(each)] as const);
    const keysOf = [...keys].map(([name, each]) => [name, { ...each }] as const);
    return { clocks: new Map(clocks), keys: new Map(keysOf), marks: new Map(marksOf) };
  }

  restore(state: State): void {
    this.#state = state;
  }

  /** The entries, as those of an engine in the specs. */
  contents(): string[] {
    return this.entries.map(textOf).sort();
  }

  get entries(): Mutation[] {
    const entries = [...this.#state.keys.values()].map(({ entry }) => entry);
    return entries.filter((entry) => entry !== undefined);
  }

  /** Number of all marks. */
  get markCount(): number {
    let count = 0;
    for (const marks of this.#state.marks.values()) count += marks.size;
    return count;
  }

  member(clock: Clock = this.clock): FakeMarks {
    return new FakeMarks(this, clock, this.#listeners);
  }

  /** Returns the numbers of keys that wait, by key; created if necessary. */
  marksOf({ name }: MarkedPublisher, partition: number): Map<string, number> {
    const place = `${name.toString('hex')} ${partition}`;
    const marks = this.#state.marks.get(place) ?? new Map<string, number>();
    this.#state.marks.set(place, marks);
    return marks;
  }

  /** Drops the marks of other publishers. Returns their number. */
  dropOthers(names: readonly Buffer[]): number {
    const kept = new Set(names.map((name) => name.toString('hex')));
    let count = 0;
    for (const [place, marks] of this.#state.marks) {
      if (kept.has(place.split(' ')[0]!)) continue;
      count += marks.size;
      this.#state.marks.delete(place);
    }
    return count;
  }

  /** Returns the next number of the partition's clock, or of the clocks of all partitions. */
  nextNumber(partition: number, wallMs: number, isOfAll = false): number {
    const { clocks } = this.#state;
    const partitions = isOfAll ? [...Array(this.partitionCount).keys()] : [partition];
    const last = Math.max(...partitions.map((each) => clocks.get(each) ?? 0));
    const number = Math.max(last + 1, Math.floor(wallMs * 1000));
    for (const each of partitions) clocks.set(each, number);
    return number;
  }

  /** Removes the entries of a map. */
  removeEntries(map: string): void {
    for (const [place, key] of this.#state.keys) {
      if (place.startsWith(`${map}/`)) key.entry = undefined;
    }
  }

  /** Returns the state of a key with the removal that is sent before its entry. */
  stateOf(place: string): Key {
    const { entry, removal } = this.key(place);
    const cleared = this.key(`${place.split('/')[0]}/`).removal;
    if (entry === undefined || cleared === undefined) return { entry, removal };
    const isLater = removal === undefined || cleared.version.isAfter(removal.version);
    if (!isLater || !entry.version.isAfter(cleared.version)) return { entry, removal };
    const ofKey = copyOf(cleared);
    ofKey.operation = DELETE;
    ofKey.key.copyFrom(entry.key);
    return { entry, removal: ofKey };
  }

  key(place: string): Key {
    const key = this.#state.keys.get(place) ?? { entry: undefined, removal: undefined };
    this.#state.keys.set(place, key);
    return key;
  }
}

export class FakeMarks implements MarkedChanges, PartitionEntries, ChangedPartitions {
  readonly #servers: FakeServers;
  readonly #clock: Clock;
  readonly #members: ((partitions: Uint8Array) => void)[];
  #references: MapReferences | undefined;
  #onMarked: (partition: number) => void = () => {};
  #onNotMarked: (publisher: MarkedPublisher) => void = () => {};
  /** Whether its messages arrive. */
  announces = true;
  /** Whether the process has ended: no step is done, or has a result. */
  isKilled = false;

  constructor(servers: FakeServers, clock: Clock, members: ((partitions: Uint8Array) => void)[]) {
    this.#servers = servers;
    this.#clock = clock;
    this.#members = members;
  }

  get partitionCount(): number {
    return this.#servers.partitionCount;
  }

  setReferences(references: MapReferences | undefined): void {
    this.#references = references;
  }

  onMarked(listener: (partition: number) => void): void {
    this.#onMarked = listener;
  }

  onNotMarked(listener: (publisher: MarkedPublisher) => void): void {
    this.#onNotMarked = listener;
  }

  announce(partitions: Uint8Array): void {
    if (!this.announces) return;
    this.#clock.after(1, () => {
      for (const listener of this.#members) listener(partitions);
    });
  }

  onAnnounced(listener: (partitions: Uint8Array) => void): void {
    this.#members.push((partitions) => {
      if (!this.isKilled) listener(partitions);
    });
  }

  /** Makes a client's change, or a merged one with a path. Returns false if it is refused. */
  change(operation: Operation, map: string, key: string, value = '', path?: Buffer): boolean {
    const servers = this.#servers;
    const isClear = operation === CLEAR;
    const partition = partitionOfKey(isClear ? map : key, this.partitionCount);
    const references = this.#references?.(Buffer.from(map));
    const accepted = references?.accepts(Span.of(key)) === true ? references.publishers : [];
    const publishers = accepted.filter(({ isMarking }) => isMarking);
    const place = `${map}/${key}`;
    const hasRoom = (each: MarkedPublisher) => {
      const marks = servers.marksOf(each, partition);
      return marks.has(place) || marks.size < each.partitionCapacity;
    };
    if (publishers.some((each) => each.refusesWhenFull && !hasRoom(each))) return false;
    const number = servers.nextNumber(partition, this.#clock.wall(), isClear);
    const change = mutationOf(operation, map, key, value, number);
    if (path !== undefined) change.path.copyFrom(Span.of(path));
    if (isClear) servers.removeEntries(map);
    const state = servers.key(place);
    state.entry = operation === SET ? change : undefined;
    if (operation !== SET) state.removal = change;
    for (const each of publishers) {
      if (hasRoom(each)) servers.marksOf(each, partition).set(place, number);
      else this.#onNotMarked(each);
    }
    if (publishers.length > 0) this.#onMarked(partition);
    return true;
  }

  readWaiting(
    publisher: MarkedPublisher,
    partition: number,
    after: number,
    room: WaitingRoom,
  ): Promise<WaitingChanges | undefined> {
    this.#servers.stepCounts.read++;
    return this.#step(partition, () => this.#read(publisher, partition, after, room));
  }

  acknowledgeMarks(
    publisher: MarkedPublisher,
    partition: number,
    number: number,
  ): Promise<number | undefined> {
    this.#servers.stepCounts.acknowledge++;
    return this.#step(partition, () => {
      const marks = this.#servers.marksOf(publisher, partition);
      const done = [...marks].filter(([, each]) => each <= number);
      for (const [place] of done) marks.delete(place);
      return done.length;
    });
  }

  async dropWaiting(publisher: MarkedPublisher, partition: number): Promise<boolean> {
    const marks = this.#servers.marksOf(publisher, partition);
    return (await this.#step(partition, () => marks.clear() ?? true)) === true;
  }

  async waitingCounts(
    publisher: MarkedPublisher,
    partitions: readonly number[],
  ): Promise<readonly (number | undefined)[]> {
    this.#servers.stepCounts.count++;
    const counts = await this.#step(partitions[0]!, () =>
      partitions.map((partition) => this.#servers.marksOf(publisher, partition).size),
    );
    return counts ?? partitions.map(() => undefined);
  }

  dropOthers(names: readonly Buffer[]): Promise<number | undefined> {
    this.#servers.stepCounts.drop++;
    return this.#step(-1, () => this.#servers.dropOthers(names));
  }

  readEntries(
    map: Buffer,
    partition: number,
    place: Buffer | undefined,
    { count }: { readonly count: number },
  ): Promise<EntriesRead | undefined> {
    return this.#step(partition, () => {
      const all = this.#servers.entries.filter(
        ({ name, key }) =>
          name.is(map) &&
          partitionOfKey(key.toBuffer().toString(), this.partitionCount) === partition,
      );
      const beganAgain = place !== undefined && this.#servers.beginsAgain();
      const from = place === undefined || beganAgain ? 0 : place.readUInt32BE();
      const page = all.slice(from, from + count);
      const isLong = ({ value }: Mutation): boolean => value.length > LONG_BYTES;
      const next = Buffer.alloc(4);
      next.writeUInt32BE(from + page.length);
      return {
        entries: page.filter((entry) => !isLong(entry)).map(copyOf),
        longKeys: page.filter(isLong).map(({ key }) => key.toBuffer()),
        place: from + page.length < all.length ? next : undefined,
        beganAgain,
      };
    });
  }

  readEntry(map: Buffer, key: Buffer): Promise<{ entry: Mutation | undefined } | undefined> {
    const partition = partitionOfKey(key.toString(), this.partitionCount);
    return this.#step(partition, () => {
      const { entry } = this.#servers.key(`${map}/${key}`);
      return { entry: entry && copyOf(entry) };
    });
  }

  readMaps(): ReturnType<PartitionEntries['readMaps']> {
    return this.#step(-1, () => {
      const names = new Set(this.#servers.entries.map(({ name }) => name.toBuffer().toString()));
      return { names: [...names].map((name) => Buffer.from(name)), place: undefined };
    });
  }

  /** Does the step at once or later; resolves with its result, or undefined if that is unknown. */
  #step<Result>(partition: number, work: () => Result): Promise<Result | undefined> {
    const { isDone, isKnown, delayMs } = this.#servers.fate(partition);
    return new Promise((resolve) => {
      const run = () => {
        if (this.isKilled) return;
        const result = isDone ? work() : undefined;
        resolve(isKnown ? result : undefined);
      };
      if (delayMs === 0) run();
      else this.#clock.after(delayMs, run);
    });
  }

  #read(
    publisher: MarkedPublisher,
    partition: number,
    after: number,
    { count, bytes }: WaitingRoom,
  ): WaitingChanges {
    const marks = [...this.#servers.marksOf(publisher, partition)]
      .filter(([, number]) => number > after)
      .sort(([, one], [, other]) => one - other);
    const changes: WaitingChange[] = [];
    let readTo = after;
    let left = bytes;
    for (const [index, [place, number]] of marks.entries()) {
      const { entry, removal } = this.#servers.stateOf(place);
      const isLong = (entry?.value.length ?? 0) > LONG_BYTES;
      if (index >= count || (index > 0 && (left <= 0 || isLong))) {
        return { changes, readTo, hasMore: true };
      }
      readTo = number;
      left -= place.length + (entry?.value.length ?? 0);
      if ((entry ?? removal) !== undefined) {
        changes.push({
          number,
          entry: entry && copyOf(entry),
          removal: removal && copyOf(removal),
        });
      }
      if (isLong) return { changes, readTo, hasMore: index + 1 < marks.length };
    }
    return { changes, readTo, hasMore: false };
  }
}

function partitionOfKey(key: string, partitionCount: number): number {
  const { words, length } = new KeyWords().load(Span.of(key));
  return partitionOf(words, 0, length, partitionCount);
}

function mutationOf(
  operation: Operation,
  map: string,
  key: string,
  value: string,
  number: number,
): Mutation {
  const change = new Mutation();
  change.operation = operation;
  change.name.copyFrom(Span.of(map));
  if (operation !== CLEAR) change.key.copyFrom(Span.of(key));
  if (operation === SET) change.value.copyFrom(Span.of(value));
  setVersion(change.version, number);
  return change;
}
