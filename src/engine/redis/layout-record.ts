/**
 * The record of the layout, in the store: its format and the count of partitions. The first member that
 * opens the store writes it; each one compares it with its own, as keys would not be found otherwise.
 */
import { header } from './command-buffer.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Layout } from './layout.ts';
import { type Failure, Operation, type Work } from './operation.ts';
import { BULK, type Reply } from './reply.ts';
import { StoreUnusable } from './servers.ts';

/** Of layout.ts, and of the values. */
const FORMAT = 1;
const NAME = 'layout';
/** Sets what is not set, and tells what was. */
const SET = header(5, 'SET');
const IF_NEW = Buffer.from('NX');
const AND_GET = Buffer.from('GET');

/**
 * Writes or compares the record. Resolves with whether that could be done now. Rejects with StoreUnusable
 * where the store has another layout.
 */
export async function keepLayout(
  dispatcher: Dispatcher,
  layout: Layout,
  clusterName: string,
): Promise<boolean> {
  const { partitionCount } = layout;
  const own = JSON.stringify({ format: FORMAT, partitionCount });
  const told = await new Promise<string | null | Failure>((resolve) => {
    const step = new Operation(dispatcher, new LayoutStep(resolve), undefined);
    step.isRepeatable = true;
    // It comes before the member has a lease.
    step.changesData = false;
    // All of the cluster's own keys are in the slot of the first partition.
    const commands = dispatcher.begin(step, 0);
    if (commands === undefined) return;
    commands.begin(SET);
    commands.bytes(layout.clusterKey(NAME));
    commands.bytes(Buffer.from(own));
    commands.bytes(IF_NEW);
    commands.bytes(AND_GET);
    dispatcher.end(step);
  });
  if (typeof told === 'number') return false;
  if (told === null || told === own) return true;
  throw new StoreUnusable(
    `Cannot use the data of cluster "${clusterName}" in the store: ${differenceOf(told, partitionCount)}`,
  );
}

function differenceOf(told: string, partitionCount: number): string {
  const found = parsed(told);
  if (found === undefined) return `its layout is "${told.slice(0, 100)}", which is none`;
  if (found.format !== FORMAT) {
    return `its layout has format ${found.format}, and this version knows format ${FORMAT}`;
  }
  return `it has ${found.partitionCount} partitions, and this member is set to ${partitionCount}`;
}

function parsed(text: string): { readonly format?: unknown; partitionCount?: unknown } | undefined {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === 'object' && found !== null ? found : undefined;
  } catch {
    return undefined;
  }
}

class LayoutStep implements Work {
  readonly #onEnd: (told: string | null | Failure) => void;

  constructor(onEnd: (told: string | null | Failure) => void) {
    this.#onEnd = onEnd;
  }

  onResult(reply: Reply): void {
    this.#onEnd(reply.kind === BULK ? reply.text : null);
  }

  onFailed(failure: Failure): void {
    this.#onEnd(failure);
  }
}
