/** A persistence with its engine on any storage, for tests in which it runs on its own. */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import type { Mutation } from '../../src/engine/mutation.ts';
import type { MutationSink } from '../../src/engine/mutation-sink.ts';
import type { Finding } from '../../src/persistence/findings.ts';
import { type Opened, Persistence } from '../../src/persistence/persistence.ts';
import type { RecoveryProgress } from '../../src/persistence/recovery.ts';
import type { Storage } from '../../src/persistence/storage.ts';
import { AtOnce } from '../engine/embedded/at-once.ts';
import { RecordingSink } from '../engine/sinks.ts';
import { FakeClock } from '../fake-clock.ts';
import { contentOf } from './stored-model.ts';

export const PARTITION_COUNT = 5;

export interface PersistentSubject {
  readonly engine: EmbeddedEngine;
  readonly ask: AtOnce;
  readonly clock: FakeClock;
  readonly persistence: Persistence;
  readonly recovered: Opened;
  /** The events that the persistence reported, in order. */
  readonly events: string[];
  /** The progress that it reported during recovery. */
  readonly progress: RecoveryProgress[];
  /** Ends turns until no work is in progress. */
  quiet(): Promise<void>;
  /** Advances the clock, and ends turns until no work is in progress. */
  pass(ms: number): Promise<void>;
}

export interface PersistentOptions extends Partial<ConstructorParameters<typeof Persistence>[0]> {
  readonly clock?: FakeClock;
  /** Sinks that are called before the log. */
  readonly sinksBefore?: readonly MutationSink[];
  /** Receives copies of all recorded changes, also of those that are replayed. */
  readonly history?: Mutation[];
  readonly memoryBytesMax?: number;
}

/** The part of a test storage that completes its calls and counts its open handles. */
interface Pumped {
  pump(): boolean;
  readonly openNames: readonly string[];
  readonly closedTwice: readonly string[];
  readonly hasEnded: boolean;
  readonly files: ReadonlyMap<string, Buffer>;
  readonly failure: unknown;
}

/** Opens a persistence, whose handles are also checked after the test. */
export async function openPersistent(
  storage: Storage & Partial<Pumped>,
  options: PersistentOptions = {},
): Promise<PersistentSubject> {
  const subject = await openOnce(storage, options);
  latest.set(storage, subject.persistence);
  after(() => checkAtEnd(storage, subject));
  return subject;
}

/** Opens a persistence, closes it, and returns the content that it recovered. */
export async function recoveredContent(
  storage: Storage & Partial<Pumped>,
  options: PersistentOptions = {},
): Promise<string[]> {
  const { engine, persistence, quiet } = await openOnce(storage, options);
  const content = contentOf(engine);
  await until(persistence.close(), quiet);
  checkNoneOpen(storage);
  return content;
}

