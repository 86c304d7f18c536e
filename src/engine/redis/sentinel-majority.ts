/**
 * Checks whether a majority of the Sentinels names a server as the primary. A Sentinel that is cut
 * off still names the old primary, but it also counts the others, so it is no majority. All are
 * queried at once: the Sentinels of the URL and those that they list. Each counts once, by its id,
 * as it may have several addresses.
 */
import { addressText, type ServerAddress } from '../../base/server-address.ts';
import type { ControlConnection, ReplyValue } from './control-connection.ts';

interface SentinelMajorityOptions {
  connect(address: ServerAddress): ControlConnection;
  /** Called when the Sentinel could not be asked. */
  onFailed(address: ServerAddress, error: unknown): void;
}

interface Sentinel {
  readonly address: ServerAddress;
  control: ControlConnection | undefined;
  /** Whether a query is pending. */
  isPending: boolean;
}

interface SentinelReport {
  readonly id: string;
  /** The address of the primary. */
  readonly named: string;
  readonly others: readonly ServerAddress[];
}

export class SentinelMajority {
  readonly #name: string;
  readonly #options: SentinelMajorityOptions;
  readonly #configured: readonly ServerAddress[];
  readonly #sentinels = new Map<string, Sentinel>();

  /** `name`: the name that the Sentinels monitor; `configured`: the addresses of the URL. */
  constructor(
    name: string,
    configured: readonly ServerAddress[],
    options: SentinelMajorityOptions,
  ) {
    this.#name = name;
    this.#configured = configured;
    this.#options = options;
    for (const address of configured) this.#add(address);
  }

  /** Never rejects. */
  async names(primary: ServerAddress): Promise<boolean> {
    const wanted = addressText(primary);
    const all = new Set<string>();
    const naming = new Set<string>();
    const listed = new Set(this.#configured.map(addressText));
    let count = this.#configured.length;
    return await new Promise((resolve) => {
      const reports = [...this.#sentinels.values()].map(async (sentinel) => {
        const report = await this.#ask(sentinel);
        if (report === undefined) return;
        all.add(report.id);
        if (report.named === wanted) naming.add(report.id);
        for (const address of report.others) listed.add(addressText(this.#add(address)));
        count = Math.max(count, report.others.length + 1, all.size);
        if (2 * naming.size > count) resolve(true);
      });
      void Promise.all(reports).then(() => {
        if (all.size > 0) this.#forget(listed);
        resolve(false);
      });
    });
  }

  end(): void {
    for (const { control } of this.#sentinels.values()) control?.end();
  }

  #add(address: ServerAddress): ServerAddress {
    const key = addressText(address);
    if (!this.#sentinels.has(key)) {
      this.#sentinels.set(key, { address, control: undefined, isPending: false });
    }
    return address;
  }

  #forget(listed: ReadonlySet<string>): void {
    for (const [key, sentinel] of this.#sentinels) {
      if (listed.has(key)) continue;
      sentinel.control?.end();
      this.#sentinels.delete(key);
    }
  }

  /** Returns undefined if the Sentinel does not reply. */
  async #ask(sentinel: Sentinel): Promise<SentinelReport | undefined> {
    if (sentinel.isPending) return undefined;
    sentinel.isPending = true;
    try {
      if (sentinel.control === undefined || sentinel.control.isEnded) {
        sentinel.control = this.#options.connect(sentinel.address);
      }
      const { control } = sentinel;
      const [id, named, others] = await Promise.all([
        control.ask('SENTINEL', 'MYID'),
        control.ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', this.#name),
        control.ask('SENTINEL', 'SENTINELS', this.#name),
      ]);
      return { id: `${id}`, named: namedIn(named), others: othersIn(others) };
    } catch (error) {
      this.#options.onFailed(sentinel.address, error);
      return undefined;
    } finally {
      sentinel.isPending = false;
    }
  }
}

function namedIn(reply: ReplyValue): string {
  const [host, port] = Array.isArray(reply) ? reply : [];
  return addressText({ host: `${host}`, port: Number(port) });
}

/** Each row is an array of names and values. */
function othersIn(reply: ReplyValue): ServerAddress[] {
  const rows = Array.isArray(reply) ? reply : [];
  return rows.map((row) => {
    const words: readonly unknown[] = Array.isArray(row) ? row : [];
    const fieldOf = (name: string) => words[words.indexOf(name) + 1];
    return { host: `${fieldOf('ip')}`, port: Number(fieldOf('port')) };
  });
}
