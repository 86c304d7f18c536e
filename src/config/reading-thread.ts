/**
 * Loads a configuration on a thread of its own, for a member that serves meanwhile: a text of a
 * mebibyte takes a second to read, and more where somebody means harm. The thread ends with each
 * reading, and where that takes too long or too much memory, before. What comes back is taken in
 * pieces, a turn of the event loop for each.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { ConfigFault } from './config-fault.ts';
import type { ConfigRequest, LoadedConfig } from './load.ts';
import { LoadedPieces } from './loaded-pieces.ts';
import type { Told } from './reading-thread-answers.ts';

/** What a reading may take; the dearest text of a mebibyte that is known needs a fifth of it. */
const BOUNDS = { timeMs: 60_000, memoryMb: 1024 };

/** The thread's program lies beside this file, or beside the bundle that this file is in. */
const isSource = import.meta.url.endsWith('.ts');
const PROGRAM = join(import.meta.dirname, `reading-thread-program.${isSource ? 'ts' : 'js'}`);

/** As loadConfig, of whose result `structured` and the sources of maps and queues are left out. */
export async function loadInThread(
  request: ConfigRequest,
  { timeMs, memoryMb } = BOUNDS,
): Promise<LoadedConfig> {
  // The turn in which a long text was decoded has done enough.
  await new Promise(setImmediate);
  const thread = new Worker(isSource ? sourceProgram() : PROGRAM, {
    workerData: { ...request, environment: { ...request.environment } },
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    execArgv: [],
    eval: isSource,
  });
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise((resolve, reject) => {
      const fail = (reason: string): void => {
        reject(new ConfigFault([`Cannot read the configuration: ${reason}`]));
      };
      timer = setTimeout(fail, timeMs, `it takes more than ${timeMs / 1000} s`);
      const pieces = new LoadedPieces();
      thread.on('message', (told: Told) => {
        if ('problems' in told) return reject(new ConfigFault(told.problems));
        if ('failure' in told) return reject(told.failure);
        const loaded = pieces.take(told.piece);
        if (loaded === undefined) thread.postMessage('next');
        else resolve(loaded);
      });
      thread.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') reject(error);
        else fail(`it takes more than ${memoryMb} MiB of memory`);
      });
      thread.on('exit', () => fail('its thread has ended'));
      thread.postMessage('next');
    });
  } finally {
    clearTimeout(timer);
    void thread.terminate();
  }
}

/** TypeScript needs the loader of the specs, which a thread does not have of itself. */
function sourceProgram(): string {
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const program = JSON.stringify(pathToFileURL(PROGRAM));
  return `import(${loader}).then(({ register }) => { register(); return import(${program}); });`;
}
