/** The parts of the server that connections and the slots of their requests see. */
import type { Clock } from '../base/clock.ts';
import type { Application } from './application.ts';
import type { Connection } from './connection.ts';
import type { OutboxHost } from './outbox.ts';
import type { Request } from './request.ts';
import type { SlotPool } from './slot-pool.ts';
import type { TimeSource } from './time-limits.ts';
import type { Turns } from './turns.ts';

/** `request` is undefined for bytes that are not a request; `reason` is that of a refusal, or empty. */
export type Observer = (status: number, request: Request | undefined, reason: string) => void;

export interface ConnectionHost extends OutboxHost, TimeSource {
  readonly application: Application;
  readonly clock: Clock;
  readonly slots: SlotPool;
  /** Connections that let others run first. */
  readonly turns: Turns;
  /** The buffer that all connections read into. */
  readonly readBuffer: Buffer;
  /** Whether the server has stopped accepting and ends its connections. */
  readonly isDraining: boolean;
  /** Whether it has drained for so long that an answer is the last although more has come. */
  readonly isDrainOver: boolean;
  /** Called with each answer, for logs. */
  readonly observe: Observer | undefined;
  /** Called with each fault of the member. */
  readonly onFailure: (error: unknown) => void;
  /** Reads the time; called at the beginning of a turn's work. */
  tick(): void;
  /** The connection has responses that are held back: it is called at the next release. */
  addHeld(connection: Connection): void;
  /** The connection continues at the end of the turn, however often this is called. */
  wake(connection: Connection): void;
  /** The connection's socket is closed. */
  onConnectionClosed(connection: Connection): void;
}
