/**
 * Recovers the engine of a member. The event loop runs between slices, and progress is reported
 * every second. Tested by recovery.spec.ts.
 */
import type { Clock } from '../base/clock.ts';
import { collectGarbage } from '../base/collect-garbage.ts';
import type { DurableQueues } from '../engine/durable-queues.ts';
import type { StoredEngine } from '../engine/stored-engine.ts';
import { QueueRestore } from './queue-restore.ts';
import { type Recovered, Recovery, type RecoveryProgress } from './recovery.ts';
import type { Storage } from './storage.ts';

/** Interval between two progress reports, in ms. */
const PROGRESS_MS = 1000;
/** Number of bytes read from which the garbage of recovery is collected at once. */
const GARBAGE_BYTES_MIN = 4_194_304;

interface EngineRecoveryOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly partitionCount: number;
  readonly readBytesMax?: number;
}

interface RecoveryObserver {
  /** Called before each yield to the event loop. An exception ends the recovery. */
  onSlice(): void;
  /** Called every second. */
  onProgress(progress: RecoveryProgress): void;
}

/** Fills the engine, and the queues if there are any. Rejects as Recovery.run does. */
export async function recoverEngine(
  { storage, clock, partitionCount, readBytesMax }: EngineRecoveryOptions,
  engine: StoredEngine,
  queues: DurableQueues | undefined,
  { onSlice, onProgress }: RecoveryObserver,
): Promise<Recovered> {
  let reportedMs = clock.now();
  const hasQueues = queues !== undefined && queues.queues().length > 0;
  const recovery = new Recovery({
    storage,
    engine,
    partitionCount,
    ...(readBytesMax === undefined ? {} : { aheadBytesMax: readBytesMax }),
    ...(hasQueues ? { queues: new QueueRestore(storage, partitionCount, queues) } : {}),
    now: () => clock.now(),
    yieldToEventLoop: async () => {
      onSlice();
      await new Promise<void>((resolve) => clock.endOfTurn(resolve));
    },
    onProgress: (progress) => {
      if (clock.now() - reportedMs < PROGRESS_MS) return;
      reportedMs = clock.now();
      onProgress(progress);
    },
  });
  const recovered = await recovery.run();
  if (recovered.bytes > GARBAGE_BYTES_MIN) collectGarbage();
  return recovered;
}
