/**
 * Sends operations to the primaries of their partitions. An operation that was certainly not done
 * is sent again, in the order of its partition, until its deadline; one that may have been done
 * only if it is repeatable. If a primary has been unreachable for a deadline, its operations fail
 * at once. Tested by error-reply.spec.ts.
 */
import type { Clock } from '../../base/clock.ts';
import type { ServerAddress } from '../../base/server-address.ts';
import { CommandBuffer, header } from './command-buffer.ts';
import {
  AGAIN,
  ASK,
  addressIn,
  errorKind,
  FAULT,
  firstWord,
  MOVED,
  NO_MEMORY,
  NO_RIGHT,
  NO_SCRIPT,
  REFUSED_CHANGE,
  WRONG_TYPE,
} from './error-reply.ts';
import {
  AWAY,
  CROWDED_OUT,
  CUT_OFF,
  type Failure,
  FORBIDDEN,
  FOREIGN,
  FULL,
  REFUSED,
  SHORT,
  UNANSWERED,
} from './failure.ts';
import type { Layout } from './layout.ts';
import type { Operation } from './operation.ts';
import type { PendingChanges } from './pending-changes.ts';
import type { ReplyReceiver } from './pending-commands.ts';
import { type Link, loadScript, type Primary } from './primary.ts';
import type { RedisConnection } from './redis-connection.ts';
import { BULK, kindSet, STATUS } from './reply.ts';
import { isUnwritten, unwrittenLines } from './scripts.ts';
import type { Servers } from './servers.ts';

/** Limits for the operations under way and the bytes of their commands. */
const OPERATIONS_MAX = 100_000;
const COMMAND_BYTES_MAX = 64 * 1024 * 1024;
/** Delay between two checks of the waiting operations, in ms. */
const CHECK_MS = 10;
const ASKING = header(1, 'ASKING');
const NO_REPLICAS = 'NOREPLICAS';
/** Why an operation is not sent if its primary lacks replicas. */
const TOO_FEW = 'the primary has fewer replicas than the change needs';
const IGNORED: ReplyReceiver = { replyKinds: kindSet(STATUS), onReply() {}, onLost() {} };

interface DispatcherOptions {
  readonly clock: Clock;
  readonly layout: Layout;
  readonly servers: Servers;
  readonly deadlineMs: number;
  /** The sources of the scripts that operations call. */
  readonly scripts: readonly string[];
  readonly pendingChanges: PendingChanges;
  /** See ConnectionOptions. */
  mayChange(): boolean;
  /** Called when a server replies with an error that no operation should cause. */
  onFault(text: string): void;
  /** Called when a server has refused a change. `command` returns its name. */
  onRefused(address: ServerAddress, command: () => string, text: string): void;
}

/** The partition and the lane of a queue's operations. */
type QueuePlace = Pick<Operation, 'partition' | 'isReplicated'>;

