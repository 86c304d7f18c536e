/**
 * Maps of a member that runs in the process of a program: values of 100 bytes are read and set
 * synchronously and awaited, beside the engine itself.
 */

import { SystemClock } from '../src/base/clock.ts';
import { Span } from '../src/base/span.ts';
import { EmbeddedEngine } from '../src/engine/embedded/embedded-engine.ts';
import { FOREVER } from '../src/engine/engine.ts';
import { startMember } from '../src/index.ts';
import { type Bench, type Harness, median } from './harness.ts';

const VALUE_BYTES = 100;
const PARTITIONS = 271;

export const bench: Bench = {
  name: 'in-process',
  about: 'maps in the process of the program, without HTTP',
  async run(harness: Harness): Promise<void> {
    const keys = Array.from({ length: harness.pick(100, 100_000) }, (_, each) => `key-${each}`);
    const value = Buffer.alloc(VALUE_BYTES, 'v');
    const member = await startMember({ port: 0 });
    const map = member.map('bench');
    const engine = engineSides(keys, value);
    for (const key of keys) map.setSync(key, value);
    const rate = (run: (key: string) => unknown) => () => speed(harness, keys, run);
    const awaited = (run: (key: string) => Promise<unknown>) => async () => {
      const start = performance.now();
      for (const key of keys) await run(key);
      return (keys.length / (performance.now() - start)) * 1000;
    };
    try {
      await harness.compare('get', [
        { name: 'engine', round: rate(engine.get) },
        { name: 'getSync', round: rate((key) => map.getSync(key)) },
        { name: 'await get', round: awaited((key) => map.get(key)) },
      ]);
      await harness.compare('set', [
        { name: 'engine', round: rate(engine.set) },
        { name: 'setSync', round: rate((key) => map.setSync(key, value)) },
        { name: 'await set', round: awaited((key) => map.set(key, value)) },
      ]);
    } finally {
      await member.drain();
    }
  },
};

/** Calls of the engine itself, with bytes; its result is not copied. */
function engineSides(keys: readonly string[], value: Buffer) {
  const engine = new EmbeddedEngine({
    partitionCount: PARTITIONS,
    clock: new SystemClock(),
    queueCapacity: () => Number.POSITIVE_INFINITY,
  });
  const map = Span.of('bench');
  const none = Span.of('');
  const spans = new Map(keys.map((key) => [key, Span.of(key)]));
  const bytes = new Span().set(value, 0, value.length);
  const receiver = { onResult() {} };
  const get = (key: string) => engine.get(map, spans.get(key)!, receiver);
  const set = (key: string) =>
    engine.set(map, spans.get(key)!, bytes, none, FOREVER, undefined, receiver);
  for (const key of keys) set(key);
  return { get, set };
}

/** Operations per second over all keys: the median of five measurements. */
function speed(harness: Harness, keys: readonly string[], run: (key: string) => unknown): number {
  const rates = Array.from({ length: harness.pick(1, 5) }, () => {
    const start = performance.now();
    for (const key of keys) run(key);
    return (keys.length / (performance.now() - start)) * 1000;
  });
  return median(rates);
}
