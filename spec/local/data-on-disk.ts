/** The maps and queues of a program on an engine whose disk syncs on command. */
import type { Waiter } from '../../src/cluster/cluster.ts';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import { ADMITTED, type MutationSink } from '../../src/engine/mutation-sink.ts';
import { GridMap } from '../../src/local/grid-map.ts';
import { GridQueue } from '../../src/local/grid-queue.ts';
import { LocalData } from '../../src/local/local-data.ts';
import { LocalResults } from '../../src/local/local-results.ts';
import { AS_BYTES } from '../../src/local/local-values.ts';
import { PlainBytes } from '../../src/local/plain-bytes.ts';
import { FakeClock } from '../fake-clock.ts';

/** Maps and queues on an engine whose disk syncs on command. */
export function onDisk(capacity = 10) {
  let isDurable = false;
  const sink: MutationSink = {
    admit: () => ADMITTED,
    abandon() {},
    record() {
      isDurable = false;
    },
    durable: () => (isDurable ? Number.POSITIVE_INFINITY : 0),
  };
  const clock = new FakeClock();
  const engine = new EmbeddedEngine({
    ...{ partitionCount: 3, clock, sinks: [sink] },
    queueCapacity: () => capacity,
  });
  const delay = {
    delaysAll: false,
    delays: (partition: number, sequence: number) => engine.delays(partition, sequence),
    sequences: () => engine.sequences(),
  };
  const answers = new LocalResults(delay);
  const waiting = new Set<Waiter>();
  const data = new LocalData({
    ...{ engine, clock, stored: engine, answers },
    ...{ cluster: { acceptsWrites: true, isCutOff: false }, waiting },
    lifetimes: { of: () => ({ timeToLiveMs: 0, maxIdleSeconds: 0 }) },
  });
  const name = new PlainBytes('name', 10).of('n');
  const sync = () => {
    isDurable = true;
    answers.release();
  };
  const map = new GridMap(data, name, AS_BYTES);
  const queue = new GridQueue(data, name);
  return { answers, delay, sync, clock, data, waiting, engine, map, queue };
}

/** Returns the current state of promises: `delayed`, or the values they settled with. */
export async function seen(...promises: readonly Promise<unknown>[]): Promise<unknown[]> {
  const settled = promises.map((promise) =>
    promise.then(
      (value) => (value as { value?: Buffer })?.value?.toString() ?? value,
      (error) => error.code ?? error.message,
    ),
  );
  await new Promise((resolve) => setImmediate(resolve));
  return Promise.all(settled.map((each) => Promise.race([each, Promise.resolve('delayed')])));
}
