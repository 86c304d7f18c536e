/** The part of the server that connections use. */
import type { Clock } from '../base/clock.ts';
import type { FairScheduler } from './fair-scheduler.ts';
import type { ServedHosts } from './served-hosts.ts';
import type { SlotHost } from './slot-host.ts';
import type { SlotPool } from './slot-pool.ts';
import type { TimeSource } from './time-limits.ts';
import type { Unacknowledged } from './unacknowledged.ts';

/** The part of a connection that its server uses. */
interface HostedConnection {
  /** Set by the server: whether it will call `release` when more responses may be sent. */
  isDelayed: boolean;
  /** Set by the server: whether it will call `release` at the end of the turn. */
  isWoken: boolean;
}

export interface ConnectionHost extends SlotHost, TimeSource {
  readonly clock: Clock;
  readonly slots: SlotPool;
  /** The served hosts; undefined for all. */
  readonly servedHosts: ServedHosts | undefined;
  /** Schedules the connections that let others run first. */
  readonly scheduler: FairScheduler;
  /**
   * Whether the server has drained for LAST_REQUEST_MS. From then on a response is the last even if more
   * input has been received since the stop.
   */
  readonly isDrainOver: boolean;
  /**
   * Maximum number of bytes of a connection that can have been received and unread when the server
   * was stopped.
   */
  readonly receiveBufferBytesMax: number;
  /** The bytes that clients have not acknowledged; queried while the server drains. */
  readonly unacknowledged: Unacknowledged;
  /** The buffer that all connections read into. */
  readonly readBuffer: Buffer;
  /** Updates `nowMs`; called when the work of a turn begins. */
  tick(): void;
  /** Registers a connection with delayed responses, to be called at the next release. */
  addDelayed(connection: HostedConnection): void;
  /** Lets the connection continue at the end of the turn, once however often this is called. */
  wake(connection: HostedConnection): void;
  /** Called when the connection's socket is closed. */
  onConnectionClosed(connection: HostedConnection): void;
}
