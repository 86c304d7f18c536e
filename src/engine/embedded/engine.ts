/**
 * The engine within the process: everything is in the member's own memory, outside the JavaScript
 * heap, and every operation but a take that waits is answered during the call. This file is the
 * contract's side of it; what it is made of:
 *
 *     Maps, Queues           what the operations do; each kind of mutation in one place
 *     Deliveries, Waiters    takes that wait
 *     Answers                answers, and how long the bytes they name stay
 *     NameTable              names of maps, queues and content types as numbers
 *     RecordStore            partitions: an index and a log of records each, in one pool of segments
 *     Cleaner, Sweeper       the space of dead records, and of cleared maps
 *
 * A map's entry is in the partition of its key, a queue in that of its name (see hash.ts).
 */
import type { Clock } from '../../base/clock.ts';
import type { Span } from '../../base/span.ts';
import {
  ABSENT,
  ANSWERED,
  APPLIED,
  type Engine,
  EVERY_PARTITION,
  MEMORY_FULL,
  NO_PARTITION,
  type Outcome,
  type QueueCapacity,
  type Receiver,
  UNAVAILABLE,
} from '../engine.ts';
import { type Answers, EmbeddedAnswer } from './answer.ts';
import { Parts } from './parts.ts';
import { NO_ITEM } from './queues.ts';

export interface EmbeddedEngineOptions {
  readonly partitionCount: number;
  readonly clock: Clock;
  readonly queueCapacity: QueueCapacity;
  /** Bytes of memory for what is stored; Infinity unless given. */
  readonly memoryBytesMax?: number;
  /** Eight bytes, for tests; random unless given. */
  readonly hashSeed?: Buffer;
}
