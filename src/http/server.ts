/**
 * The HTTP server: accepts connections up to a limit, has the parts they share (the arena, the limits,
 * the delay of answers), and ends them. It knows no route and no engine.
 */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Clock, Timer } from '../base/clock.ts';
import type { AnswerDelay, AnswerSender } from './answer-delay.ts';
import type { Application } from './application.ts';
import { OutputArena } from './arena.ts';
import { Connection } from './connection.ts';
import type { ConnectionHost } from './connection-host.ts';
import type { CutOff } from './cut-off.ts';
import { Deadlines } from './deadlines.ts';
import { receiveBufferBytesMax } from './early-bytes.ts';
import { FairScheduler } from './fair-scheduler.ts';
import { InFlightBudget } from './in-flight.ts';
import type { HttpLimits } from './limits.ts';
import { llhttp } from './llhttp.ts';
import type { ServedHosts } from './served-hosts.ts';
import type { Observer } from './slot-host.ts';
import { SlotPool } from './slot-pool.ts';
import { statusLine } from './status.ts';
import { LAST_REQUEST_MS } from './time-limits.ts';
import { Handshakes, type TlsIdentity } from './tls.ts';
import { TurnedAway } from './turned-away.ts';
import { Unacknowledged } from './unacknowledged.ts';

export interface HttpServerOptions {
  readonly application: Application;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  /** Serves over TLS alone, with this identity. */
  readonly tls?: TlsIdentity | undefined;
  /** Called with an error that a handler threw; its request was answered with 500. */
  readonly onFailure: (error: unknown) => void;
  /** Called for each connection beyond `connectionsMax`. */
  readonly onRefused?: ((connectionsMax: number) => void) | undefined;
  /** Refused connections that are read at a time; see TurnedAway. */
  readonly refusedConnectionsMax?: number | undefined;
  /** Called with each response that leaves a content type out that is no field's value. */
  readonly onBadType?: (() => void) | undefined;
  /** Decides when answers may leave; without it, all may leave at once. */
  readonly delay?: AnswerDelay | undefined;
  /** The hosts that are served; without it, all are. */
  readonly servedHosts?: ServedHosts | undefined;
  /** Header fields of every response, each ended by CR LF. */
  readonly fieldLines?: string;
  /** A connection beyond the limit closes the one that has been idle longest, instead of being refused. */
  readonly closesIdle?: boolean;
}

export class HttpServer implements ConnectionHost, AnswerSender {
  readonly application: Application;
  readonly limits: HttpLimits;
  /** Limit of the connections that are open at a time, those of TLS handshakes included. */
  connectionsMax: number;
  readonly clock: Clock;
  readonly onFailure: (error: unknown) => void;
  readonly #onRefused: ((connectionsMax: number) => void) | undefined;
  readonly servedHosts: ServedHosts | undefined;
  readonly arena: OutputArena;
  readonly inFlight: InFlightBudget;
  /** Time limits of connections and of TLS handshakes. */
  readonly deadlines: Deadlines;
  /** Connections that let others run first. */
  readonly scheduler: FairScheduler;
  readonly slots: SlotPool;
  /** The time of this turn, in milliseconds of the clock. */
  nowMs = Number.NEGATIVE_INFINITY;
  /** When the Date field is to be made again. */
  #secondEndMs = Number.NEGATIVE_INFINITY;
  /** The buffer that all connections read into. */
  readonly readBuffer = llhttp().readBuffer;
  /** Called with each answer, for logs. */
  observe: Observer | undefined;
  substitute: string | undefined;
  /** Decides when answers may leave; undefined where all may leave at once. */
  readonly delay: AnswerDelay | undefined;
  /** Whether the server has stopped accepting and ends its connections. */
  isDraining = false;
  receiveBufferBytesMax = Number.POSITIVE_INFINITY;
  readonly unacknowledged = new Unacknowledged();
  /** When it began to drain, in milliseconds of the clock; Infinity before. */
  drainedMs = Number.POSITIVE_INFINITY;
  readonly #server: Server;
  readonly #turnedAway: TurnedAway;
  readonly #closesIdle: boolean;
  readonly #handshakes: Handshakes | undefined;
  readonly #connections = new Set<Connection>();
  /** Sockets accepted while the server stops accepting; they are opened when it has stopped. */
  #latecomers: Socket[] | undefined;
  /** Connections with delayed answers, each once. */
  #delayed: Connection[] = [];
  /** Connections that continue at the end of the turn, each once. */
  #woken: Connection[] = [];
  readonly #wakeAll = (): void => this.#turnOnEnd();
  #onAllClosed: (() => void) | undefined;
  /** Cuts off handshakes under way when the server drains. */
  #handshakesEnd: Timer | undefined;

