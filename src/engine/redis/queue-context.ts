/**
 * Context of all operations on queues, and functions that write the keys of their scripts.
 * Tested by redis-engine.spec.ts.
 */
import type { Span } from '../../base/span.ts';
import type { Receiver } from '../engine.ts';
import type { CommandBuffer } from './command-buffer.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Failure } from './failure.ts';
import { HELD, ITEMS, type Layout, MARKS, QUEUE, RETURNED, WAITING, WAKE_UPS } from './layout.ts';
import type { LocalQueue } from './local-queues.ts';
import type { Results } from './redis-result.ts';

export interface QueueContext {
  readonly dispatcher: Dispatcher;
  readonly layout: Layout;
  readonly results: Results;
  /** The name of this engine in channels and in the set of waiting members. */
  readonly listener: Buffer;
  /** Notifies the receiver that the operation has no result. */
  fail(receiver: Receiver, failure: Failure): void;
}

/** Writes the keys of the items and of the returned items. */
export function writeItems(commands: CommandBuffer, layout: Layout, queue: LocalQueue): void {
  commands.pair(layout.prefix(ITEMS, queue.partition), queue.span);
  commands.pair(layout.prefix(RETURNED, queue.partition), queue.span);
}

export function writeReturned(commands: CommandBuffer, layout: Layout, queue: LocalQueue): void {
  commands.pair(layout.prefix(RETURNED, queue.partition), queue.span);
}

export function writeNumbers(commands: CommandBuffer, layout: Layout, queue: LocalQueue): void {
  commands.pair(layout.prefix(QUEUE, queue.partition), queue.span);
}

export function writeWaiting(commands: CommandBuffer, layout: Layout, queue: LocalQueue): void {
  commands.pair(layout.prefix(WAITING, queue.partition), queue.span);
}

/** Writes the keys of a member incarnation's held items and marks in the partition. */
export function writeHolds(
  commands: CommandBuffer,
  layout: Layout,
  partition: number,
  incarnation: Buffer,
): void {
  writeHeld(commands, layout, partition, incarnation);
  writeMarks(commands, layout, partition, incarnation);
}

export function writeHeld(
  commands: CommandBuffer,
  layout: Layout,
  partition: number,
  incarnation: Buffer,
): void {
  writeBoth(commands, layout.prefix(HELD, partition), incarnation);
}

export function writeMarks(
  commands: CommandBuffer,
  layout: Layout,
  partition: number,
  incarnation: Buffer,
): void {
  writeBoth(commands, layout.prefix(MARKS, partition), incarnation);
}

/** Returns the prefix of the partition's channels; the listener follows it. */
export function channelsOf(layout: Layout, partition: number): Span {
  return layout.prefix(WAKE_UPS, partition);
}

function writeBoth(commands: CommandBuffer, first: Span, second: Buffer): void {
  commands.open(first.length + second.length);
  commands.part(first.bytes, first.start, first.end, first.view);
  commands.part(second, 0, second.length);
  commands.close();
}
