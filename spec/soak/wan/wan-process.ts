/** A member that replicates, as a process of its own that is killed and started again on its port. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuUsOf, residentMibOf } from '../../../bench/load/process-figures.ts';
import type { PublisherStatus } from '../../../src/wan/wan-service.ts';
import { freePort } from '../../free-port.ts';
import { RawClient } from '../../integration/client.ts';
import { type LogLine, serve } from '../../integration/member-process.ts';

const MEMORY = '1g';
const GROUPS = ['DATA', 'WAN', 'CLUSTER_READ'];
const POLL_MS = 20;

export interface WanProcessParts {
  /** A folder for the member's files. */
  readonly folder: string;
  readonly name: string;
  readonly port?: number;
  /** When changes are synced; undefined: the member keeps nothing on the disk. */
  readonly sync?: 'always' | 'interval' | 'never';
  /** The rest of the configuration, below `grid`. */
  readonly grid?: Readonly<Record<string, unknown>>;
}

export class WanProcess {
  readonly name: string;
  readonly port: number;
  readonly #flags: readonly string[];
  #running: Awaited<ReturnType<typeof serve>> | undefined;
  /** The lines of all its lives. */
  readonly lines: LogLine[] = [];

  /** Starts it. */
  static async started(parts: WanProcessParts): Promise<WanProcess> {
    const process = new WanProcess(parts, parts.port ?? (await freePort()));
    await process.start();
    return process;
  }

  private constructor({ folder, name, sync, grid = {} }: WanProcessParts, port: number) {
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
      ...['--port', String(port)],
      ...GROUPS.flatMap((group) => ['--enable-group', group]),
    ];
  }

  async start(): Promise<void> {
    this.#running = await serve(...this.#flags);
  }

  /** Processor time of its present life, in milliseconds. */
  get cpuMs(): number {
    return (cpuUsOf(this.#running?.child.pid) ?? Number.NaN) / 1000;
  }

  get residentMib(): number {
    return residentMibOf(this.#running?.child.pid) ?? Number.NaN;
  }

  /** Ends it at once; resolves when it has ended. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** Its uuid, which is the id of its data set. */
  async dataSet(): Promise<Buffer> {
    const { body } = await this.#ask('GET', 'cluster');
    const { members } = JSON.parse(body.toString()) as { members: { uuid: string }[] };
    return Buffer.from(members[0]?.uuid.replaceAll('-', '') ?? '', 'hex');
  }

  async publishers(): Promise<readonly PublisherStatus[]> {
    const { body } = await this.#ask('GET', 'wan/publishers');
    return (JSON.parse(body.toString()) as { publishers: PublisherStatus[] }).publishers;
  }

  /** The only publisher. */
  async publisher(): Promise<PublisherStatus> {
    const [only] = await this.publishers();
    assert.ok(only !== undefined);
    return only;
  }

  /** `pausePublisher`, `resumePublisher` … of the replication `w`. */
  async call(name: string): Promise<void> {
    const { status, body } = await this.#ask('POST', `wan/${name}`, 'dev&&w&');
    assert.equal(status, 200, body.toString());
  }

  /** Resolves once nothing waits in its queues; rejects after `withinMs`. */
  async isEmptied(withinMs: number): Promise<void> {
    const endMs = performance.now() + withinMs;
    await this.#isEmptied((all) => {
      const told = () => `${this.name} after ${withinMs} ms: ${JSON.stringify(all)}`;
      assert.ok(performance.now() < endMs, told());
    });
  }

  /**
   * Resolves once nothing waits in its queues, however long that takes on a busy machine; rejects after
   * `patienceMs` in which no publisher has sent or dropped an event.
   */
  async drains(patienceMs: number): Promise<void> {
    let before: readonly PublisherStatus[] = [];
    let endMs = 0;
    await this.#isEmptied((all) => {
      const hasProgress = all.some(({ eventsSent, queueSize }, index) => {
        const earlier = before[index];
        if (earlier === undefined) return true;
        return eventsSent > earlier.eventsSent || queueSize < earlier.queueSize;
      });
      if (hasProgress) endMs = performance.now() + patienceMs;
      before = all;
      const told = () => `${this.name}, ${patienceMs} ms without progress: ${JSON.stringify(all)}`;
      assert.ok(performance.now() < endMs, told());
    });
  }

  async #isEmptied(check: (all: readonly PublisherStatus[]) => void): Promise<void> {
    for (;;) {
      const all = await this.publishers();
      if (all.every(({ queueSize }) => queueSize === 0)) return;
      check(all);
      await sleep(POLL_MS);
    }
  }

  async #ask(method: string, path: string, body = '') {
    const client = new RawClient(this.port);
    try {
      return await client.request(method, path, Buffer.from(body));
    } finally {
      client.destroy();
    }
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    this.#running = undefined;
    running.child.kill(signal);
    await running.exited;
    for (const line of running.lines) this.lines.push(line);
  }
}

/** Ends all, whatever becomes of the others. */
export async function endAll(members: readonly WanProcess[]): Promise<void> {
  await Promise.allSettled(members.map((member) => member.kill()));
}

/**
 * A configuration whose maps `own-*` and `both-*` go to these endpoints by one publisher. What is not named
 * is as it is by default, but for the capacity.
 */
export function replicating(
  endpoints: readonly number[],
  policy: string,
  publisher: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const ref = { 'wan-replication-ref': { w: { 'merge-policy-class-name': policy } } };
  const targets = endpoints.map((port) => `127.0.0.1:${port}`).join(',');
  const only = {
    ...{ 'cluster-name': 'dev', 'target-endpoints': targets, 'queue-capacity': 1_000_000 },
    ...publisher,
  };
  return {
    'wan-replication': { w: { 'batch-publisher': { p: only } } },
    map: { 'own-*': ref, 'both-*': ref },
  };
}
