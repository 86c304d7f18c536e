/** The parts of the server that connections see. */
import type { Clock } from '../base/clock.ts';
import type { FairScheduler } from './fair-scheduler.ts';
import type { ServedHosts } from './served-hosts.ts';
import type { SlotHost } from './slot-host.ts';
import type { SlotPool } from './slot-pool.ts';
import type { TimeSource } from './time-limits.ts';
import type { Unacknowledged } from './unacknowledged.ts';

/** A connection, as its server sees it. */
interface HostedConnection {
  /** Set by the server: whether it calls when more answers may leave, and at the end of the turn. */
  isDelayed: boolean;
  isWoken: boolean;
}

export interface ConnectionHost extends SlotHost, TimeSource {
  readonly clock: Clock;
  readonly slots: SlotPool;
  /** The hosts that are served; undefined for all. */
  readonly servedHosts: ServedHosts | undefined;
  /** Connections that let others run first. */
  readonly scheduler: FairScheduler;
  /**
   * Whether it has drained for so long that a response is the last although more has come since it was
   * stopped.
   */
  readonly isDrainOver: boolean;
  /** The most bytes of a connection that were received before the stop and not read by then. */
  readonly receiveBufferBytesMax: number;
  /** The bytes that clients have not acknowledged; asked for while the server drains. */
  readonly unacknowledged: Unacknowledged;
  /** The buffer that all connections read into. */
  readonly readBuffer: Buffer;
  /** Reads the time; called at the beginning of a turn's work. */
  tick(): void;
  /** The connection has delayed responses: it is called at the next release. */
  addDelayed(connection: HostedConnection): void;
  /** The connection continues at the end of the turn, however often this is called. */
  wake(connection: HostedConnection): void;
  /** The connection's socket is closed. */
  onConnectionClosed(connection: HostedConnection): void;
}
