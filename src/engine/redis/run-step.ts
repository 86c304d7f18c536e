/**
 * Operations of one command each whose reply becomes a value. They are rare, so each is made anew;
 * the frequent ones have works of their own. Tested by redis-engine.spec.ts.
 */
import type { CommandBuffer, header } from './command-buffer.ts';
import type { Dispatcher } from './dispatcher.ts';
import { type Failure, UNCONFIRMED } from './failure.ts';
import { Operation } from './operation.ts';
import { ARRAY, BULK, INTEGER, kindSet, type Reply } from './reply.ts';

export type Traits = Partial<
  Pick<
    Operation,
    | 'isChange'
    | 'isRepeatable'
    | 'changesData'
    | 'isReplicated'
    | 'replicaCount'
    | 'era'
    | 'isSequel'
  >
>;

/** How the reply is read. */
export interface Reading<Value> {
  readonly replyKinds: number;
  read(reply: Reply, operation: Operation<undefined>): Value;
}

export const NUMBER: Reading<number> = {
  replyKinds: kindSet(INTEGER),
  read: ({ integer }) => integer,
};

export const STRINGS: Reading<readonly Buffer[]> = {
  replyKinds: kindSet(ARRAY),
  read: (reply) => {
    const strings: Buffer[] = [];
    while (reply.next().kind === BULK) strings.push(reply.bytes.toBuffer());
    return strings;
  },
};

/** The traits of a read. */
export const READ: Traits = { isChange: false, isRepeatable: true };
/** The traits of a change that no reader can see. */
export const UPKEEP: Traits = { isRepeatable: true, changesData: false };

interface Step<Value> {
  readonly partition: number;
  /** See Operation. */
  readonly traits: Traits;
  readonly reading: Reading<Value>;
  /** Writes the command. Not called if the step has failed at once. */
  write(commands: CommandBuffer): void;
  /** Called when the replicas have the change. */
  onDone(value: Value): void;
  onFailed(failure: Failure, operation: Operation<undefined>): void;
}

/** Sends a command. Resolves with its reply, or undefined if it fails. */
export function commandStep<Value>(
  dispatcher: Dispatcher,
  partition: number,
  traits: Traits,
  reading: Reading<Value>,
  command: ReturnType<typeof header>,
  words: readonly Buffer[],
): Promise<Value | undefined> {
  return new Promise((resolve) => {
    runStep<Value>(dispatcher, {
      partition,
      traits,
      reading,
      write: (commands) => {
        commands.begin(command);
        for (const word of words) commands.bytes(word);
      },
      onDone: resolve,
      onFailed: () => resolve(undefined),
    });
  });
}

/** Returns false if the step has failed at once. */
export function runStep<Value>(dispatcher: Dispatcher, step: Step<Value>): boolean {
  const { replyKinds, read } = step.reading;
  let value: Value;
  const work = {
    replyKinds,
    onResult(reply: Reply, operation: Operation<undefined>) {
      value = read(reply, operation);
      if (operation.group === undefined) step.onDone(value);
    },
    onConfirmed: () => step.onDone(value),
    onUnconfirmed: (operation: Operation<undefined>) => step.onFailed(UNCONFIRMED, operation),
    onFailed: (failure: Failure, operation: Operation<undefined>) =>
      step.onFailed(failure, operation),
  };
  const operation = Object.assign(new Operation(dispatcher, work, undefined), step.traits);
  const commands = dispatcher.begin(operation, step.partition);
  if (commands === undefined) return false;
  step.write(commands);
  dispatcher.end(operation);
  return true;
}
