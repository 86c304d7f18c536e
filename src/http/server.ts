/**
 * The HTTP server: accepts connections up to a limit, owns what they share (the arena, the limits, the
 * delay of responses), and ends them. It is independent of routes and of the engine.
 * Tested by drain.spec.ts.
 */
import { type AddressInfo, createServer, type Server, Socket } from 'node:net';
import type { Clock, Timer } from '../base/clock.ts';
import type { ErrorCode } from '../base/errors.ts';
import type { RefusalCode } from '../base/refusals.ts';
import type { Application } from './application.ts';
import { OutputArena } from './arena.ts';
import type { Carrier, CarrierHost } from './carrier.ts';
import { Connection } from './connection.ts';
import type { CutOff } from './cut-off.ts';
import { Deadlines } from './deadlines.ts';
import { receiveBufferBytesMax } from './early-bytes.ts';
import { FairScheduler } from './fair-scheduler.ts';
import { HandleCarrier } from './handle-carrier.ts';
import { InFlightBudget } from './in-flight.ts';
import type { HttpLimits } from './limits.ts';
import { llhttp } from './llhttp.ts';
import { RefusedConnections } from './refused-connections.ts';
import type { RequestHead } from './request-head.ts';
import { RequestPool } from './request-pool.ts';
import { Response } from './response.ts';
import type { ResponseDelay, ResponseSender } from './response-delay.ts';
import type { ServedHosts } from './served-hosts.ts';
import { SocketCarrier } from './socket-carrier.ts';
import { statusLine } from './status.ts';
import { type TcpHandle, TcpHandles, tcpHandles } from './tcp-handles.ts';
import { LAST_REQUEST_MS } from './time-limits.ts';
import { Handshakes, type TlsIdentity } from './tls.ts';
import { type TrafficMeter, UNMETERED } from './traffic-meter.ts';
import { Unacknowledged } from './unacknowledged.ts';
import { UnsentResponses } from './unsent-responses.ts';

/**
 * The listener is closed after a turn shorter than this, in ms. A connection that arrives between the
 * accept of a turn and the close is reset, with the request that its client has sent.
 */
const SHORT_TURN_MS = 0.5;
/**
 * Maximum number of connections that the kernel has established and the server has not accepted. The rest
 * of a larger burst waits for its clients to repeat their packets, a second or more.
 */
export const BACKLOG_MAX = 4096;

type CarrierMaker = (socket: Socket, host: CarrierHost) => Carrier;

interface HttpServerOptions {
  readonly application: Application;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  /** The identity for TLS; if set, the server accepts only TLS. */
  readonly tls?: TlsIdentity | undefined;
  /** Called with an error that a handler threw; its request is answered 500. */
  readonly onFailure: (error: unknown) => void;
  /** Called for each connection that is refused because of `connectionsMax`. */
  readonly onRefused?: ((connectionsMax: number) => void) | undefined;
  /** Maximum number of refused connections that are read at a time; see RefusedConnections. */
  readonly refusedConnectionsMax?: number | undefined;
  /** Called for each response that omits a content type because it is not a valid field value. */
  readonly onBadType?: (() => void) | undefined;
  /** Decides when responses may be sent; without it, all may be sent immediately. */
  readonly delay?: ResponseDelay | undefined;
  /** The served hosts; without it, all are served. */
  readonly servedHosts?: ServedHosts | undefined;
  /** Header fields of every response, each with CR LF. */
  readonly fieldLines?: string;
  /** Counts the traffic; without it, nothing is counted. */
  readonly meter?: TrafficMeter | undefined;
  /** Whether a connection beyond the limit closes the longest idle one, instead of being refused. */
  readonly closesIdle?: boolean;
  /**
   * Makes the carrier of an accepted socket, or of a TLS socket. Without it, plain connections have carriers
   * on their handles where these are available, and all others a SocketCarrier.
   */
  readonly carry?: CarrierMaker | undefined;
  /** Called when plain connections have sockets, because handles are not available for this reason. */
  readonly onNoHandles?: ((reason: string) => void) | undefined;
}

/** Observes responses. `head`: undefined for invalid bytes. `refusal`: only valid during the call. */
type Observer = (status: number, head: RequestHead | undefined, refusal: Refusal) => void;

/** The reason for refusing a request; empty if it was not refused. */
interface Refusal {
  readonly code: RefusalCode | ErrorCode | '';
  readonly reason: string;
}