/** An operation that waits to be sent. */
interface Waiting {
  readonly operation: Operation;
  readonly command: Buffer;
  /** The server to send it to, if another server named one with ASK. */
  readonly askTarget: ServerAddress | undefined;
  /**
   * Whether a server has refused it for now. It is then sent without others, so that later ones
   * cannot overtake it.
   */
  isRefused: boolean;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  /**
   * Changes that wait, by lane, in order. A change of the same lane waits for those before it: see
   * laneOf.
   */
  readonly #lanes = new Map<number, Waiting[]>();
  /** Reads that wait, by partition. Later reads do not wait for them. */
  readonly #reads = new Map<number, Waiting[]>();
  /** Number of changes written and without a reply, by lane. */
  readonly #writtenCounts: Int32Array;
  /** The connection that a lane's last change was written to. */
  readonly #writtenTo: (RedisConnection | undefined)[];
  /** The buffer for the command of an operation that has to wait. */
  readonly #aside = new CommandBuffer();
  /** Start of the current operation's command in the buffer of its connection. */
  #start = 0;
  readonly #unwrittenLines: ReturnType<typeof unwrittenLines>;
  #operationCount = 0;
  #commandBytes = 0;
  #lastNumber = 0;
  #isCheckDue = false;
  /** The connection over which scripts are being loaded again. */
  #loading: RedisConnection | undefined;
  #isClosed = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#unwrittenLines = unwrittenLines(options.scripts);
    const laneCount = LANES * options.layout.partitionCount;
    this.#writtenCounts = new Int32Array(laneCount);
    this.#writtenTo = new Array(laneCount).fill(undefined);
  }

  /** Operations without a result. */
  get operationCount(): number {
    return this.#operationCount;
  }

  /**
   * Begins an operation on the partition. The caller writes its command to the returned buffer and
   * calls `end`. Returns undefined if the operation has failed at once; onFailed has then been
   * called.
   */
  begin(operation: Operation, partition: number): CommandBuffer | undefined {
    operation.partition = partition;
    operation.until = 0;
    operation.number = ++this.#lastNumber;
    if (this.#operationCount >= OPERATIONS_MAX || this.#commandBytes >= COMMAND_BYTES_MAX) {
      return this.#refuse(operation, CROWDED_OUT);
    }
    const { servers, layout } = this.#options;
    const primary = servers.primaryOf(layout.slotOf(partition));
    const { connection } = linkOf(operation, primary) ?? NO_LINK;
    if (
      connection === undefined ||
      (operation.isChange && this.#mustWait(operation, primary!, connection))
    ) {
      return this.#beginAside(operation, primary);
    }
    operation.connection = connection;
    this.#start = connection.commands.length;
    return connection.commands;
  }

  /** Calls `run` just before the queue's changes of this turn are sent, so that it can add some. */
  beforeWrite(place: QueuePlace, run: () => void): void {
    const connection = this.#changeLinkOf(place)?.connection;
    if (connection === undefined) this.#options.clock.endOfTurn(run);
    else connection.beforeWrite(run);
  }

  /** Sends the operation, whose command has been written. */
  end(operation: Operation): void {
    const { connection } = operation;
    this.#operationCount++;
    if (operation.isChange) this.#options.pendingChanges.enter(operation);
    if (connection === undefined) return this.#endAside(operation);
    operation.length = connection.commands.length - this.#start;
    this.#commandBytes += operation.length;
    connection.expect(this.#start, operation);
    if (operation.isChange) this.#count(operation, connection);
  }

  /** Records that a change was written. */
  #count(operation: Operation, connection: RedisConnection): void {
    const lane = laneOf(operation);
    this.#writtenCounts[lane]!++;
    this.#writtenTo[lane] = connection;
    if (operation.changesData) connection.hasChanges = true;
    if (operation.replicaCount > 0) connection.confirmations.add(operation);
  }

  /** Called when the operation has its reply. */
  leave(operation: Operation): void {
    this.#operationCount--;
    this.#commandBytes -= operation.length;
    if (!operation.isChange) return;
    this.#writtenCounts[laneOf(operation)]!--;
    this.#options.pendingChanges.leave(operation);
  }

  /** Called when a server has replied to the operation with an error. */
  onError(operation: Operation, text: string): void {
    const kind = errorKind(text);
    const { servers, layout } = this.#options;
    const { connection } = operation;
    if (kind === MOVED) {
      const address = addressIn(text, connection!.address) ?? connection!.address;
      servers.onMoved(layout.slotOf(operation.partition), address);
    } else if (kind === AGAIN) servers.lookUpSoon();
    else if (kind === NO_SCRIPT) this.#loadScripts(connection!);
    if (kind <= NO_SCRIPT) {
      const askTarget = kind === ASK ? addressIn(text, connection!.address) : undefined;
      return this.#sendAgain(operation, askTarget, true);
    }
    const words = () => firstWords(connection!.copyCommand());
    if (kind >= WRONG_TYPE) this.#options.onFault(text);
    else this.#options.onRefused(connection!.address, () => words()[0] ?? '', text);
    const failure = this.#failureOf(kind, text, words);
    this.leave(operation);
    operation.group = undefined;
    operation.errorText = text;
    operation.onFailed(failure);
  }

  /**
   * Returns the failure for an error that ends an operation. `words`: the first two words of its
   * command.
   */
  #failureOf(
    kind: ReturnType<typeof errorKind>,
    text: string,
    words: () => readonly string[],
  ): Failure {
    if (kind === NO_MEMORY) return FULL;
    if (kind === REFUSED_CHANGE) return firstWord(text) === NO_REPLICAS ? SHORT : REFUSED;
    if (kind === FAULT || !isUnwritten(text, words(), this.#unwrittenLines)) return UNANSWERED;
    return kind === NO_RIGHT ? FORBIDDEN : FOREIGN;
  }

  /** Called when the operation will have no reply. */
  onLost(operation: Operation, wasWritten: boolean): void {
    if (!wasWritten || operation.isRepeatable) return this.#sendAgain(operation, undefined, false);
    this.leave(operation);
    operation.group = undefined;
    operation.onFailed(UNANSWERED);
  }

  /**
   * Sends the operations that can be sent now. Called when a connection is ready or a slot has a
   * new primary.
   */
  sendWaiting(): void {
    if (this.#isClosed) return;
    const now = this.#options.clock.now();
    for (const [partition, lane] of this.#reads) this.#sendReads(partition, lane, now);
    for (const [number, lane] of this.#lanes) this.#sendLane(number, lane, now);
    this.#checkLater();
  }

  /** Fails all operations that wait. Those that were written fail with their connection. */
  close(): void {
    this.#isClosed = true;
    const waiting = [...this.#reads.values(), ...this.#lanes.values()].flat();
    this.#reads.clear();
    this.#lanes.clear();
    for (const { operation } of waiting) this.#fail(operation, AWAY);
  }

  /**
   * Whether the queue's changes fail at once because its primary has been unreachable for a
   * deadline.
   */
  isUnreachable(place: QueuePlace): boolean {
    return this.#isUnreachable(this.#changeLinkOf(place));
  }

  /** Returns why the queue's changes fail while its primary is unreachable. */
  whyAway(place: QueuePlace): Failure {
    return whyAway(this.#changeLinkOf(place));
  }

  #changeLinkOf({ partition, isReplicated }: QueuePlace): Link | undefined {
    const { servers, layout } = this.#options;
    return changeLink(isReplicated, servers.primaryOf(layout.slotOf(partition)));
  }

  #refuse(operation: Operation, failure: Failure, reason = ''): undefined {
    operation.errorText = reason;
    operation.onFailed(failure);
    return undefined;
  }

  /**
   * Whether the change must wait for others or cannot be made. It also waits for the replies of a
   * former primary to earlier changes.
   */
  #mustWait(operation: Operation, primary: Primary, connection: RedisConnection): boolean {
    return (
      this.#lanes.size > 0 ||
      isShort(operation, primary) ||
      this.#isElsewhere(laneOf(operation), connection)
    );
  }

  /** Whether a change of the lane is pending on another connection. */
  #isElsewhere(lane: number, connection: RedisConnection): boolean {
    return this.#writtenCounts[lane]! > 0 && this.#writtenTo[lane] !== connection;
  }

  #beginAside(operation: Operation, primary: Primary | undefined): CommandBuffer | undefined {
    const link = linkOf(operation, primary);
    if (this.#isClosed || this.#isUnreachable(link)) return this.#refuse(operation, whyAway(link));
    if (isShort(operation, primary)) return this.#refuse(operation, SHORT, TOO_FEW);
    const connection = link?.connection;
    const lane = laneOf(operation);
    const isFree =
      !operation.isChange ||
      (!this.#lanes.has(lane) && connection !== undefined && !this.#isElsewhere(lane, connection));
    if (connection !== undefined && isFree) {
      operation.connection = connection;
      this.#start = connection.commands.length;
      return connection.commands;
    }
    operation.connection = undefined;
    this.#aside.clear();
    return this.#aside;
  }

  /**
   * Loads the scripts of a server that has lost them. They are loaded before the operations that
   * are sent to it again.
   */
  #loadScripts(connection: RedisConnection): void {
    if (this.#loading === connection) return;
    this.#loading = connection;
    let left = this.#options.scripts.length;
    const onEnd = () => {
      if (--left === 0 && this.#loading === connection) this.#loading = undefined;
    };
    const receiver = { replyKinds: kindSet(BULK), onReply: onEnd, onLost: onEnd };
    for (const script of this.#options.scripts) loadScript(connection, script, receiver);
  }

  #isUnreachable(link: Link | undefined): boolean {
    const { clock, deadlineMs, servers } = this.#options;
    const since = link === undefined ? servers.awaySince : link.awaySince;
    return since !== undefined && clock.now() - since > deadlineMs;
  }

  #endAside(operation: Operation): void {
    const command = this.#aside.copy(0, this.#aside.length);
    operation.length = command.length;
    this.#commandBytes += command.length;
    operation.until = this.#options.clock.now() + this.#options.deadlineMs;
    this.#wait({ operation, command, askTarget: undefined, isRefused: false });
  }

  /** Sends an operation again that was certainly not done, or is repeatable. */
  #sendAgain(operation: Operation, askTarget: ServerAddress | undefined, isRefused: boolean): void {
    const connection = operation.connection!;
    const command = connection.copyCommand();
    operation.group = undefined;
    operation.connection = undefined;
    if (operation.isChange) this.#writtenCounts[laneOf(operation)]!--;
    if (operation.until === 0) operation.until = connection.lastTime + this.#options.deadlineMs;
    if (this.#isClosed) this.#fail(operation, AWAY);
    else if (this.#isForbidden(operation)) this.#fail(operation, CUT_OFF);
    else this.#wait({ operation, command, askTarget, isRefused });
  }

  #isForbidden({ isChange, changesData }: Operation): boolean {
    return isChange && changesData && !this.#options.mayChange();
  }

  #wait(waiting: Waiting): void {
    const { isChange, partition, number } = waiting.operation;
    const lanes = isChange ? this.#lanes : this.#reads;
    const key = isChange ? laneOf(waiting.operation) : partition;
    const lane = lanes.get(key) ?? [];
    let at = lane.length;
    while (at > 0 && lane[at - 1]!.operation.number > number) at--;
    lane.splice(at, 0, waiting);
    lanes.set(key, lane);
    this.#checkLater();
  }

  #checkLater(): void {
    if (this.#isCheckDue || (this.#reads.size === 0 && this.#lanes.size === 0)) return;
    this.#isCheckDue = true;
    this.#options.clock.after(CHECK_MS, () => {
      this.#isCheckDue = false;
      this.sendWaiting();
    });
  }

  #sendReads(partition: number, lane: Waiting[], now: number): void {
    let sent = 0;
    while (sent < lane.length && this.#send(lane[sent]!, now)) sent++;
    lane.splice(0, sent);
    if (lane.length === 0) this.#reads.delete(partition);
  }

  /**
   * Sends the changes of a lane. Waits for the replies to those written before, to preserve the
   * order of the lane.
   */
  #sendLane(number: number, lane: Waiting[], now: number): void {
    while (lane.length > 0 && this.#writtenCounts[number] === 0) {
      let sent = 0;
      for (const waiting of lane) {
        const isExclusive = waiting.isRefused || waiting.askTarget !== undefined;
        if ((sent > 0 && isExclusive) || !this.#send(waiting, now)) break;
        sent++;
        if (isExclusive) break;
      }
      // If the server accepted the first one, it will accept the rest.
      if (sent > 0 && lane[0]!.isRefused) for (const waiting of lane) waiting.isRefused = false;
      lane.splice(0, sent);
      if (sent === 0) break;
    }
    if (lane.length === 0) this.#lanes.delete(number);
  }

  /** Sends or fails the operation. Returns false if it must continue to wait. */
  #send({ operation, command, askTarget }: Waiting, now: number): boolean {
    const { servers, layout } = this.#options;
    const slot = layout.slotOf(operation.partition);
    const primary = askTarget === undefined ? servers.primaryOf(slot) : servers.at(askTarget);
    const link =
      askTarget === undefined
        ? linkOf(operation, primary)
        : changeLink(operation.isReplicated, primary);
    const connection = link?.connection;
    const isTooFew = isShort(operation, primary);
    const isOver = now >= operation.until || isTooFew;
    if (connection === undefined && !isOver && !this.#isUnreachable(link)) return false;
    if (connection === undefined || isOver) {
      this.#fail(operation, isTooFew ? SHORT : whyAway(link));
      return true;
    }
    const { commands } = connection;
    if (askTarget !== undefined) {
      const askStart = commands.length;
      commands.begin(ASKING);
      connection.expect(askStart, IGNORED);
    }
    operation.connection = connection;
    const start = commands.length;
    commands.whole(command);
    connection.expect(start, operation);
    if (operation.isChange) this.#count(operation, connection);
    return true;
  }

  #fail(operation: Operation, failure: Failure): void {
    this.#operationCount--;
    this.#commandBytes -= operation.length;
    if (operation.isChange) this.#options.pendingChanges.leave(operation);
    operation.onFailed(failure);
  }
}

