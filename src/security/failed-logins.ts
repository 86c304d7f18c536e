/**
 * Decides which key a login attempt counts for and whether it has to wait: after five failures of a
 * key within ten seconds (failure-throttle.ts). The key of an administrative attempt is its network
 * (client-network.ts). On the data paths it is the network with the user's name, so that one client
 * behind a load balancer does not lock out the others. A client that tries many names would then
 * have five attempts with each, and would fill the table. So after 200 failures a network has to
 * wait with every name, except names that have logged in from it. These names also get a key when
 * the table is full; other names then count for their network. Tested by authenticator.spec.ts.
 */
import { createHash } from 'node:crypto';
import { networkOf } from './client-network.ts';
import type { Attempt } from './credentials.ts';
import { FailureThrottle } from './failure-throttle.ts';

/**
 * Number of failures after which a network has to wait with names that have not logged in from it.
 */
const NETWORK_FAILURES_MAX = 200;
/** Maximum number of recorded names that have logged in, each with its network. */
const LOGGED_IN_MAX = 10_000;

/** The key that an attempt counts for. */
export interface CountedBy {
  readonly throttle: FailureThrottle;
  readonly key: string;
  readonly network: string;
  /** Key of network and user name, if the failures of all names also count; else undefined. */
  readonly name: string | undefined;
  /** Whether the name has logged in from the network. */
  readonly hasLoggedIn: boolean;
}

/** A key that has to wait, and the time. */
interface Wait {
  readonly key: string;
  readonly waitMs: number;
}

export class FailedLogins {
  readonly #byNetwork = new FailureThrottle();
  readonly #byName = new FailureThrottle();
  readonly #ofAllNames = new FailureThrottle(undefined, NETWORK_FAILURES_MAX);
  /** Names that have logged in, with their networks, least recently used first. */
  readonly #loggedIn = new Set<string>();

  countedBy({ address, user, isCountedByUser }: Attempt, nowMs: number): CountedBy {
    const network = networkOf(address);
    const byNetwork = { throttle: this.#byNetwork, key: network, network };
    if (!isCountedByUser) return { ...byNetwork, name: undefined, hasLoggedIn: false };
    const name = nameKey(network, user);
    const hasLoggedIn = this.#loggedIn.has(name);
    return hasLoggedIn || this.#byName.hasRoom(name, nowMs)
      ? { throttle: this.#byName, key: name, network, name, hasLoggedIn }
      : { ...byNetwork, name, hasLoggedIn };
  }

  /** Undefined if the attempt may be made now. */
  wait({ throttle, key, network, name, hasLoggedIn }: CountedBy, nowMs: number): Wait | undefined {
    const waitMs = throttle.waitMs(key, nowMs);
    if (waitMs > 0) return { key, waitMs };
    const ofAllMs = name === undefined || hasLoggedIn ? 0 : this.#ofAllNames.waitMs(network, nowMs);
    return ofAllMs > 0 ? { key: network, waitMs: ofAllMs } : undefined;
  }

  /** Counts an attempt as failed. */
  begin({ throttle, key, network, name }: CountedBy, nowMs: number): void {
    throttle.begin(key, nowMs);
    if (name !== undefined) this.#ofAllNames.begin(network, nowMs);
  }

  /** Withdraws the failure counted at `startMs`: the attempt proved right. */
  withdraw({ throttle, key, network, name }: CountedBy, startMs: number): void {
    throttle.withdraw(key, startMs);
    if (name !== undefined) this.#ofAllNames.withdraw(network, startMs);
  }

  /** Records that the name has logged in. */
  proveRight({ name }: CountedBy): void {
    if (name === undefined) return;
    this.#loggedIn.delete(name);
    this.#loggedIn.add(name);
    if (this.#loggedIn.size > LOGGED_IN_MAX)
      this.#loggedIn.delete(this.#loggedIn.keys().next().value ?? '');
  }

  /** Number of keys in the tables. */
  get size(): number {
    const counted = this.#byNetwork.size + this.#byName.size;
    return counted + this.#ofAllNames.size + this.#loggedIn.size;
  }
}

/** Returns a key of bounded length for a name of any length. */
function nameKey(network: string, user: Buffer): string {
  return `${network} ${createHash('sha256').update(user).digest('base64')}`;
}
