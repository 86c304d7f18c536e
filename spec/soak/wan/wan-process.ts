/**
 * A member with WAN replication in a process of its own, which can be killed and restarted on its
 * port. After the test that has started it, it is killed and its files are removed.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuUsOf, residentMibOf } from '../../../bench/load/process-figures.ts';
import type { PublisherStatus } from '../../../src/wan/wan-status.ts';
import { freePort } from '../../free-port.ts';
import { RawClient } from '../../integration/client.ts';
import { serve } from '../../integration/member-process.ts';

const MEMORY = '1g';
const GROUPS = ['DATA', 'WAN', 'CLUSTER_READ'];
const POLL_MS = 20;

interface WanProcessParts {
  readonly name: string;
  readonly port?: number;
  /** Sync mode, or undefined for a member without persistence. */
  readonly sync?: 'always' | 'interval' | 'never';
  /** The rest of the configuration, under `grid`. */
  readonly grid?: Readonly<Record<string, unknown>>;
}

export class WanProcess {
  readonly name: string;
  readonly port: number;
  readonly #flags: readonly string[];
  #running: Awaited<ReturnType<typeof serve>> | undefined;

  /** Starts a member for the current test. */
  static async started(parts: WanProcessParts): Promise<WanProcess> {
    const folder = mkdtempSync(join(tmpdir(), `wan-${parts.name}-`));
    const process = new WanProcess(parts, folder, parts.port ?? (await freePort()));
    after(async () => {
      await process.kill();
      rmSync(folder, { recursive: true });
    });
    await process.start();
    return process;
  }

  private constructor({ name, sync, grid = {} }: WanProcessParts, folder: string, port: number) {
    this.name = name;
    this.port = port;
    const file = join(folder, `${name}.json`);
    const persistence =
      sync === undefined
        ? {}
        : { persistence: { enabled: true, 'base-dir': join(folder, name), sync } };
    writeFileSync(file, JSON.stringify({ grid: { ...persistence, ...grid } }));
    const flags = { '--config': file, '--host': '127.0.0.1', '--max-memory': MEMORY };
    this.#flags = [
      ...Object.entries(flags).flat(),
      '--port',
      String(port),
      ...GROUPS.flatMap((group) => ['--enable-group', group]),
    ];
  }

  async start(): Promise<void> {
    this.#running = await serve(...this.#flags);
  }

  /** Returns the identity of its data set. */
  async dataSet(): Promise<Buffer> {
    const { body } = await this.#request('GET', 'cluster');
    const { members } = JSON.parse(body.toString()) as { members: { uuid: string }[] };
    return Buffer.from(members[0]?.uuid.replaceAll('-', '') ?? '', 'hex');
  }

  get pid(): number | undefined {
    return this.#running?.child.pid;
  }

  /** Processor time of the current process, in ms. */
  get cpuMs(): number {
    return (cpuUsOf(this.pid) ?? Number.NaN) / 1000;
  }

  get residentMib(): number {
    return residentMibOf(this.pid) ?? Number.NaN;
  }

  /** Kills the process. Resolves when it has ended. */
  async kill(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    running?.child.kill('SIGKILL');
    await running?.exited;
  }

  async publishers(): Promise<readonly PublisherStatus[]> {
    const { body } = await this.#request('GET', 'wan/publishers');
    return (JSON.parse(body.toString()) as { publishers: PublisherStatus[] }).publishers;
  }

  /** Returns the status of the only publisher. */
  async publisher(): Promise<PublisherStatus> {
    const [only] = await this.publishers();
    assert.ok(only !== undefined);
    return only;
  }

  /** Calls `pausePublisher`, `resumePublisher` … for the replication `w`. */
  async call(name: string): Promise<void> {
    const { status, body } = await this.#request('POST', `wan/${name}`, 'dev&&w&');
    assert.equal(status, 200, body.toString());
  }

  /** Resolves once the member's queues are empty; rejects after `withinMs`. */
  async awaitEmpty(withinMs: number): Promise<void> {
    const endMs = performance.now() + withinMs;
    await this.#awaitEmpty((all) => {
      const describe = () => `${this.name} after ${withinMs} ms: ${JSON.stringify(all)}`;
      assert.ok(performance.now() < endMs, describe());
    });
  }

  /**
   * Resolves once the member's queues are empty, regardless of the time; rejects if no publisher
   * sends or drops an event for `patienceMs`.
   */
  async awaitDrained(patienceMs: number): Promise<void> {
    let before: readonly PublisherStatus[] = [];
    let endMs = 0;
    await this.#awaitEmpty((all) => {
      const hasProgress = all.some(({ eventsSent, queueSize }, index) => {
        const earlier = before[index];
        if (earlier === undefined) return true;
        return eventsSent > earlier.eventsSent || queueSize < earlier.queueSize;
      });
      if (hasProgress) endMs = performance.now() + patienceMs;
      before = all;
      const describe = () =>
        `${this.name}, ${patienceMs} ms without progress: ${JSON.stringify(all)}`;
      assert.ok(performance.now() < endMs, describe());
    });
  }

  async #awaitEmpty(check: (all: readonly PublisherStatus[]) => void): Promise<void> {
    for (;;) {
      const all = await this.publishers();
      if (all.every(({ queueSize }) => queueSize === 0)) return;
      check(all);
      await sleep(POLL_MS);
    }
  }

  async #request(method: string, path: string, body = '') {
    const client = new RawClient(this.port);
    try {
      return await client.request(method, path, Buffer.from(body));
    } finally {
      client.destroy();
    }
  }
}

/**
 * Returns a configuration that sends the maps `own-*` and `both-*` with a publisher for each list of
 * endpoints. All settings except the capacity have their defaults unless `publisher` or `map` sets
 * them.
 */
export function replicating(
  targets: readonly (readonly number[])[],
  policy: string,
  publisher: Readonly<Record<string, unknown>> = {},
  map: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const publishers = targets.map((ports, index) => {
    const endpoints = ports.map((port) => `127.0.0.1:${port}`).join(',');
    const own = { 'cluster-name': 'dev', 'target-endpoints': endpoints };
    return [`p${index}`, { ...own, 'queue-capacity': 1_000_000, ...publisher }];
  });
  const ref = { 'wan-replication-ref': { w: { 'merge-policy-class-name': policy } } };
  return {
    'wan-replication': { w: { 'batch-publisher': Object.fromEntries(publishers) } },
    map: { 'own-*': { ...ref, ...map }, 'both-*': { ...ref, ...map } },
  };
}