export class HttpServer implements ResponseSender, CarrierHost {
  readonly application: Application;
  readonly limits: HttpLimits;
  /** Maximum number of open connections, including those whose TLS handshake is under way. */
  connectionsMax: number;
  readonly clock: Clock;
  /** Called for each fault of the member. */
  readonly onFailure: (error: unknown) => void;
  readonly #onRefused: ((connectionsMax: number) => void) | undefined;
  /** The served hosts; undefined for all. */
  readonly servedHosts: ServedHosts | undefined;
  readonly arena: OutputArena;
  readonly inFlight: InFlightBudget;
  /** The deadlines of connections and TLS handshakes. */
  readonly deadlines: Deadlines;
  /** Schedules the connections that let others run first. */
  readonly scheduler: FairScheduler;
  readonly requests: RequestPool;
  readonly meter: TrafficMeter;
  readonly unsent: UnsentResponses;
  /** The response that is being set; one at a time, as each is sent during the call that sets it. */
  readonly draft = new Response();
  /** The time of this turn, in ms of the clock. */
  nowMs = Number.NEGATIVE_INFINITY;
  /** Time at which the Date field changes, in ms of the clock. */
  #secondEndMs = Number.NEGATIVE_INFINITY;
  /** The read buffer of all connections. */
  readonly readBuffer = llhttp().readBuffer;
  /** Called for each response, for logs. */
  observe: Observer | undefined;
  /** The text to send in place of every unsent response, while it is set. */
  substitute: string | undefined;
  /** Decides when responses may be sent; undefined if all may be sent immediately. */
  readonly delay: ResponseDelay | undefined;
  /** Whether the server has stopped accepting and ends its connections. */
  isDraining = false;
  /**
   * Maximum number of bytes of a connection that can have been received and unread when the server
   * was stopped.
   */
  receiveBufferBytesMax = Number.POSITIVE_INFINITY;
  /** The bytes that clients have not acknowledged; queried while the server drains. */
  readonly unacknowledged = new Unacknowledged();
  /** Time at which it began to drain, in ms of the clock; Infinity until then. */
  drainedMs = Number.POSITIVE_INFINITY;
  readonly #carry: CarrierMaker;
  readonly #usesHandles: boolean;
  readonly #onNoHandles: ((reason: string) => void) | undefined;
  readonly #server: Server;
  readonly #refused: RefusedConnections;
  readonly #closesIdle: boolean;
  readonly #handshakes: Handshakes | undefined;
  /**
   * The open connections, each at its `place`. A Set keeps closed ones in memory until V8 collects the whole
   * heap: each of its former tables refers to the next one.
   */
  readonly #connections: Connection[] = [];
  /**
   * Connections accepted while the server is stopping; they are opened when it has stopped accepting.
   * Sockets begin with a TLS handshake.
   */
  #latecomers: (Carrier | Socket)[] | undefined;
  /** Connections with delayed responses, each once. */
  #delayed: Connection[] = [];
  /** Connections that continue at the end of the turn, each once. */
  #woken: Connection[] = [];
  readonly #wakeAll = (): void => this.#onTurnEnd();
  #onAllClosed: (() => void) | undefined;
  /** Ends the handshakes still under way some time after the server began to drain. */
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
    this.#carry = options.carry ?? ((socket, host) => new SocketCarrier(socket, host));
    this.#usesHandles = options.carry === undefined && options.tls === undefined;
    this.#onNoHandles = options.onNoHandles;
    this.inFlight = new InFlightBudget(this.limits.inFlightBytesMax);
    this.scheduler = new FairScheduler(this.clock);
    this.requests = new RequestPool(this);
    this.meter = options.meter ?? UNMETERED;
    this.unsent = new UnsentResponses(this.meter);
    this.#refused = new RefusedConnections(this.clock, this.meter, options.refusedConnectionsMax);
    this.deadlines = new Deadlines(this.clock);
    if (options.tls !== undefined) {
      this.#handshakes = new Handshakes(
        options.tls,
        this.deadlines,
        (socket) => this.#open(this.#carry(socket, this)),
        () => this.#notifyIfAllClosed(),
      );
    }
    const socketOptions = { allowHalfOpen: true, noDelay: true, pauseOnConnect: true };
    this.#server = createServer(socketOptions, (socket) => this.#onSocket(socket));
  }

  /**
   * Whether the server has drained for LAST_REQUEST_MS. From then on a response is the last even if more
   * input has been received since the stop.
   */
  get isDrainOver(): boolean {
    return this.nowMs >= this.drainedMs + LAST_REQUEST_MS;
  }

  /** Number of open connections, including those whose TLS handshake is under way. */
  get connectionCount(): number {
    return this.#connections.length + (this.#handshakes?.count ?? 0);
  }

  /** Sets the identity for new connections. Throws OpenSSL's error about it. */
  setTlsIdentity(identity: TlsIdentity): void {
    this.#handshakes?.setIdentity(identity);
  }

  /** Begins to accept connections. Port 0 selects a free port. Rejects with the system's error. */
  async listen(host: string, port: number): Promise<AddressInfo> {
    const server = this.#server;
    const handles = this.#usesHandles ? await tcpHandles() : undefined;
    if (typeof handles === 'string') this.#onNoHandles?.(handles);
    return await new Promise((resolve, reject) => {
      const onListening = (): void => {
        server.off('error', onError);
        server.on('error', this.onFailure);
        if (handles instanceof TcpHandles) this.#accept(handles);
        resolve(server.address() as AddressInfo);
      };
      const onError = (error: Error): void => {
        server.off('listening', onListening);
        reject(error);
      };
      server.once('error', onError);
      server.once('listening', onListening);
      server.listen({ host, port, backlog: BACKLOG_MAX });
    });
  }

  /** The bound port; 0 if there is none. */
  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0;
  }

  /** Updates `nowMs`; called when the work of a turn begins. */
  tick(): void {
    this.nowMs = this.clock.now();
    if (this.nowMs < this.#secondEndMs) return;
    const wallMs = this.clock.wall();
    this.#secondEndMs = this.nowMs + 1000 - (wallMs % 1000);
    this.arena.tick(wallMs);
    this.meter.onSecond(this.nowMs);
  }

  /** Sends the delayed responses that no longer have to wait. */
  release(): void {
    const delayed = this.#delayed;
    this.#delayed = [];
    for (const connection of delayed) {
      connection.isDelayed = false;
      connection.release();
    }
  }

  /** Replaces the delayed responses by 503 with `Grid-Outcome: unknown`. */
  failDelayed(): void {
    this.tick();
    this.substitute =
      `${statusLine(503)}${this.arena.dateLine}Grid-Outcome: unknown\r\n` +
      'Content-Length: 0\r\n\r\n';
    this.release();
    this.substitute = undefined;
  }

  /**
   * Stops accepting, answers the received requests and ends every connection. Resolves when the
   * last one is closed. Bytes already in the sockets' buffers count as received. Connections
   * already in the kernel's backlog are accepted, one per turn until a short turn brings no more, and
   * only then opened. Until then no response is a connection's last, so that a waiting client does not
   * reconnect meanwhile.
   */
  drain(): Promise<void> {
    this.tick();
    const beginMs = this.nowMs;
    const untilMs = beginMs + LAST_REQUEST_MS;
    this.#latecomers = [];
    this.receiveBufferBytesMax = receiveBufferBytesMax();
    for (const connection of this.#connections) connection.onStop();
    this.clock.endOfTurn(() => this.#acceptRest(-1, beginMs, untilMs));
    return new Promise<void>((resolve) => {
      this.#onAllClosed = resolve;
    });
  }

  /** Ends every connection immediately. Sockets that were accepted but not opened count as cut off. */
  abort(): CutOff {
    this.isDraining = true;
    const latecomers = this.#stopAccepting();
    for (const latecomer of latecomers) latecomer.destroy();
    this.#handshakes?.destroy();
    let connections = latecomers.length;
    let requests = 0;
    let responseBytes = 0;
    for (const connection of [...this.#connections]) {
      const left = connection.cutOff();
      if (left === undefined) continue;
      connections++;
      requests += left.requests;
      responseBytes += left.responseBytes;
    }
    this.#refused.destroy();
    this.#notifyIfAllClosed();
    return { connections, requests, responseBytes };
  }

  /** Registers a connection with delayed responses, to be called at the next release. */
  addDelayed(connection: Connection): void {
    if (connection.isDelayed) return;
    connection.isDelayed = true;
    this.#delayed.push(connection);
  }

  /** Lets the connection continue at the end of the turn, once however often this is called. */
  wake(connection: Connection): void {
    if (connection.isWoken) return;
    connection.isWoken = true;
    this.#woken.push(connection);
    if (this.#woken.length === 1) this.clock.endOfTurn(this.#wakeAll);
  }

  /** Called when a connection is opened. Returns its place. */
  onConnectionOpened(connection: Connection): number {
    return this.#connections.push(connection) - 1;
  }

  /** Called when the connection is closed. */
  onConnectionClosed(connection: Connection): void {
    const last = this.#connections.pop()!;
    if (last !== connection) {
      this.#connections[connection.place] = last;
      last.place = connection.place;
    }
    if (connection.isDelayed) this.#delayed = this.#delayed.filter((each) => each !== connection);
    this.#notifyIfAllClosed();
  }

  #onTurnEnd(): void {
    const woken = this.#woken;
    this.#woken = [];
    for (const connection of woken) {
      connection.isWoken = false;
      connection.release();
    }
  }

  /** `seen`: number of latecomers when the turn that ends now began, at `beginMs`. */
  #acceptRest(seen: number, beginMs: number, untilMs: number): void {
    if (this.#latecomers === undefined) return;
    this.tick();
    const endMs = this.nowMs;
    const { length } = this.#latecomers;
    const mayBeMore = length !== seen || endMs - beginMs > SHORT_TURN_MS;
    if (mayBeMore && endMs < untilMs) {
      this.clock.endOfTurn(() => this.#acceptRest(length, endMs, untilMs));
      return;
    }
    const latecomers = this.#stopAccepting();
    this.isDraining = true;
    this.drainedMs = this.nowMs;
    this.#handshakesEnd = this.clock.after(LAST_REQUEST_MS, () => this.#handshakes?.destroy());
    for (const latecomer of latecomers) {
      if (latecomer instanceof Socket) this.#secure(latecomer);
      else this.#admit(latecomer);
    }
    const sending = this.#sendingAddresses();
    for (const connection of [...this.#connections]) {
      connection.drain(sending.has(connection.session.peerAddress));
    }
    this.#notifyIfAllClosed();
  }

  /** Returns the addresses of the clients that have sent something within LAST_REQUEST_MS. */
  #sendingAddresses(): ReadonlySet<string> {
    const addresses = new Set<string>();
    for (const { idleSinceMs, session } of this.#connections) {
      if (idleSinceMs + LAST_REQUEST_MS > this.nowMs) addresses.add(session.peerAddress);
    }
    return addresses;
  }

  /** Stops accepting. Returns the accepted connections that have not been opened. */
  #stopAccepting(): readonly (Carrier | Socket)[] {
    if (this.#server.listening) this.#server.close();
    const latecomers = this.#latecomers ?? [];
    this.#latecomers = undefined;
    return latecomers;
  }

  #notifyIfAllClosed(): void {
    if (this.#latecomers !== undefined || this.connectionCount > 0) return;
    this.#handshakesEnd?.cancel();
    this.#onAllClosed?.();
  }

  #accept(handles: TcpHandles): void {
    try {
      handles.accept(this.#server, (handle) => this.#onHandle(handle, handles));
    } catch (error) {
      this.#onNoHandles?.((error as Error).message);
    }
  }

  #onHandle(handle: TcpHandle, handles: TcpHandles): void {
    const carrier = new HandleCarrier(handle, handles, this);
    try {
      this.#onCarrier(carrier);
    } catch (error) {
      carrier.destroy();
      this.onFailure(error);
    }
  }

  #onSocket(socket: Socket): void {
    if (this.#handshakes === undefined) this.#onCarrier(this.#carry(socket, this));
    else if (this.#latecomers === undefined) this.#secure(socket);
    else this.#latecomers.push(socket);
  }

  #onCarrier(carrier: Carrier): void {
    if (this.#latecomers === undefined) this.#admit(carrier);
    else this.#latecomers.push(carrier);
  }

  /** Begins the TLS handshake of a connection, if the limit permits it. */
  #secure(socket: Socket): void {
    if (!this.#hasRoom()) return void socket.destroy();
    this.tick();
    const deadlineMs = this.nowMs + this.limits.headerTimeoutSeconds * 1000;
    this.#handshakes?.begin(socket, deadlineMs);
  }

  #admit(carrier: Carrier): void {
    if (this.#hasRoom()) return this.#open(carrier);
    this.tick();
    this.#refused.add(carrier, this.connectionsMax, this.arena.dateLine);
  }

  /** Whether the limit permits another connection. */
  #hasRoom(): boolean {
    const { connectionsMax } = this;
    const hasRoom = this.connectionCount < connectionsMax || this.#makesRoom();
    this.meter.countConnection(!hasRoom);
    if (!hasRoom) this.#onRefused?.(connectionsMax);
    return hasRoom;
  }

  /** Closes the longest idle connection, if the server is configured to. Returns whether it did. */
  #makesRoom(): boolean {
    if (!this.#closesIdle) return false;
    let idlest: Connection | undefined;
    for (const connection of this.#connections) {
      if (idlest === undefined || connection.idleSinceMs < idlest.idleSinceMs) idlest = connection;
    }
    idlest?.destroy();
    return idlest !== undefined;
  }

  #open(carrier: Carrier): void {
    new Connection(this, carrier);
  }
}
