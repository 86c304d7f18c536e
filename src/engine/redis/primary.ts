/**
 * The connections to the primary of some slots: one for reads, and two for changes, in order: one
 * for those that wait for replicas, one for the others. A lost connection is replaced, with growing
 * pauses while that fails. Scripts are loaded before a connection is used.
 *
 * A server may have received commands of a lost connection and execute them later. So a new
 * connection first makes the server end the lost one: once the new one is ready, no earlier command
 * can still take effect. A server that does not permit this to the user may execute them late.
 * Tested by matching-replies.spec.ts.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import type { ViewedBytes } from '../../base/copy-bytes.ts';
import type { ServerAddress } from '../../base/server-address.ts';
import { header } from './command-buffer.ts';
import { errorKind, NO_RIGHT } from './error-reply.ts';
import type { ReplyReceiver } from './pending-commands.ts';
import {
  type ConnectionOptions,
  LoginRefused,
  NoReply,
  OutOfStep,
  RedisConnection,
} from './redis-connection.ts';
import { ARRAY, BULK, ERROR, INTEGER, kindSet, type Reply, STATUS } from './reply.ts';
import type { Rights } from './rights.ts';
import { evictionPolicyIn, fieldsIn } from './server-info.ts';

const FIRST_PAUSE_MS = 50;
const PAUSE_MS_MAX = 500;
const SCRIPT_LOAD = header(3, 'SCRIPT', 'LOAD');
const CLIENT_INFO = header(2, 'CLIENT', 'INFO');
const CLIENT_SETNAME = header(3, 'CLIENT', 'SETNAME');
const CLIENT_KILL = header(6, 'CLIENT', 'KILL', 'ID');
const ADDR = Buffer.from('ADDR');
const INFO_MEMORY = header(2, 'INFO', 'memory');
const ECHO = header(2, 'ECHO');
const ROLE = header(1, 'ROLE');
const TIME = header(1, 'TIME');
/**
 * Greatest number sent with ECHO: it has fewer digits than a stored value has bytes, so that no
 * value is mistaken for one.
 */
const ECHO_COUNT_MAX = 1e9;
/** Errors with which a server may reply to ECHO. */
const ECHO_REFUSED = /^(?:BUSY|LOADING|MASTERDOWN|NOAUTH|NOPERM|ERR unknown command)\b/;
/** Interval between two checks whether a server may drop data, in ms. */
const EVICTION_CHECK_MS = 60_000;
const PRIMARY_ROLE = 'master';
const REPLICA_ROLE = 'slave';

interface PrimaryObserver extends LinkObserver {
  /** Called with every check that finds that the server may drop data by this policy. */
  onEviction(policy: string): void;
}

interface LinkObserver {
  /** Called when a connection is ready for commands. */
  onReady(): void;
  /** Called when a connection has ended or could not be established. */
  onLost(address: ServerAddress, reason: Error): void;
  /** Called for a message that is not a reply, if the connections subscribe. */
  onMessage?(message: Reply): void;
}

export interface PrimaryOptions extends ConnectionOptions {
  /** Counts the connections: those that exist, and those that were ready and then lost. */
  readonly counter: { count: number; lostCount: number };
  /** Whether servers that drop data may be used. */
  readonly allowsEviction: boolean;
  /** The name by which other members recognise this member's connections; undefined for none. */
  connectionName(): string | undefined;
  /** Called when a server has refused a command. `command` returns its name. */
  onRefused(address: ServerAddress, command: () => string, text: string): void;
  /** The rights that the user needs on each primary. */
  readonly rights: Rights;
  /** The sources of the scripts that are called. */
  readonly scripts: readonly string[];
}

