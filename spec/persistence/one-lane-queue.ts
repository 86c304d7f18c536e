/** A queue of waiting changes that has one lane with these bytes, written once. */
import type { DurableQueue, DurableQueues } from '../../src/engine/durable-queues.ts';

export function oneLaneQueue(lane: Buffer): DurableQueues {
  let isDone = false;
  const content = {
    partitions: [0],
    bytesNeeded: 0,
    get isDone() {
      return isDone;
    },
    copy({ bytes }: { readonly bytes: Buffer }, at: number) {
      isDone = true;
      return at + lane.copy(bytes, at);
    },
  };
  const queue = { name: 'q', laneCount: 1, bytes: lane.length, cut: () => content };
  const queues = () => [queue as unknown as DurableQueue];
  return { queues, watch() {}, onMarksLost() {}, onMarksFailed() {} };
}