const NO_LINK = { connection: undefined };

/** Number of lanes of a partition. */
const LANES = 2;

/**
 * Returns the lane of a change. The changes of a partition are in two lanes, those that wait for
 * replicas and the others; the order is preserved within a lane.
 */
function laneOf({ partition, isReplicated }: Operation): number {
  return LANES * partition + (isReplicated ? 1 : 0);
}

function linkOf(operation: Operation, primary: Primary | undefined): Link | undefined {
  return operation.isChange ? changeLink(operation.isReplicated, primary) : primary?.reads;
}

function changeLink(isReplicated: boolean, primary: Primary | undefined): Link | undefined {
  return isReplicated ? primary?.confirmed : primary?.changes;
}

function whyAway(link: Link | undefined): Failure {
  return link?.isForbidden ? FORBIDDEN : AWAY;
}

/** Returns the first two words of a command: its name and the script, if there is one. */
function firstWords(command: Buffer): readonly string[] {
  const [, , name = '', , second = ''] = command
    .toString('latin1', 0, FIRST_BYTES)
    .split('\r\n', 5);
  return [name, second];
}

/** Bytes that contain the first two words of a script call. */
const FIRST_BYTES = 128;

/** Whether the change needs more replicas than its primary has. */
function isShort(operation: Operation, primary: Primary | undefined): boolean {
  if (!operation.isChange || primary === undefined) return false;
  const { replicaCount } = primary;
  return operation.replicaCount > replicaCount || operation.replicasNeeded > replicaCount;
}
