/**
 * Measures reads of an engine before and after a buffer of the process has been detached, as
 * growing the memory of a WebAssembly module does: from then on V8 checks at each access to a typed
 * array whether its buffer is detached (src/http/llhttp.ts, src/engine/embedded/release-memory.ts).
 * Each round runs in its own process; only that process's processor time counts.
 */
import { SystemClock } from '../src/base/clock.ts';
import { Span } from '../src/base/span.ts';
import { EmbeddedEngine } from '../src/engine/embedded/embedded-engine.ts';
import { FOREVER } from '../src/engine/engine.ts';
import type { Bench, Harness } from './harness.ts';
import { apart } from './load/apart.ts';

const PARTITIONS = 271;
const KEYS = 10_000;
const VALUE_BYTES = 100;

interface Work {
  readonly reads: number;
  readonly isDetached: boolean;
}

const readApart = apart(import.meta.url, read);

export const bench: Bench = {
  name: 'detached-buffer',
  about: 'reads of an engine in a process without and with a detached buffer',
  async run(harness: Harness): Promise<void> {
    const reads = harness.pick(2000, 5_000_000);
    const side = (name: string, isDetached: boolean) => ({
      name,
      round: () => readApart({ reads, isDetached }),
    });
    await harness.compare('reads', [side('none detached', false), side('one detached', true)]);
  },
};

/** Resolves with the number of reads per second of processor time. */
async function read({ reads, isDetached }: Work): Promise<number> {
  const engine = new EmbeddedEngine({
    partitionCount: PARTITIONS,
    clock: new SystemClock(),
    queueCapacity: () => Number.POSITIVE_INFINITY,
  });
  const receiver = { onResult: () => {} };
  const map = Span.of('map');
  const none = new Span();
  const keys = Array.from({ length: KEYS }, (_, number) => Span.of(`key ${number}`));
  const value = Span.of('v'.repeat(VALUE_BYTES));
  for (const key of keys) engine.set(map, key, value, none, FOREVER, undefined, receiver);
  if (isDetached) detach();
  const used = process.cpuUsage();
  for (let at = 0; at < reads; at++) engine.get(map, keys[at % KEYS] as Span, receiver);
  const { user, system } = process.cpuUsage(used);
  engine.close();
  return (reads / (user + system)) * 1e6;
}

function detach(): void {
  const buffer = new ArrayBuffer(65_536);
  structuredClone(buffer, { transfer: [buffer] });
}
