/** The part of StoredEngine (../engine/stored-engine.ts) that WAN replication needs. */
import type { Receiver } from '../engine/engine.ts';
import type { MergePolicy } from '../engine/merge-policy.ts';
import type { Mutation } from '../engine/mutation.ts';
import type { MutationSink } from '../engine/mutation-sink.ts';
import type { StoredVisitor, VisitCursor } from '../engine/stored-engine.ts';
import type { Version } from '../engine/version.ts';

export interface WanEngine {
  readonly partitionCount: number;
  delays(partition: number, sequence: number): boolean;
  /** Calls the receiver during the call. */
  merge(change: Mutation, policy: MergePolicy, receiver: Receiver, syncBegan?: Version): void;
  observe(version: Version): void;
  now(version: Version): void;
  addSink(sink: MutationSink): void;
  removeSink(sink: MutationSink): void;
  visit(partition: number, cursor: VisitCursor, budget: number, visitor: StoredVisitor): boolean;
}

/** The log of WAN replication; a member's log has this interface. */
export interface WanLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}