  constructor(options: HttpServerOptions) {
    this.application = options.application;
    this.limits = options.limits;
    this.connectionsMax = options.limits.connectionsMax;
    this.clock = options.clock;
    this.onFailure = options.onFailure;
    this.#onRefused = options.onRefused;
    this.delay = options.delay;
    this.servedHosts = options.servedHosts;
    this.arena = new OutputArena(options.fieldLines, this.limits.headerBytesMax, options.onBadType);
    this.#closesIdle = options.closesIdle ?? false;
    this.inFlight = new InFlightBudget(this.limits.inFlightBytesMax);
    this.scheduler = new FairScheduler(this.clock);
    this.slots = new SlotPool(this);
    this.#turnedAway = new TurnedAway(this.clock, options.refusedConnectionsMax);
    this.deadlines = new Deadlines(this.clock);
    if (options.tls !== undefined) {
      this.#handshakes = new Handshakes(
        options.tls,
        this.deadlines,
        (socket) => this.#open(socket),
        () => this.#tellIfAllClosed(),
      );
    }
    const socketOptions = { allowHalfOpen: true, noDelay: true, pauseOnConnect: true };
    this.#server = createServer(socketOptions, (socket) => this.#onConnection(socket));
  }

  /**
   * Whether the server has drained for so long that a response is the last although more has come since
   * the stop.
   */
  get isDrainOver(): boolean {
    return this.nowMs >= this.drainedMs + LAST_REQUEST_MS;
  }

  /** Open connections, and those whose TLS handshake is under way. */
  get connectionCount(): number {
    return this.#connections.size + (this.#handshakes?.count ?? 0);
  }

  /** Connections that begin from now on get this identity. Throws OpenSSL's error about it. */
  renewTls(identity: TlsIdentity): void {
    this.#handshakes?.renew(identity);
  }

  /** Accepts connections; port 0 picks one. Rejects with the system's error. */
  listen(host: string, port: number): Promise<AddressInfo> {
    const server = this.#server;
    return new Promise((resolve, reject) => {
      const onListening = (): void => {
        server.off('error', onError);
        server.on('error', this.onFailure);
        resolve(server.address() as AddressInfo);
      };
      const onError = (error: Error): void => {
        server.off('listening', onListening);
        reject(error);
      };
      server.once('error', onError);
      server.once('listening', onListening);
      server.listen({ host, port, backlog: 511 });
    });
  }

  /** The port that it is bound to; 0 while it is none. */
  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0;
  }

  /** Reads the time; called at the beginning of a turn's work. */
  tick(): void {
    this.nowMs = this.clock.now();
    if (this.nowMs < this.#secondEndMs) return;
    const wallMs = this.clock.wall();
    this.#secondEndMs = this.nowMs + 1000 - (wallMs % 1000);
    this.arena.tick(wallMs);
  }

  /** More answers may leave: sends those that no longer have to wait. */
  release(): void {
    const delayed = this.#delayed;
    this.#delayed = [];
    for (const connection of delayed) {
      connection.isDelayed = false;
      connection.release();
    }
  }

  /** Delayed answers must never be shown: their clients get that the outcome is unknown. */
  disownDelayed(): void {
    this.tick();
    this.substitute =
      `${statusLine(503)}${this.arena.dateLine}Grid-Outcome: unknown\r\n` +
      'Content-Length: 0\r\n\r\n';
    this.release();
    this.substitute = undefined;
  }

  /**
   * Stops accepting, answers the requests received, ends every connection. Resolves when the last one
   * is closed. Bytes in the sockets' buffers at that time still count as received, and connections that
   * the kernel has by then are accepted: one a turn, up to the first turn without one. These are opened
   * only then. Until then no answer is a connection's last, so that a waiting client does not connect
   * again meanwhile.
   */
  drain(): Promise<void> {
    this.tick();
    const untilMs = this.nowMs + LAST_REQUEST_MS;
    this.#latecomers = [];
    this.receiveBufferBytesMax = receiveBufferBytesMax();
    for (const connection of this.#connections) connection.onStop();
    this.clock.endOfTurn(() => this.#acceptRest(-1, untilMs));
    return new Promise<void>((resolve) => {
      this.#onAllClosed = resolve;
    });
  }

  /** Ends every connection at once. Sockets that were accepted and not opened count as cut off. */
  abort(): CutOff {
    this.isDraining = true;
    const latecomers = this.#stopAccepting();
    for (const socket of latecomers) socket.destroy();
    this.#handshakes?.destroy();
    let connections = latecomers.length;
    let requests = 0;
    let responseBytes = 0;
    for (const connection of this.#connections) {
      const left = connection.cutOff();
      if (left === undefined) continue;
      connections++;
      requests += left.requests;
      responseBytes += left.responseBytes;
    }
    this.#turnedAway.destroy();
    this.#tellIfAllClosed();
    return { connections, requests, responseBytes };
  }

  addDelayed(connection: Connection): void {
    if (connection.isDelayed) return;
    connection.isDelayed = true;
    this.#delayed.push(connection);
  }

  wake(connection: Connection): void {
    if (connection.isWoken) return;
    connection.isWoken = true;
    this.#woken.push(connection);
    if (this.#woken.length === 1) this.clock.endOfTurn(this.#wakeAll);
  }

  onConnectionClosed(connection: Connection): void {
    this.#connections.delete(connection);
    if (connection.isDelayed) this.#delayed = this.#delayed.filter((each) => each !== connection);
    this.#tellIfAllClosed();
  }

  #turnOnEnd(): void {
    const woken = this.#woken;
    this.#woken = [];
    for (const connection of woken) {
      connection.isWoken = false;
      connection.release();
    }
  }

  /** `seen`: the count of those that had come when the turn that ends now began. */
  #acceptRest(seen: number, untilMs: number): void {
    if (this.#latecomers === undefined) return;
    this.tick();
    const { length } = this.#latecomers;
    if (length !== seen && this.nowMs < untilMs) {
      this.clock.endOfTurn(() => this.#acceptRest(length, untilMs));
      return;
    }
    const latecomers = this.#stopAccepting();
    this.isDraining = true;
    this.drainedMs = this.nowMs;
    this.#handshakesEnd = this.clock.after(LAST_REQUEST_MS, () => this.#handshakes?.destroy());
    for (const socket of latecomers) this.#admit(socket);
    for (const connection of this.#connections) connection.drain();
    this.#tellIfAllClosed();
  }

  /** Returns the accepted sockets that are not opened. */
  #stopAccepting(): readonly Socket[] {
    if (this.#server.listening) this.#server.close();
    const latecomers = this.#latecomers ?? [];
    this.#latecomers = undefined;
    return latecomers;
  }

  #tellIfAllClosed(): void {
    if (this.#latecomers !== undefined || this.connectionCount > 0) return;
    this.#handshakesEnd?.cancel();
    this.#onAllClosed?.();
  }

  #onConnection(socket: Socket): void {
    if (this.#latecomers === undefined) this.#admit(socket);
    else this.#latecomers.push(socket);
  }

  #admit(socket: Socket): void {
    const { connectionsMax } = this;
    const handshakes = this.#handshakes;
    const hasRoom = this.connectionCount < connectionsMax || this.#makesRoom();
    if (!hasRoom) this.#onRefused?.(connectionsMax);
    if (handshakes === undefined) {
      if (hasRoom) return this.#open(socket);
      this.tick();
      this.#turnedAway.add(socket, connectionsMax, this.arena.dateLine);
    } else if (hasRoom) {
      this.tick();
      handshakes.begin(socket, this.nowMs + this.limits.headerTimeoutSeconds * 1000);
    } else socket.destroy();
  }

  /** Closes the connection that has been idle longest, if that is to make room. */
  #makesRoom(): boolean {
    if (!this.#closesIdle) return false;
    let idlest: Connection | undefined;
    for (const connection of this.#connections) {
      if (idlest === undefined || connection.idleSinceMs < idlest.idleSinceMs) idlest = connection;
    }
    idlest?.destroy();
    return idlest !== undefined;
  }

  #open(socket: Socket): void {
    this.#connections.add(new Connection(this, socket));
  }
}
