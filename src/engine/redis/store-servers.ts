/**
 * The servers of the store: a table from each slot to its primary, updated from lookups of the
 * topology. MOVED changes it at once. A lookup follows every second while a server or slot is
 * unavailable, otherwise every 10 s, and soon after anything that suggests a change. The
 * connections of a primary without slots are ended, so that operations waiting for its replies are
 * sent elsewhere. Every second, each server is asked for its role and replicas, and one of the
 * primaries for its time; if one is silent, a lookup follows.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import type { EngineUrl } from '../../base/engine-url.ts';
import { addressText, type ServerAddress } from '../../base/server-address.ts';
import { ControlConnection } from './control-connection.ts';
import { SLOT_COUNT } from './layout.ts';
import { Primary, type PrimaryOptions } from './primary.ts';
import { judged } from './server-info.ts';
import { warningsOf } from './server-warnings.ts';
import { type Servers, type ServersObserver, StoreUnusable } from './servers.ts';
import { findTopology } from './topology.ts';
import type { Topology, TopologyOptions, TopologySource } from './topology-source.ts';

const LOOKUP_MS = 10_000;
const LOOKUP_MS_DEGRADED = 1000;
/** Delay between the end of a lookup and the next one if a change causes it, in ms. */
const LOOKUP_MS_SOON = 100;
const CHECK_MS = 1000;
/** Time without a reply to the last check after which a primary is silent, in ms. */
const SILENT_MS = CHECK_MS / 2;
/** Maximum time for which one server delays a lookup, in ms. */
const REPLY_MS_MAX = 2000;

export class StoreServers implements Servers {
  primaries: readonly Primary[] = [];
  awaySince: number | undefined;
  readonly #options: PrimaryOptions;
  readonly #observer: ServersObserver;
  readonly #clock: Clock;
  readonly #slots: (Primary | undefined)[] = new Array(SLOT_COUNT).fill(undefined);
  /** Connected servers, by address: the primaries, and those that ASK has named. */
  readonly #servers = new Map<string, Primary>();
  /** Time at which a redirection last named the server, by `clock.now()`. */
  readonly #redirectedAt = new Map<Primary, number>();
  readonly #topologyOptions: TopologyOptions;
  #source: TopologySource | undefined;
  /** Whether the first lookup has succeeded. */
  #isKnown = false;
  #isWhole = false;
  #isLookingUp = false;
  /** Whether another lookup should follow soon. */
  #isLookupDue = false;
  #lookedUpAt: number;
  #next: Timer | undefined;
  #check: Timer | undefined;
  #isClosed = false;
  /** Primaries on which the user has the rights. */
  readonly #permitted = new WeakSet<Primary>();
  /** Wakes `open`, which checks whether it can end. */
  #onProgress: () => void = () => {};

  constructor(url: EngineUrl, options: PrimaryOptions, observer: ServersObserver) {
    this.#options = options;
    this.#observer = observer;
    this.#clock = options.clock;
    this.awaySince = this.#clock.now();
    this.#lookedUpAt = this.#clock.now();
    this.#topologyOptions = {
      url,
      connection: { ...options, deadlineMs: this.#replyMs() },
      onChange: () => this.lookUpSoon(),
      onLost: (address, reason) => observer.onLost(address, reason),
    };
  }

  get usualReplicaCount(): number {
    return this.#source?.usualReplicaCount ?? 0;
  }

  primaryOf(slot: number): Primary | undefined {
    return this.#slots[slot];
  }

  at(address: ServerAddress): Primary {
    const server = this.#serverAt(address);
    this.#redirectedAt.set(server, this.#clock.now());
    return server;
  }

