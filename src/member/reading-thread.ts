/**
 * Loads a configuration on a separate thread, for a member that serves meanwhile: a text of a
 * mebibyte takes a second to read, and longer if it is malicious. Each reading has its own thread,
 * which is terminated if the reading takes too much time or memory. The result is received in
 * pieces, one in each turn of the event loop. Tested by config/bounds.spec.ts.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { ConfigFault, configFault } from '../config/finding.ts';
import type { ConfigRequest, LoadedConfig } from './load.ts';
import { LoadedPieces } from './loaded-pieces.ts';
import type { ThreadMessage } from './reading-thread-worker.ts';

/** Limits of a reading; the most expensive known text of a mebibyte needs a fifth of them. */
const BOUNDS = { timeMs: 60_000, memoryMb: 1024 };

/**
 * The thread's program: a file next to this one, or next to the bundle that contains this one.
 * `make test` has built the bundle, whose program starts faster than the sources.
 */
const isFromSource = import.meta.url.endsWith('.ts');
const isSource = isFromSource && process.env.SPEC_PROGRAM !== 'built';
const BUNDLE = isFromSource ? join(import.meta.dirname, '../../dist/bin') : import.meta.dirname;
const PROGRAM = isSource
  ? join(import.meta.dirname, 'reading-thread-program.ts')
  : join(BUNDLE, 'reading-thread-program.js');

/** Loads like loadConfig; the result lacks `structured` and the sources of maps and queues. */
export async function loadInThread(
  request: ConfigRequest,
  { timeMs, memoryMb } = BOUNDS,
): Promise<LoadedConfig> {
  // Start in the next turn: decoding a long text has used enough of this one.
  await new Promise(setImmediate);
  const thread = new Worker(isSource ? sourceProgram() : PROGRAM, {
    workerData: { ...request, onProgress: undefined, environment: { ...request.environment } },
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    execArgv: [],
    eval: isSource,
  });
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise((resolve, reject) => {
      const fail = (reason: string): void => {
        reject(configFault(`Cannot read the configuration: ${reason}`));
      };
      timer = setTimeout(fail, timeMs, `it takes more than ${timeMs / 1000} s`);
      const pieces = new LoadedPieces();
      thread.on('message', (message: ThreadMessage) => {
        if ('findings' in message) return reject(new ConfigFault(message.findings));
        if ('failure' in message) return reject(message.failure);
        const loaded = pieces.take(message.piece);
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

/**
 * Returns a program that loads the sources: TypeScript needs the loader of the specs, which a
 * thread does not inherit.
 */
function sourceProgram(): string {
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const program = JSON.stringify(pathToFileURL(PROGRAM));
  return `import(${loader}).then(({ register }) => { register(); return import(${program}); });`;
}