export class Primary {
  readonly address: ServerAddress;
  readonly reads: Link;
  readonly changes: Link;
  /** The connection for changes that wait for replicas. */
  readonly confirmed: Link;
  /** Replicas that were connected at the last check; Infinity while unknown. */
  replicaCount = Number.POSITIVE_INFINITY;
  /** The policy by which the server drops data; undefined if it does not, or is allowed to. */
  evictionPolicy: string | undefined;
  readonly #allowsEviction: boolean;
  readonly #onEviction: (policy: string) => void;
  /** Time of the last check of the policy, by `clock.now()`. */
  #evictionReadMs = Number.NEGATIVE_INFINITY;
  readonly #links: readonly Link[];
  readonly #clock: Clock;

  constructor(address: ServerAddress, options: PrimaryOptions, observer: PrimaryObserver) {
    this.address = address;
    this.#clock = options.clock;
    this.#allowsEviction = options.allowsEviction;
    this.#onEviction = (policy) => observer.onEviction(policy);
    this.reads = new Link(address, options, observer, true);
    this.changes = new Link(address, options, observer, true);
    this.confirmed = new Link(address, options, observer, true);
    this.#links = [this.reads, this.changes, this.confirmed];
  }

  /** Commands without a reply. */
  get pendingCount(): number {
    return this.#links.reduce((sum, { pendingCount }) => sum + pendingCount, 0);
  }

  /** Bytes of those commands, and of replies that are being received. */
  get waitingBytes(): number {
    return this.#links.reduce((sum, { waitingBytes }) => sum + waitingBytes, 0);
  }

  /** Whether all connections are ready for commands. */
  get isReady(): boolean {
    return this.#links.every(({ connection }) => connection !== undefined);
  }

  /** Whether a reply that waits for no replica has been due for at least `ms`. */
  isSilent(ms: number): boolean {
    const since = this.reads.connection?.owesSince;
    return since !== undefined && this.#clock.now() - since >= ms;
  }