  async agreeOn(primary: ServerAddress): Promise<boolean> {
    return (await this.#source?.agreesOn(primary)) ?? false;
  }

  onMoved(slot: number, address: ServerAddress): void {
    if (this.#isClosed) return;
    const server = this.#serverAt(address);
    if (this.#slots[slot] !== server) {
      this.#slots[slot] = server;
      if (!this.primaries.includes(server)) this.primaries = [...this.primaries, server];
    }
    this.lookUpSoon();
  }

  lookUpSoon(): void {
    if (this.#isClosed || !this.#isKnown) return;
    if (this.#isLookingUp) {
      this.#isLookupDue = true;
      return;
    }
    if (this.#isLookupDue) return;
    this.#isLookupDue = true;
    this.#lookUpAfter(Math.max(0, this.#lookedUpAt + LOOKUP_MS_SOON - this.#clock.now()));
  }

  async open(): Promise<void> {
    while (!(await this.#isFound())) await this.#pause(LOOKUP_MS_DEGRADED);
    // Before connections are awaited, as they are not ready without some of the rights.
    await this.#source!.assertPermitted();
    await Promise.all(this.primaries.map((primary) => this.#assertPermitted(primary)));
    const end = this.#clock.now() + this.#options.deadlineMs;
    // After the deadline, some primaries are enough.
    while (!this.#isConnected(this.#clock.now() >= end)) await this.#pause(LOOKUP_MS_DEGRADED);
    this.#checkEachSecond();
  }

  async inspect(replicaCount: number): Promise<string[]> {
    const warnings: string[] = [];
    const { usualReplicaCount } = this;
    const { allowsEviction } = this.#options;
    for (const primary of this.primaries) {
      await this.#assertPermitted(primary);
      await this.#ask(primary, async (control) => {
        const needed = { usualReplicaCount, replicaCount, allowsEviction };
        warnings.push(...(await warningsOf(control, needed)));
      });
    }
    return warnings;
  }

  /** Checks the user's rights. A server that does not reply is tried again by `inspect`. */
  async #assertPermitted(primary: Primary): Promise<void> {
    if (this.#permitted.has(primary)) return;
    const { rights, login } = this.#options;
    await this.#ask(primary, async (control) => {
      await rights.assertOn(control, login.user, this.#source!.trials);
      this.#permitted.add(primary);
    });
  }

  /** Rejects only with StoreUnusable. */
  async #ask(
    { address }: Primary,
    run: (control: ControlConnection) => Promise<void>,
  ): Promise<void> {
    const control = new ControlConnection(address, this.#topologyOptions.connection);
    try {
      await run(control);
    } catch (error) {
      const fault = judged(error, address, this.#options.login);
      if (fault instanceof StoreUnusable) throw fault;
      this.#observer.onLost(address, fault);
    } finally {
      control.end();
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#next?.cancel();
    this.#check?.cancel();
    this.#source?.end();
    for (const server of this.#servers.values()) server.end();
    this.#onProgress();
  }

  #replyMs(): number {
    return Math.min(this.#options.deadlineMs, REPLY_MS_MAX);
  }

  /** Executes the first lookup. Returns false if it must be tried again. */
  async #isFound(): Promise<boolean> {
    try {
      this.#source ??= await findTopology(this.#topologyOptions);
      const topology = await this.#source.lookUp();
      this.#assertOpen();
      this.#apply(topology);
    } catch (error) {
      this.#assertOpen();
      if (error instanceof StoreUnusable) throw error;
      return false;
    }
    this.#isKnown = true;
    this.#endLookup();
    return true;
  }

  #isConnected(isPartEnough: boolean): boolean {
    this.#assertOpen();
    const { primaries } = this;
    return isPartEnough
      ? primaries.some(({ isReady }) => isReady)
      : primaries.length > 0 && primaries.every(({ isReady }) => isReady);
  }

  #assertOpen(): void {
    if (!this.#isClosed) return;
    this.#source?.end();
    throw new Error('the engine was closed before it was open');
  }

  /** Waits for the time, or until there is progress. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(ms, resolve);
      this.#onProgress = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  #lookUpAfter(ms: number): void {
    this.#next?.cancel();
    this.#next = this.#clock.after(Math.ceil(ms), () => void this.#lookUpNow());
  }

  async #lookUpNow(): Promise<void> {
    this.#isLookingUp = true;
    this.#isLookupDue = false;
    try {
      const topology = await this.#source!.lookUp();
      if (!this.#isClosed) this.#apply(topology);
    } catch {
      // onLost has reported each server that could not be asked.
      this.#isWhole = false;
      this.awaySince ??= this.#clock.now();
    } finally {
      this.#endLookup();
    }
  }

  #endLookup(): void {
    this.#isLookingUp = false;
    this.#lookedUpAt = this.#clock.now();
    if (this.#isClosed) return;
    const isDegraded = !this.#isWhole || !this.primaries.every(({ isReady }) => isReady);
    this.#lookUpAfter(
      this.#isLookupDue ? LOOKUP_MS_SOON : isDegraded ? LOOKUP_MS_DEGRADED : LOOKUP_MS,
    );
  }

  #apply({ ranges, isWhole }: Topology): void {
    const primaries = new Set<Primary>();
    this.#slots.fill(undefined);
    for (const { first, last, primary } of ranges) {
      const server = this.#serverAt(primary);
      primaries.add(server);
      this.#slots.fill(server, first, last + 1);
    }
    this.primaries = [...primaries];
    this.#isWhole = isWhole;
    this.awaySince = undefined;
    const unused = [...this.#servers].filter(
      ([, server]) => !primaries.has(server) && !this.#isRedirectTarget(server),
    );
    for (const [key, server] of unused) {
      this.#servers.delete(key);
      this.#redirectedAt.delete(server);
      server.end();
    }
    this.#observer.onReady();
    this.#onProgress();
  }

  #isRedirectTarget(server: Primary): boolean {
    const redirectedAt = this.#redirectedAt.get(server) ?? Number.NEGATIVE_INFINITY;
    return this.#clock.now() - redirectedAt < this.#options.deadlineMs;
  }

  #serverAt(address: ServerAddress): Primary {
    const key = addressText(address);
    const existing = this.#servers.get(key);
    if (existing !== undefined) return existing;
    const server: Primary = new Primary(address, this.#options, {
      onReady: () => {
        server.check();
        this.#observer.onReady();
        this.#onProgress();
      },
      onEviction: (policy) => this.#observer.onEviction(address, policy),
      onLost: (where, reason) => {
        this.#observer.onLost(where, reason);
        this.lookUpSoon();
      },
    });
    this.#servers.set(key, server);
    return server;
  }

  /**
   * Checks all servers. The time is read from the first primary that is available, so that it does
   * not jump between the servers' clocks.
   */
  #checkEachSecond(): void {
    // A stopped server may have been replaced, while its connections remain open until the
    // deadline.
    if (this.primaries.some((primary) => primary.isSilent(SILENT_MS))) this.lookUpSoon();
    for (const server of this.#servers.values()) server.check();
    const { onTime } = this.#observer;
    for (const primary of this.primaries) {
      if (primary.readTime((ms, sentAt) => onTime.call(this.#observer, ms, sentAt))) break;
    }
    this.#check = this.#clock.after(CHECK_MS, () => this.#checkEachSecond());
  }
}
