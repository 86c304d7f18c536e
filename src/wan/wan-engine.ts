/** The parts of the engine and the log that WAN replication needs. */
import type { StoredEngine } from '../engine/stored-engine.ts';

export type WanEngine = Pick<
  StoredEngine,
  'partitionCount' | 'delays' | 'merge' | 'observe' | 'now' | 'addSink' | 'removeSink' | 'visit'
>;

/** The log of WAN replication; a member's log has this interface. */
export interface WanLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}
