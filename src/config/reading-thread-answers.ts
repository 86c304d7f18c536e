/**
 * What the thread of reading-thread.ts does: loads a configuration and hands it over piece by piece,
 * the next one whenever it is asked.
 */
import assert from 'node:assert';
import { parentPort, workerData } from 'node:worker_threads';
import { ConfigFault } from './config-fault.ts';
import { type ConfigRequest, loadConfig } from './load.ts';
import { type Piece, piecesOf } from './loaded-pieces.ts';

/** What was asked for; or what is wrong with it, a line each; or why there is no answer. */
export type Told =
  | { readonly piece: Piece }
  | { readonly problems: readonly string[] }
  | { readonly failure: unknown };

/** Answers who made this thread, until that ends it. */
export function answerReadings(): void {
  assert(parentPort !== null, 'a thread');
  const port = parentPort;
  // Of many errors, most are never told, and none by its stack.
  Error.stackTraceLimit = 0;
  const pieces = handOver(workerData as ConfigRequest);
  port.on('message', async () => {
    const { value } = await pieces.next();
    port.postMessage(value);
  });
}

async function* handOver(request: ConfigRequest): AsyncGenerator<Told, Told> {
  try {
    for (const piece of piecesOf(await loadConfig(request, false))) yield { piece };
    return { failure: 'it has ended' };
  } catch (error) {
    return error instanceof ConfigFault ? { problems: error.problems } : { failure: error };
  }
}