/** Opens a persistence to which nothing refers afterwards, for tests that open very many. */
export async function openOnce(
  storage: Storage & Partial<Pumped>,
  {
    clock = new FakeClock(),
    sinksBefore = [],
    history,
    memoryBytesMax,
    ...options
  }: PersistentOptions = {},
): Promise<PersistentSubject> {
  const { partitionCount = PARTITION_COUNT } = options;
  const events: string[] = [];
  const progress: RecoveryProgress[] = [];
  const persistence = new Persistence(
    {
      storage,
      clock,
      partitionCount,
      sync: 'interval',
      syncIntervalMs: 1000,
      segmentBytes: 8192,
      ...options,
    },
    {
      onReleased: () => {},
      onRefusing: (isRefusing) => events.push(isRefusing ? 'refusing' : 'taking'),
      onFailed: () => events.push('failed'),
      onProgress: (each) => progress.push(each),
      onSnapshot: () => events.push('snapshot'),
      onCompacted: () => events.push('compacted'),
      onSnapshotFailed: () => events.push('snapshot failed'),
      onCompactionFailed: () => events.push('compaction failed'),
    },
  );
  const recording = history ? [new RecordingSink((each) => history.push(each))] : [];
  const engine = new EmbeddedEngine({
    partitionCount,
    clock,
    ...(memoryBytesMax === undefined ? {} : { memoryBytesMax }),
    queueCapacity: () => Number.POSITIVE_INFINITY,
    sinks: [...sinksBefore, persistence.log, ...recording],
  });
  // One promise for all turns: the test runner tracks each promise.
  const quiet = (): Promise<void> =>
    new Promise((resolve) => {
      const go = (): void => {
        clock.endTurn();
        const pumped = storage.pump?.() ?? false;
        setImmediate(() => (pumped || clock.endCount > 0 ? go() : resolve()));
      };
      go();
    });
  const pass = (ms: number): Promise<void> => {
    clock.advance(ms);
    return quiet();
  };
  const recovered = await until(
    persistence.begin().then(() => persistence.open(engine)),
    quiet,
  ).catch(async (error: unknown) => {
    await until(persistence.close(), quiet).catch(() => {});
    checkNoneOpen(storage);
    throw error;
  });
  await quiet();
  const ask = new AtOnce(engine);
  return { engine, ask, clock, persistence, recovered, events, progress, quiet, pass };
}

/** The persistence opened last on each storage. */
const latest = new WeakMap<object, Persistence>();

/** Checks the length of the log after each test, and that closing leaves no open handle. */
async function checkAtEnd(storage: Partial<Pumped>, subject: PersistentSubject): Promise<void> {
  const { persistence, quiet } = subject;
  if (storage.hasEnded || latest.get(storage) !== persistence) return;
  await quiet();
  checkLogBytes(storage, subject);
  await until(persistence.close(), quiet).catch(() => {});
  await quiet();
  checkNoneOpen(storage);
}

/** Checks that the length of the log's files is known, unless a call to the disk has failed. */
function checkLogBytes(
  { files, failure }: Partial<Pumped>,
  { persistence, recovered }: PersistentSubject,
): void {
  if (files === undefined || failure !== undefined || !persistence.log.isStarted) return;
  let bytes = 0;
  for (const [name, { length }] of files) {
    if (/^log-\d+$/.test(name) && !recovered.foreign.includes(name)) bytes += length;
  }
  assert.equal(persistence.logBytes, bytes, 'length of the files of the log');
}

/** Checks that no handle is left open and none was closed twice. */
export function checkNoneOpen({ openNames = [], closedTwice = [] }: Partial<Pumped>): void {
  assert.deepEqual(openNames, [], 'a handle was left open');
  assert.deepEqual(closedTwice, [], 'a handle was closed twice');
}

/** Returns a function for `until` that completes a call of each storage. */
export function pumping(...storages: readonly Pick<Pumped, 'pump'>[]): () => Promise<void> {
  return async () => {
    for (const storage of storages) storage.pump();
    await new Promise((resolve) => setImmediate(resolve));
  };
}

/** Returns the options of a repair or a forced start, which adds its findings to the list. */
export function maintenance<Storages extends object>(storages: Storages, findings: Finding[] = []) {
  return {
    ...storages,
    partitionCount: PARTITION_COUNT,
    now: () => 0,
    yieldToEventLoop: () => Promise.resolve(),
    onFinding: (finding: Finding) => void findings.push(finding),
  };
}

/** Returns the code of the error with which the promise is rejected; undefined if it is resolved. */
export function rejectionCode(promise: Promise<unknown>): Promise<string | undefined> {
  return promise.then(
    () => undefined,
    (error: { readonly code?: string }) => {
      if (error.code === undefined) throw error;
      return error.code;
    },
  );
}

/** Runs until the promise is settled. */
export async function until<Value>(
  promise: Promise<Value>,
  go: () => Promise<unknown>,
): Promise<Value> {
  let isSettled = false;
  const settled = promise.finally(() => {
    isSettled = true;
  });
  settled.catch(() => {});
  while (!isSettled) await go();
  return await settled;
}
