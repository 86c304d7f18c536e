/** A member as a process of the built program, which can be killed, stopped in place and started again. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReceivedResponse } from '../../integration/client.ts';
import type { Place } from '../../peers/server-group.ts';
import { ROOT } from '../../peers/tools.ts';
import { type Asked, FaultClient } from './fault-client.ts';

const PROGRAM = join(ROOT, 'dist/bin/gridnode.js');
const START_MS_MAX = 30_000;
const TOLD_MS_MAX = 2000;
/** Logged wherever servers are away, or a member was. */
const AWAY = /does not answer|silent for too long/;

interface LogLine {
  readonly level: string;
  readonly msg: string;
}

export class FaultMember {
  readonly place: Place;
  readonly port: number;
  /** What it has logged as an error, and ends that nobody asked for. */
  readonly troubles: string[] = [];
  readonly #words: readonly string[];
  #child: ChildProcess | undefined;

  constructor(place: Place, port: number, words: readonly string[]) {
    this.place = place;
    this.port = port;
    this.#words = ['serve', '--port', `${port}`, '--host', place.host, ...words];
  }

  /** Resolves once it serves. */
  async start(): Promise<void> {
    const [program = '', ...words] = [...this.place.runner, PROGRAM, ...this.#words];
    const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child = child;
    createInterface({ input: child.stdout }).on('line', (text) => {
      const { level, msg } = JSON.parse(text) as LogLine;
      if (level === 'fatal' || (level === 'error' && !AWAY.test(msg)))
        this.troubles.push(`${this.port}: ${msg}`);
    });
    child.once('exit', (code, signal) => {
      if (this.#child === child) this.troubles.push(`${this.port}: ended, ${code ?? signal}`);
    });
    const end = performance.now() + START_MS_MAX;
    while (!(await this.isReady())) {
      assert.equal(child.exitCode, null, this.troubles.join());
      assert.ok(performance.now() < end, `the member on port ${this.port} does not start`);
      await sleep(50);
    }
  }

  async isReady(): Promise<boolean> {
    return (await this.#told((client) => client.askReady()))?.status === 200;
  }

  /** The identities of the members, the oldest first; undefined where it does not say. */
  async memberList(): Promise<string | undefined> {
    const told = await this.#told((client) => client.ask('GET', 'cluster'));
    if (told?.status !== 200) return undefined;
    const { members } = JSON.parse(told.body.toString()) as { members: { uuid: string }[] };
    return members.map(({ uuid }) => uuid).join(' ');
  }

  stopInPlace(): void {
    this.#child?.kill('SIGSTOP');
  }

  goOn(): void {
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

  async #told(ask: (client: FaultClient) => Promise<Asked>): Promise<ReceivedResponse | undefined> {
    const client = new FaultClient(this.place.host, this.port, TOLD_MS_MAX);
    const answer = await ask(client);
    client.end();
    return typeof answer === 'string' ? undefined : answer;
  }
}
