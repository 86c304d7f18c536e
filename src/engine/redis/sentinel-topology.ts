/**
 * The primary that Sentinels monitor. They are asked one after another. The primary that one names
 * must confirm its role itself, as a Sentinel that is cut off names the old one. A subscription
 * reports a failover at once. The Sentinels may have no password although the servers have one.
 * Tested by store-servers.spec.ts.
 */

import { addressText, type ServerAddress } from '../../base/server-address.ts';
import { ControlConnection, ServerError } from './control-connection.ts';
import { SLOT_COUNT } from './layout.ts';
import { LoginRefused } from './redis-connection.ts';
import { assertPermitted, trial } from './rights.ts';
import { SentinelMajority } from './sentinel-majority.ts';
import { judged, modeOf } from './server-info.ts';
import { StoreUnusable } from './servers.ts';
import type { Topology, TopologyOptions, TopologySource } from './topology-source.ts';

const SWITCHED = '+switch-master';
const NO_LOGIN = { user: undefined, password: undefined };
const UNKNOWN_COMMAND = /^ERR unknown command/;
const NO_PASSWORD = /without any password configured/;

/**
 * The faults of one lookup: of a primary that was named, of a Sentinel, and of Sentinels that did
 * not reply.
 */
interface Faults {
  named: Error | undefined;
  unusable: Error | undefined;
  lost: Error | undefined;
}

export class SentinelTopology implements TopologySource {
  readonly usualReplicaCount = 1;
  readonly trials = [];
  readonly #options: TopologyOptions;
  readonly #name: string;
  /** The Sentinels; the one that last named the primary is first. */
  #sentinels: readonly ServerAddress[];
  #sentinel: ControlConnection | undefined;
  /** Sentinels that require no password, by address. */
  readonly #withoutLogin = new Set<string>();
  readonly #majority: SentinelMajority;
  #primary: ControlConnection | undefined;
  #subscription: ControlConnection | undefined;
  #isEnded = false;

