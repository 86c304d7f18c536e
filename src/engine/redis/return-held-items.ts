/**
 * Returns held items that no take will use: those held by a member that was removed, and those of
 * this member whose take is over, as a command on a lost connection may have been executed after
 * its take was abandoned. Works partition by partition; each item returns to its old position.
 * Everything is repeatable. Tested by redis-membership-store.spec.ts.
 */
import { header } from './command-buffer.ts';
import { LocalQueue, type QueueSettings } from './local-queues.ts';
import { type QueueContext, writeHeld, writeMarks } from './queue-context.ts';
import { HOLD_DIGITS, PUT_OUT } from './queue-scripts.ts';
import { runStep, STRINGS } from './run-step.ts';
import { ItemReturn } from './take-operations.ts';

/** Maximum number of partitions that are processed at the same time. */
const PARTITIONS_AT_ONCE = 32;
const HKEYS = header(2, 'HKEYS');

interface ReturnedOptions {
  readonly context: QueueContext;
  readonly settings: QueueSettings;
  /** The member incarnation whose items are returned. */
  readonly incarnation: Buffer;
  /**
   * Seconds for which the marks of a removed member are retained; from this call on nothing can be
   * held for it. Undefined for a current member.
   */
  readonly outSeconds: number | undefined;
  /**
   * Returns the holds of current takes, whose items are not returned. Called after the store has
   * listed the holds.
   */
  currentHolds(): ReadonlySet<string>;
}

/** Resolves with the number of items returned; rejects if the return of some is uncertain. */
export async function returnHeld(options: ReturnedOptions): Promise<number> {
  const { partitionCount } = options.context.layout;
  let next = 0;
  let count = 0;
  const work = async (): Promise<void> => {
    while (next < partitionCount) {
      const returned = await returnOf(options, next++);
      count += returned;
    }
  };
  await Promise.all(Array.from({ length: PARTITIONS_AT_ONCE }, work));
  return count;
}

async function returnOf(options: ReturnedOptions, partition: number): Promise<number> {
  const fields = await heldFields(options, partition);
  let count = 0;
  for (const field of fields) {
    const queue = new LocalQueue(field.subarray(HOLD_DIGITS), partition, options.settings);
    if (await itemReturn(options, queue, holdOf(field))) count++;
  }
  return count;
}

function itemReturn(
  { context, incarnation }: ReturnedOptions,
  queue: LocalQueue,
  hold: string,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const observer = {
      onReturned: (_: ItemReturn, isReturned: boolean) => resolve(isReturned),
      onReturnFailed: () =>
        reject(new Error(`Cannot return an item of partition ${queue.partition}`)),
    };
    new ItemReturn(context, observer, queue, incarnation, hold, undefined, undefined).send();
  });
}

/** Resolves with the fields of the held items in the partition that no current take uses. */
function heldFields(
  { context, incarnation, outSeconds, currentHolds }: ReturnedOptions,
  partition: number,
): Promise<readonly Buffer[]> {
  const { dispatcher, layout } = context;
  return new Promise((resolve, reject) => {
    runStep(dispatcher, {
      partition,
      traits: { isRepeatable: true },
      reading: STRINGS,
      write(commands) {
        commands.begin(outSeconds === undefined ? HKEYS : PUT_OUT.header);
        writeHeld(commands, layout, partition, incarnation);
        if (outSeconds === undefined) return;
        writeMarks(commands, layout, partition, incarnation);
        commands.number(outSeconds);
      },
      onDone(fields) {
        if (fields.length === 0) return resolve(fields);
        const current = currentHolds();
        resolve(fields.filter((field) => !current.has(holdOf(field))));
      },
      onFailed: () => reject(new Error(`Cannot read the held items of partition ${partition}`)),
    });
  });
}

function holdOf(field: Buffer): string {
  return field.toString('latin1', 0, HOLD_DIGITS);
}
