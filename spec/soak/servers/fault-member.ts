/** A member as a process of the built program, which can be killed, suspended and restarted. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReceivedResponse } from '../../integration/client.ts';
import type { Place } from '../../peers/server-group.ts';
import { ROOT } from '../../peers/tools.ts';
import { FaultClient, type RequestResult } from './fault-client.ts';

const PROGRAM = join(ROOT, 'dist/bin/gridnode.js');
const START_MS_MAX = 30_000;
const RESPONSE_MS_MAX = 2000;
/** Messages that a member logs while servers cannot be reached, or after it was suspended. */
const UNREACHABLE = /does not answer|silent for too long/;

interface LogLine {
  readonly level: string;
  readonly msg: string;
}

export class FaultMember {
  readonly place: Place;
  readonly port: number;
  /** Errors that the member has logged, and unexpected exits. */
  readonly problems: string[] = [];
  readonly #words: readonly string[];
  #child: ChildProcess | undefined;

  constructor(place: Place, port: number, words: readonly string[]) {
    this.place = place;
    this.port = port;
    this.#words = ['serve', '--port', `${port}`, '--host', place.host, ...words];
  }

  /** Starts the member. Resolves once it is ready. */
  async start(): Promise<void> {
    const [program = '', ...words] = [...this.place.runner, PROGRAM, ...this.#words];
    const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child = child;
    createInterface({ input: child.stdout }).on('line', (text) => {
      const { level, msg } = JSON.parse(text) as LogLine;
      if (level === 'fatal' || (level === 'error' && !UNREACHABLE.test(msg)))
        this.problems.push(`${this.port}: ${msg}`);
    });
    child.once('exit', (code, signal) => {
      if (this.#child === child) this.problems.push(`${this.port}: ended, ${code ?? signal}`);
    });
    const end = performance.now() + START_MS_MAX;
    while (!(await this.isReady())) {
      assert.equal(child.exitCode, null, this.problems.join());
      assert.ok(performance.now() < end, `the member on port ${this.port} has not started`);
      await sleep(50);
    }
  }

  async isReady(): Promise<boolean> {
    return (await this.#requested((client) => client.requestReady()))?.status === 200;
  }

  /** Returns the uuids of the members, the oldest first, or undefined without a response. */
  async memberList(): Promise<string | undefined> {
    const response = await this.#requested((client) => client.request('GET', 'cluster'));
    if (response?.status !== 200) return undefined;
    const { members } = JSON.parse(response.body.toString()) as { members: { uuid: string }[] };
    return members.map(({ uuid }) => uuid).join(' ');
  }

  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  async #requested(
    send: (client: FaultClient) => Promise<RequestResult>,
  ): Promise<ReceivedResponse | undefined> {
    const client = new FaultClient(this.place.host, this.port, RESPONSE_MS_MAX);
    const result = await send(client);
    client.end();
    return typeof result === 'string' ? undefined : result;
  }
}
