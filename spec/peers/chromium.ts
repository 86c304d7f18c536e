/**
 * Debian's headless Chromium, driven by its DevTools protocol over two pipes, without a port or a
 * package. Its resolver maps the tests' names to this machine, so that pages have the origins of
 * other sites.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

const PROGRAM = '/usr/bin/chromium';
const FLAGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  '--remote-debugging-pipe',
];

type Values = Readonly<Record<string, unknown>>;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Values;
  readonly result?: Values;
  readonly error?: { readonly message: string };
  readonly sessionId?: string;
}

export class Chromium {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #input: Writable;
  readonly #listeners = new Set<(message: Message) => void>();
  #count = 0;

  private constructor(child: ChildProcess, folder: string) {
    this.#child = child;
    this.#folder = folder;
    this.#input = child.stdio[3] as Writable;
    const output = child.stdio[4] as Readable;
    output.setEncoding('utf8');
    let rest = '';
    output.on('data', (text: string) => {
      const messages = (rest + text).split('\0');
      rest = messages.pop() ?? '';
      for (const each of messages) this.#receive(JSON.parse(each) as Message);
    });
  }

  /** Starts Chromium; `names` resolve to 127.0.0.1. */
  static async start(names: readonly string[]): Promise<Chromium> {
    const folder = mkdtempSync(join(tmpdir(), 'gridnode-chromium-'));
    const rules = names.map((name) => `MAP ${name} 127.0.0.1`).join(',');
    const words = [...FLAGS, `--user-data-dir=${folder}`, `--host-resolver-rules=${rules}`];
    const stdio = ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] as const;
    const child = spawn(PROGRAM, words, { stdio: [...stdio] });
    const failed = once(child, 'error').then(() => assert.fail('apt-get install chromium'));
    await Promise.race([once(child, 'spawn'), failed]);
    return new Chromium(child, folder);
  }

  /** Opens a tab with an empty page. */
  async tab(): Promise<Tab> {
    const { targetId } = await this.call('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.call('Target.attachToTarget', { targetId, flatten: true });
    const tab = new Tab(this, sessionId as string);
    await this.call('Page.enable', {}, sessionId as string);
    return tab;
  }

  /** Calls a method, in a session if specified; resolves with its result. */
  async call(method: string, params: Values, sessionId?: string): Promise<Values> {
    const id = ++this.#count;
    const reply = this.next((message) => message.id === id);
    this.#input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    const { result, error } = await reply;
    assert.equal(error, undefined, `${method}: ${error?.message}`);
    return result ?? {};
  }

  /** Resolves with the next message for which `isWanted` returns true. */
  next(isWanted: (message: Message) => boolean): Promise<Message> {
    return new Promise((resolve, reject) => {
      const onExit = (): void => reject(new Error('Chromium has ended'));
      const listener = (message: Message): void => {
        if (!isWanted(message)) return;
        this.#listeners.delete(listener);
        this.#child.off('exit', onExit);
        resolve(message);
      };
      this.#listeners.add(listener);
      this.#child.once('exit', onExit);
    });
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit');
    // It may end before it replies.
    await Promise.race([this.call('Browser.close', {}).catch(() => {}), exited]);
    await exited;
    // Its other processes may still write files.
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 20 });
  }

  #receive(message: Message): void {
    for (const listener of [...this.#listeners]) listener(message);
  }
}

export class Tab {
  readonly #chromium: Chromium;
  readonly #session: string;

  constructor(chromium: Chromium, session: string) {
    this.#chromium = chromium;
    this.#session = session;
  }

  /** Opens the URL as if typed by the user; resolves when its page is loaded or fails to load. */
  async open(url: string): Promise<void> {
    const loaded = this.#loaded();
    const { errorText } = await this.#chromium.call('Page.navigate', { url }, this.#session);
    // A response without content, or a download, does not replace the page.
    if (errorText === undefined) await loaded;
    else loaded.catch(() => {});
  }

  /** Evaluates an expression in the page; resolves with its value, or that of its promise. */
  async evaluate(expression: string): Promise<unknown> {
    const params = { expression, awaitPromise: true, returnByValue: true, userGesture: true };
    const { result, exceptionDetails } = await this.#chromium.call(
      'Runtime.evaluate',
      params,
      this.#session,
    );
    assert.equal(exceptionDetails, undefined, JSON.stringify(exceptionDetails));
    return (result as Values).value;
  }

  /** Evaluates an expression that makes the page open another one; resolves when that is loaded. */
  async follow(expression: string): Promise<void> {
    const loaded = this.#loaded();
    await this.evaluate(expression);
    await loaded;
  }

  async #loaded(): Promise<void> {
    await this.#chromium.next(
      ({ method, sessionId }) => method === 'Page.loadEventFired' && sessionId === this.#session,
    );
  }
}