  constructor(options: TopologyOptions, name: string) {
    this.#options = options;
    this.#name = name;
    this.#sentinels = options.url.servers;
    this.#majority = new SentinelMajority(name, options.url.servers, {
      connect: (address) => this.#connected(undefined, address, true),
      onFailed: (address, error) => {
        if (needsNoLogin(error)) this.#withoutLogin.add(addressText(address));
      },
    });
  }

  async lookUp(): Promise<Topology> {
    const sentinels = this.#sentinels;
    const faults = { named: undefined, unusable: undefined, lost: undefined } as Faults;
    for (const [index, sentinel] of sentinels.entries()) {
      const named = await this.#askSentinel(sentinel).catch((error: Error) => {
        faults[error instanceof StoreUnusable ? 'unusable' : 'lost'] = error;
      });
      if (named === undefined) continue;
      const fault = await this.#faultOf(named);
      if (fault === undefined) {
        this.#sentinels = [...sentinels.slice(index), ...sentinels.slice(0, index)];
        this.#subscribe(sentinel);
        return { ranges: [{ first: 0, last: SLOT_COUNT - 1, primary: named }], isWhole: true };
      }
      faults.named = fault;
    }
    // A Sentinel that does not know the name is ignored if another one does.
    throw faults.named ?? faults.unusable ?? faults.lost ?? new Error('no Sentinel answers');
  }

  /** Checks the rights on each Sentinel that replies. */
  async assertPermitted(): Promise<void> {
    const { user } = this.#options.connection.login;
    const trials = [
      trial('PING'),
      trial('SENTINEL MYID'),
      trial('SENTINEL GET-MASTER-ADDR-BY-NAME', this.#name),
      trial('SENTINEL SENTINELS', this.#name),
      { command: 'SUBSCRIBE', words: ['SUBSCRIBE', SWITCHED], pattern: SWITCHED },
    ];
    await Promise.all(
      this.#sentinels.map(async (address) => {
        const control = this.#connected(undefined, address, true);
        try {
          await assertPermitted(control, user, trials);
        } catch (error) {
          if (error instanceof StoreUnusable) throw error;
        } finally {
          control.end();
        }
      }),
    );
  }

  async agreesOn(primary: ServerAddress): Promise<boolean> {
    return await this.#majority.names(primary);
  }

  end(): void {
    this.#isEnded = true;
    this.#majority.end();
    this.#sentinel?.end();
    this.#primary?.end();
    this.#subscription?.end();
  }

  async #askSentinel(address: ServerAddress): Promise<ServerAddress> {
    try {
      const named = await this.#asked(address);
      if (named === null) {
        throw new StoreUnusable(
          `Cannot find "${this.#name}" of engine URL "${this.#options.url.text}": ` +
            `the Sentinel ${addressText(address)} monitors no primary of that name`,
        );
      }
      const [host, port] = Array.isArray(named) ? named : [];
      if (typeof host !== 'string') throw new Error('a reply without an address');
      return { host, port: Number(port) };
    } catch (error) {
      if (error instanceof ServerError && UNKNOWN_COMMAND.test(error.message)) {
        const { text } = this.#options.url;
        throw new StoreUnusable(
          `Cannot use engine URL "${text}": ${addressText(address)} is not a Sentinel`,
        );
      }
      if (!(error instanceof StoreUnusable)) this.#options.onLost(address, error as Error);
      throw judged(error, address, this.#options.connection.login);
    }
  }

  async #asked(address: ServerAddress): Promise<unknown> {
    const words = ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', this.#name] as const;
    this.#sentinel = this.#connected(this.#sentinel, address, true);
    try {
      return await this.#sentinel.ask(...words);
    } catch (error) {
      if (!needsNoLogin(error)) throw error;
      this.#withoutLogin.add(addressText(address));
      this.#sentinel = this.#connected(undefined, address, true);
      return await this.#sentinel.ask(...words);
    }
  }

  /** Returns why the server cannot be the primary; undefined if it is. */
  async #faultOf(address: ServerAddress): Promise<Error | undefined> {
    try {
      const isNew = this.#primary === undefined || !isAt(this.#primary, address);
      this.#primary = this.#connected(this.#primary, address, false);
      if (isNew) await modeOf(this.#primary);
      const role = await this.#primary.ask('ROLE');
      const [kind] = Array.isArray(role) ? role : [];
      if (kind !== 'master')
        throw new Error(`it is a ${kind}, although a Sentinel names it as the primary`);
      return undefined;
    } catch (error) {
      this.#options.onLost(address, error as Error);
      return judged(error, address, this.#options.connection.login);
    }
  }

  #subscribe(address: ServerAddress): void {
    const current = this.#subscription;
    // A stopped Sentinel does not reply, which ends the connection.
    if (current !== undefined && !current.isEnded && isAt(current, address))
      return ignore(current.ask('PING'));
    current?.end();
    const { onChange } = this.#options;
    const made = new ControlConnection(address, this.#optionsFor(address, true), {
      onMessage: onChange,
      onEnded: onChange,
    });
    this.#subscription = made;
    ignore(made.ask('SUBSCRIBE', SWITCHED));
  }

  /** Returns the connection `current` if it is open and to that server; otherwise a new one. */
  #connected(
    current: ControlConnection | undefined,
    address: ServerAddress,
    isSentinel: boolean,
  ): ControlConnection {
    if (this.#isEnded) throw new Error('the engine is closed');
    if (current !== undefined && !current.isEnded && isAt(current, address)) return current;
    current?.end();
    return new ControlConnection(address, this.#optionsFor(address, isSentinel));
  }

  #optionsFor(address: ServerAddress, isSentinel: boolean): TopologyOptions['connection'] {
    const { connection } = this.#options;
    const hasLogin = !(isSentinel && this.#withoutLogin.has(addressText(address)));
    return hasLogin ? connection : { ...connection, login: NO_LOGIN };
  }
}

/** Whether the Sentinel has refused a password because none is configured. */
function needsNoLogin(error: unknown): boolean {
  return error instanceof LoginRefused && NO_PASSWORD.test(error.message);
}

function isAt(control: ControlConnection, address: ServerAddress): boolean {
  return addressText(control.address) === addressText(address);
}

function ignore(reply: Promise<unknown>): void {
  reply.catch(() => {});
}