  /**
   * Queries the role and the number of replicas over the connection that waits for no replica, and
   * checks that the replies of each connection match its commands. This also detects a stopped
   * server that is otherwise idle. If the server has become a replica, its connections end.
   */
  check(): void {
    for (const link of this.#links) link.compareReplies();
    const { connection } = this.reads;
    if (connection === undefined) {
      this.replicaCount = Number.POSITIVE_INFINITY;
      return;
    }
    this.#readEviction(connection);
    readRole(connection, (role) => {
      if (role instanceof Error) return;
      const { replicaCount } = role;
      this.replicaCount = replicaCount ?? Number.POSITIVE_INFINITY;
      if (replicaCount !== undefined) return;
      for (const link of this.#links) link.connection?.fail(new IsReplica());
    });
  }

  #readEviction(connection: RedisConnection): void {
    const now = this.#clock.now();
    if (this.#allowsEviction || now - this.#evictionReadMs < EVICTION_CHECK_MS) return;
    this.#evictionReadMs = now;
    ask(connection, INFO_MEMORY, BULKS, (reply) => {
      if (reply.kind === ERROR) return;
      this.evictionPolicy = evictionPolicyIn(fieldsIn(reply.text));
      if (this.evictionPolicy !== undefined) this.#onEviction(this.evictionPolicy);
    });
  }

  /**
   * Queries the server's time. Returns false if this is not possible now. `sentAt`: by
   * `clock.now()`.
   */
  readTime(onTime: (serverMs: number, sentAt: number) => void): boolean {
    const { connection } = this.reads;
    if (connection === undefined) return false;
    const sentAt = this.#clock.now();
    ask(connection, TIME, ARRAYS, (reply) => {
      if (reply.kind === ERROR) return;
      const seconds = Number(reply.next().text);
      const micros = Number(reply.next().text);
      if (Number.isNaN(seconds + micros)) return connection.fail(new OutOfStep());
      onTime(seconds * 1000 + micros / 1000, sentAt);
    });
    return true;
  }

  end(): void {
    for (const link of this.#links) link.end();
  }
}

function ask(
  connection: RedisConnection,
  command: ViewedBytes,
  replyKinds: number,
  onReply: (reply: Reply) => void,
): void {
  const start = connection.commands.length;
  connection.commands.begin(command);
  connection.expect(start, { replyKinds, onReply, onLost() {} });
}

/** `replicaCount` is undefined if the server is itself a replica. */
interface Role {
  readonly replicaCount: number | undefined;
}

/** Queries the server's role. `onRole` is called with it or with an error. */
function readRole(connection: RedisConnection, onRole: (role: Role | Error) => void): void {
  ask(connection, ROLE, ARRAYS, (reply) => {
    if (reply.kind === ERROR) return onRole(new Error(reply.text));
    const role = reply.next().text;
    if (role === PRIMARY_ROLE) onRole({ replicaCount: reply.next().next().integer });
    else if (role === REPLICA_ROLE) onRole({ replicaCount: undefined });
    else connection.fail(new OutOfStep());
  });
}

const ARRAYS = kindSet(ARRAY);
const BULKS = kindSet(BULK);

/** The server is not a primary, so it is neither read nor changed. */
class IsReplica extends Error {
  constructor() {
    super('it is a replica, not the primary');
  }
}

/** Whether a server has refused the user, or a command that the user may not use. */
export function isRightsError(reason: Error): boolean {
  return reason instanceof LoginRefused || errorKind(reason.message) === NO_RIGHT;
}

/** A connection that is established again when it is lost. */
export class Link {
  /** The connection for commands; undefined while there is none. */
  connection: RedisConnection | undefined;
  /** Time since which there is no connection, by `clock.now()`; undefined while there is one. */
  awaySince: number | undefined;
  /** Whether there is no connection because the user lacks rights, or its password is wrong. */
  isForbidden = false;
  readonly #address: ServerAddress;
  readonly #options: PrimaryOptions;
  readonly #observer: LinkObserver;
  readonly #clock: Clock;
  readonly #isForPrimary: boolean;
  #echoCount = 0;
  #made: RedisConnection | undefined;
  /** The server's identification of the current connection, or of the previous one. */
  #name: ConnectionName | undefined;
  #again: Timer | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #isEnded = false;

  /** `isForPrimary`: whether commands are refused if the server is a replica. */
  constructor(
    address: ServerAddress,
    options: PrimaryOptions,
    observer: LinkObserver,
    isForPrimary: boolean,
  ) {
    this.#isForPrimary = isForPrimary;
    this.#address = address;
    this.#options = options;
    this.#observer = observer;
    this.#clock = options.clock;
    this.awaySince = this.#clock.now();
    this.#connect();
  }

  get pendingCount(): number {
    return this.#made?.pendingCount ?? 0;
  }

  get waitingBytes(): number {
    return this.#made?.waitingBytes ?? 0;
  }

  /**
   * Sends a number with ECHO; a different reply ends the connection. A late one does not, as
   * earlier commands may wait for replicas.
   */
  compareReplies(): void {
    const { connection } = this;
    if (connection === undefined) return;
    this.#echoCount = (this.#echoCount + 1) % ECHO_COUNT_MAX;
    const sent = `${this.#echoCount}`;
    const start = connection.commands.length;
    connection.commands.begin(ECHO);
    connection.commands.text(sent);
    connection.expect(start, {
      replyKinds: BULKS,
      onReply: (reply) => {
        const isRefused = reply.kind === ERROR && ECHO_REFUSED.test(reply.text);
        if (!isRefused && reply.text !== sent) connection.fail(new OutOfStep());
      },
      onLost() {},
    });
  }

  end(): void {
    this.#isEnded = true;
    this.connection = undefined;
    this.#again?.cancel();
    this.#made?.end();
  }

  #connect(): void {
    const { onMessage } = this.#observer;
    const made = new RedisConnection(this.#address, this.#options, {
      onReady: () => this.#prepare(made),
      onEnded: (reason) => this.#onEnded(reason),
      ...(onMessage !== undefined && { onMessage }),
    });
    this.#made = made;
  }

  #prepare(made: RedisConnection): void {
    if (this.#name !== undefined) kill(made, this.#name);
    setName(made, this.#options.connectionName());
    if (this.#isForPrimary) {
      readRole(made, (role) => {
        if (role instanceof Error) made.fail(role);
        else if (role.replicaCount === undefined) made.fail(new IsReplica());
      });
    }
    const start = made.commands.length;
    made.commands.begin(CLIENT_INFO);
    made.expect(start, {
      replyKinds: BULKS,
      onReply: (reply) => {
        this.#name = reply.kind === BULK ? nameIn(reply.text) : undefined;
        this.#loadScripts(made);
      },
      onLost: () => {},
    });
  }

  #loadScripts(made: RedisConnection): void {
    if (this.#isEnded) return;
    let left = this.#options.scripts.length;
    const receiver: ReplyReceiver = {
      replyKinds: BULKS,
      onReply: (reply) => {
        // A server that is loading its data cannot load scripts yet; the first calls will load
        // them.
        if (reply.kind === ERROR && !this.#isEnded) return made.fail(new Error(reply.text));
        if (--left === 0) this.#onReady(made);
      },
      onLost: () => {},
    };
    for (const script of this.#options.scripts) loadScript(made, script, receiver);
    if (left === 0) this.#onReady(made);
  }

  #onReady(made: RedisConnection): void {
    if (this.#isEnded) return;
    this.connection = made;
    this.awaySince = undefined;
    this.isForbidden = false;
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#observer.onReady();
  }

  #onEnded(reason: Error): void {
    const { deadlineMs, counter } = this.#options;
    if (this.connection !== undefined) counter.lostCount++;
    this.connection = undefined;
    this.#made = undefined;
    if (this.#isEnded) return;
    // A server that owes a reply has been unreachable for that time.
    this.awaySince ??= this.#clock.now() - (reason instanceof NoReply ? deadlineMs : 0);
    this.isForbidden = isRightsError(reason);
    const pauseMs = reason instanceof LoginRefused ? PAUSE_MS_MAX : this.#pauseMs;
    this.#pauseMs = Math.min(2 * this.#pauseMs, PAUSE_MS_MAX);
    this.#again = this.#clock.after(pauseMs, () => this.#connect());
    this.#observer.onLost(this.#address, reason);
  }
}

/** A server's identification of a connection. The combination is not reused after a restart. */
interface ConnectionName {
  readonly id: string;
  /** The address of the client. */
  readonly address: string;
}

/** Returns the identification in a reply to CLIENT INFO. */
function nameIn(text: string): ConnectionName | undefined {
  const [, id, address] = /^id=(\d+) addr=(\S+)/.exec(text) ?? [];
  return id === undefined || address === undefined ? undefined : { id, address };
}

/** Sends the command that ends another connection to the same server. */
function kill(connection: RedisConnection, name: ConnectionName): void {
  const start = connection.commands.length;
  writeKill(connection, name);
  connection.expect(start, { replyKinds: kindSet(INTEGER), onReply() {}, onLost() {} });
}

/** Writes the command that ends a connection. The caller must expect its reply. */
export function writeKill({ commands }: RedisConnection, { id, address }: ConnectionName): void {
  commands.begin(CLIENT_KILL);
  commands.text(id);
  commands.bytes(ADDR);
  commands.text(address);
}

function setName(connection: RedisConnection, name: string | undefined): void {
  if (name === undefined) return;
  const { commands } = connection;
  const start = commands.length;
  commands.begin(CLIENT_SETNAME);
  commands.text(name);
  connection.expect(start, { replyKinds: kindSet(STATUS), onReply() {}, onLost() {} });
}

/** Sends the command that loads a script into the server. */
export function loadScript(
  connection: RedisConnection,
  script: string,
  receiver: ReplyReceiver,
): void {
  const start = connection.commands.length;
  connection.commands.begin(SCRIPT_LOAD);
  connection.commands.bytes(Buffer.from(script));
  connection.expect(start, receiver);
}
