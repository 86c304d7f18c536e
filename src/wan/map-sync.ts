/**
 * One synchronisation. It sends the entries of maps to a publisher's target: all of them, or only
 * those that differ for maps that could be compared. It ends when the target has acknowledged every
 * partition. It fails if nothing is acknowledged for the response timeout, or if the target's data
 * set changes. Tested by sync.spec.ts.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { NO_BYTES, type Span } from '../base/span.ts';
import type { Mutation } from '../engine/mutation.ts';
import type { Version } from '../engine/version.ts';
import type { WanPublisher } from './publisher.ts';
import type { SyncReading } from './sync-lanes.ts';
import type { Differences } from './tree-comparison.ts';
import type { WanTask } from './wan-task.ts';

interface SyncParts {
  readonly publisher: WanPublisher;
  readonly clock: Clock;
  readonly partitionCount: number;
  /** The only map to send; undefined for every map that refers to the replication. */
  readonly map: Buffer | undefined;
  /** Differences by map name (latin1). For other maps everything is sent. */
  readonly differences: ReadonlyMap<string, Differences>;
  /** The target's data set, which must not change. */
  readonly dataSet: Uint8Array | undefined;
  /** The version at which the synchronisation began. */
  readonly began: Version;
  /** Gets the progress. */
  readonly task: WanTask;
}

export class MapSync implements SyncReading {
  readonly #parts: SyncParts;
  #doneCount = 0;
  /** Time of the last acknowledgement, or at which none was outstanding. */
  #progressMs = 0;
  #timer: Timer | undefined;
  #end: (failure: string | undefined) => void = () => {};
  /** The map of the last entry, and its differences. */
  #lastMap: Buffer = NO_BYTES;
  #lastDifferences: Differences | undefined;

  constructor(parts: SyncParts) {
    this.#parts = parts;
  }

  get began(): Version {
    return this.#parts.began;
  }

  /** Runs the synchronisation. Rejects with an Error whose message is the reason of the failure. */
  async run(): Promise<void> {
    const { publisher, clock, dataSet } = this.#parts;
    const failure = await new Promise<string | undefined>((resolve) => {
      this.#end = resolve;
      this.#progressMs = clock.now();
      const current = publisher.targetDataSet;
      if (dataSet === undefined || current === undefined || !current.equals(dataSet)) {
        return resolve(NEW_DATA_SET);
      }
      this.#watch();
      publisher.beginSync(this, () => resolve(NEW_DATA_SET));
    });
    this.#timer?.cancel();
    publisher.endSync();
    if (failure !== undefined) throw new Error(failure);
  }

  get publisher(): WanPublisher {
    return this.#parts.publisher;
  }

  cancel(reason: string): void {
    this.#end(reason);
  }

  policyOf({ name, key, partition }: Mutation): number {
    const { map, publisher } = this.#parts;
    if (map !== undefined && !name.is(map)) return -1;
    const ref = publisher.refOf(name);
    if (ref === undefined || !ref.accepts(key)) return -1;
    const differences = this.#differencesOf(name);
    return differences === undefined || differences.has(partition, key) ? ref.policy : -1;
  }

  onPartition(): void {
    const { partitionCount, task } = this.#parts;
    task.advance(++this.#doneCount);
    if (this.#doneCount === partitionCount) this.#end(undefined);
  }

  onAcknowledged(): void {
    this.#parts.task.begin();
    this.onIdle();
  }

  onNotTaken(count: number): void {
    this.#parts.task.notTakenCount += count;
  }

  onIdle(): void {
    this.#progressMs = this.#parts.clock.now();
  }

  #watch(): void {
    const { publisher, clock } = this.#parts;
    const { responseTimeoutMs } = publisher.options;
    const leftMs = this.#progressMs + responseTimeoutMs - clock.now();
    if (leftMs <= 0) {
      const failure = `nothing was acknowledged for ${responseTimeoutMs} ms`;
      return this.#end(failure + publisher.errorSuffix);
    }
    this.#timer = clock.after(Math.ceil(leftMs), () => this.#watch());
  }

  #differencesOf(name: Span): Differences | undefined {
    const { differences } = this.#parts;
    if (differences.size === 0) return undefined;
    if (!name.is(this.#lastMap)) {
      this.#lastMap = name.toBuffer();
      this.#lastDifferences = differences.get(this.#lastMap.toString('latin1'));
    }
    return this.#lastDifferences;
  }
}

const NEW_DATA_SET = 'the data set of the target has changed: it lacks the entries sent before';
