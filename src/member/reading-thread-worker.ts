/**
 * The work of the thread of reading-thread.ts: it loads a configuration and sends it in pieces, one
 * for each request. Tested by config/bounds.spec.ts.
 */
import assert from 'node:assert';
import { parentPort, workerData } from 'node:worker_threads';
import { ConfigFault, type Finding } from '../config/finding.ts';
import { type ConfigRequest, loadConfig } from './load.ts';
import { type Piece, piecesOf } from './loaded-pieces.ts';

/** The next piece, the findings of an invalid configuration, or the failure of the thread. */
export type ThreadMessage =
  | { readonly piece: Piece }
  | { readonly findings: readonly Finding[] }
  | { readonly failure: unknown };

/** Serves the requests of the thread that started this one, until that thread ends it. */
export function answerReadings(): void {
  assert(parentPort !== null, 'a thread');
  const port = parentPort;
  // A file may cause many errors; most are not reported, and stacks never are.
  Error.stackTraceLimit = 0;
  const pieces = handOver(workerData as ConfigRequest);
  port.on('message', async () => {
    const { value } = await pieces.next();
    port.postMessage(value);
  });
}

async function* handOver(request: ConfigRequest): AsyncGenerator<ThreadMessage, ThreadMessage> {
  try {
    for (const piece of piecesOf(await loadConfig(request, false))) yield { piece };
    return { failure: 'it has ended' };
  } catch (error) {
    return error instanceof ConfigFault ? { findings: error.findings } : { failure: error };
  }
}
