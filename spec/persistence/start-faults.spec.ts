/**
 * Covers src/persistence/log-takeover.ts and src/persistence/engine-recovery.ts. Seeded data
 * directories, of members that have stopped or were killed, and starts on them in which one write,
 * sync, rename or truncation fails: each of them once with ENOSPC, once with EIO, and together with
 * all later ones on a disk that remains full for a while. The member is used as far as possible, and
 * is stopped or killed. Then a start with enough space recovers all confirmed changes, and refuses
 * nothing. The soak has more directories and a smaller step between the calls.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { APPLIED } from '../../src/engine/engine.ts';
import type { SyncMode } from '../../src/persistence/write-ahead-log.ts';
import { type Call, type Failure, MemoryStorage } from '../world/memory-storage.ts';
import { type Files, storageOf } from './damaged-directory.ts';
import { changeAtRandom } from './random-changes.ts';
import { contentOf } from './stored-model.ts';
import { checkNoneOpen, openOnce, type PersistentSubject, until } from './subject.ts';

/** At least two: the starts of one may all end in the same way. */
const DIRECTORIES = Math.max(2, Number(process.env.SOAK_SIZE ?? 300) / 100);
const FIRST = Number(process.env.SOAK_SEED ?? 1);
const STEP = Number(process.env.SOAK_STEP ?? 9);
const FAILING: readonly Call[] = ['write', 'sync', 'rename', 'truncate'];
const FAULTS = [
  { code: 'ENOSPC', isLasting: false },
  { code: 'EIO', isLasting: false },
  { code: 'ENOSPC', isLasting: true },
] as const;
const CHANGES_MAX = 60;
const KEYS = 4;
/** Interval at which a start that waits for space retries, in ms. */
const RETRY_MS = 1000;

describe(`a start in which a write, sync, rename or truncation fails, from seed ${FIRST} on`, () => {
  for (const mode of ['always', 'interval', 'never'] as const) {
    it(`with sync ${mode} loses nothing that was confirmed, and the next start refuses nothing`, async () => {
      const report: FaultReport = { faults: 0, served: 0, written: 0 };
      for (let seed = FIRST; seed < FIRST + DIRECTORIES; seed++) {
        await faultRound(seed, mode, report);
      }
      const { faults, served, written } = report;
      assert.ok(faults > served && served > written && written > 0, JSON.stringify(report));
    });
  }
});

/** Counters of starts, which show whether the rounds reach the intended cases. */
interface FaultReport {
  /** Starts in which a call failed. */
  faults: number;
  /** Starts that served nevertheless, and those that accepted writes. */
  served: number;
  written: number;
}

interface Directory {
  readonly files: Files;
  readonly content: readonly string[];
}

/** Runs the starts. Only every `STEP`th call fails. */
async function faultRound(seed: number, mode: SyncMode, report: FaultReport): Promise<void> {
  const directory = await directoryOf(new Random(seed * 2654435761), mode);
  const { calls } = await start(directory, mode, seed, undefined);
  const places = calls.flatMap((call, at) => (FAILING.includes(call) ? [at + 1] : []));
  for (const fault of FAULTS) {
    for (let index = seed % STEP; index < places.length; index += STEP) {
      const at = places[index] as number;
      const name = `${mode}, seed ${seed}, call ${at} with ${fault.code}`;
      try {
        await faultyLife(directory, mode, seed, { at, of: FAILING, ...fault }, report);
      } catch (error) {
        throw new Error(`${name}${fault.isLasting ? ' from then on' : ''}`, { cause: error });
      }
    }
  }
}

async function directoryOf(random: Random, mode: SyncMode): Promise<Directory> {
  const storage = new MemoryStorage(random, 'boot');
  const snapshotBytesMin = random.below(2) === 0 ? 4096 : Number.POSITIVE_INFINITY;
  const options = { segmentBytes: 1024, snapshotBytesMin, sync: mode };
  const { ask, engine, persistence, clock, quiet } = await openOnce(storage, options);
  for (let count = random.below(CHANGES_MAX); count > 0; count--) {
    changeAtRandom(ask, random);
    await quiet();
  }
  if (random.below(2) === 0) clock.advance(1000);
  await quiet();
  if (random.below(3) === 0) await until(persistence.close(), quiet);
  return { files: storage.files, content: contentOf(engine) };
}

/** Starts on the files while calls may fail. */
async function start(
  { files }: Directory,
  mode: SyncMode,
  seed: number,
  failure: Failure | undefined,
) {
  const memory = storageOf(files, seed, seed % 2 === 0 ? 'boot' : 'next');
  memory.failure = failure;
  const opened = await openOnce(memory, { segmentBytes: 1024, sync: mode }).catch(
    (error: NodeJS.ErrnoException) => {
      assert.ok(failure !== undefined && error.code === failure.code, error);
      return undefined;
    },
  );
  return { memory, opened, calls: [...memory.calls] };
}

async function faultyLife(
  directory: Directory,
  mode: SyncMode,
  seed: number,
  failure: Failure,
  report: FaultReport,
): Promise<void> {
  report.faults++;
  const { memory, opened } = await start(directory, mode, seed, failure);
  const answered: string[] = [];
  const isStopped = failure.at % 2 === 0;
  if (opened !== undefined) {
    report.served++;
    assert.deepEqual(contentOf(opened.engine), directory.content, 'a start that serves lacks data');
    await write(opened, answered, 'early');
    if (failure.at % 3 > 0) {
      memory.failure = undefined;
      await opened.pass(RETRY_MS);
      await write(opened, answered, 'late');
    }
    if (isStopped) await until(opened.persistence.close(), opened.quiet).catch(() => {});
    await opened.quiet();
    if (isStopped) checkNoneOpen(memory);
  }
  if (answered.length > 0) report.written++;
  const after = memory.afterKill();
  const { engine, persistence, quiet } = await openOnce(after, { segmentBytes: 1024, sync: mode });
  const found = contentOf(engine);
  const isNew = (line: string): boolean => line.startsWith('m new/');
  assert.deepEqual(
    found.filter((line) => !isNew(line)),
    directory.content,
  );
  const there = new Set(found.filter(isNew).map((line) => line.split(' ', 2)[1]));
  for (const key of answered) assert.ok(there.has(`new/${key}`), `${key} is lost`);
  await until(persistence.close(), quiet);
}

/** Sets keys, and adds those that are confirmed. */
async function write(
  { ask, engine, persistence, quiet }: PersistentSubject,
  answered: string[],
  name: string,
): Promise<void> {
  for (let count = 0; count < KEYS; count++) {
    const key = `${name}-${count}`;
    const { outcome, partition, sequence } = ask.set('new', key, Buffer.alloc(100));
    await quiet();
    const isDelayed = engine.delays(partition, sequence) || persistence.log.delaysAll;
    if (outcome === APPLIED && !isDelayed) answered.push(key);
  }
}
