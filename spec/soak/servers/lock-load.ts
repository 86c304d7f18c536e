/**
 * Clients that take locks of members on servers, by HTTP and by `member.lock`, hold them and release
 * them. Some hold a lock for longer than a failover takes, and send heartbeats meanwhile.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../../bench/harness.ts';
import type { EmbeddedMember } from '../../../src/index.ts';
import { FaultClient } from './fault-client.ts';
import type { FaultMember } from './fault-member.ts';
import type { Holder, LockHistory } from './lock-history.ts';

/** Time to live of the sessions: longer than a failover. */
export const SESSION_SECONDS = 10;
/** Time for which a session lives for certain after a heartbeat was sent, in ms. */
const CERTAIN_MS = SESSION_SECONDS * 1000 - 500;
const GROUP = 'g';
const LOCKS = 36;
const CONNECTIONS = 24;
const PROGRAM_CLIENTS = 4;
const WAIT_SECONDS = 1;
const RESPONSE_MS_MAX = 15_000;
const SHORT_HOLD_MS = 50;
const LONG_HOLD_MS = 6000;
/** One in this number of holds is long. */
const LONG_SHARE = 8;
const HEARTBEAT_MS = 500;
const PAUSE_MS = 100;

interface LoadOptions {
  readonly members: readonly FaultMember[];
  /** A member in this process. */
  readonly embedded: EmbeddedMember;
  readonly history: LockHistory;
  readonly seed: number;
}

interface Session extends Holder {
  readonly path: string;
  readonly id: number;
}

export class LockLoad {
  readonly #options: LoadOptions;
  readonly #random: Random;
  readonly #clients: Promise<void>[] = [];
  #isEnding = false;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
    const { members } = options;
    for (let index = 0; index < CONNECTIONS; index++) {
      this.#clients.push(this.#runClient(members[index % members.length]!));
    }
    for (let index = 0; index < PROGRAM_CLIENTS; index++) this.#clients.push(this.#runProgram());
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#clients);
  }

  async #runClient({ place, port }: FaultMember): Promise<void> {
    const client = new FaultClient(place.host, port, RESPONSE_MS_MAX);
    while (!this.#isEnding) {
      const sentMs = performance.now();
      const path = `v1/cp/${GROUP}/sessions`;
      const opened = await call(client, path, 'name=w');
      if (opened.status !== 201) {
        await sleep(PAUSE_MS);
        continue;
      }
      const { id } = JSON.parse(opened.text) as { id: number };
      const session = { id, path: `${path}/${id}`, liveUntilMs: sentMs + CERTAIN_MS };
      while (!this.#isEnding && (await this.#useLock(client, session)));
      session.liveUntilMs = 0;
      await call(client, `${session.path}/close`);
    }
    client.end();
  }

  /** Takes a lock, holds and releases it. Returns whether the session can be used again. */
  async #useLock(client: FaultClient, session: Session): Promise<boolean> {
    const { history } = this.#options;
    const lock = this.#lockName();
    const path = `v1/cp/${GROUP}/locks/${lock}`;
    const asked = `session=${session.id}`;
    const taken = await call(client, path, `${asked}&wait=${WAIT_SECONDS}`);
    if (taken.status === 404) history.lost('session lost', session, performance.now());
    // After any other failure, the session may have the lock without knowing.
    if (taken.status === 409) return await this.#renew(client, session);
    if (taken.status !== 200) return false;
    history.taken(lock, session, JSON.parse(taken.text).fence, performance.now());
    const isLive = await this.#hold(() => this.#renew(client, session));
    const isLost = session.liveUntilMs <= performance.now();
    history.left(lock, session);
    const released = await call(client, `${path}/release`, asked);
    if (released.status === 409 && !isLost) history.lost('lock lost', session, performance.now());
    return isLive && released.status === 204;
  }

  /** Returns whether all heartbeats were answered. */
  async #hold(heartbeat: () => Promise<boolean>): Promise<boolean> {
    const isLong = this.#random.below(LONG_SHARE) === 0;
    const endMs = performance.now() + this.#random.below(isLong ? LONG_HOLD_MS : SHORT_HOLD_MS);
    for (let leftMs = 1; leftMs > 0 && !this.#isEnding; leftMs = endMs - performance.now()) {
      await sleep(Math.min(leftMs, HEARTBEAT_MS));
      if (!(await heartbeat())) return false;
    }
    return true;
  }

  /** Sends a heartbeat until one is answered. Returns whether the session lives. */
  async #renew(client: FaultClient, session: Session): Promise<boolean> {
    while (session.liveUntilMs > performance.now()) {
      const sentMs = performance.now();
      const { status } = await call(client, `${session.path}/heartbeat`);
      if (status === 404) this.#options.history.lost('session lost', session, performance.now());
      else if (status === 204) {
        session.liveUntilMs = sentMs + CERTAIN_MS;
        return true;
      } else await sleep(PAUSE_MS);
    }
    return false;
  }

  async #runProgram(): Promise<void> {
    const { embedded, history } = this.#options;
    while (!this.#isEnding) {
      const name = this.#lockName();
      try {
        await using lock = await embedded.lock(name, { group: GROUP, waitSeconds: WAIT_SECONDS });
        const { signal } = lock as { readonly signal: AbortSignal };
        const holder = { liveUntilMs: signal.aborted ? 0 : Number.POSITIVE_INFINITY };
        signal.addEventListener('abort', () => {
          holder.liveUntilMs = 0;
        });
        history.taken(name, holder, lock.fence, performance.now());
        await this.#hold(async () => !signal.aborted);
        history.left(name, holder);
      } catch {
        // It is held, or its member cannot do it now.
        await sleep(PAUSE_MS);
      }
    }
  }

  #lockName(): string {
    return `l${this.#random.below(LOCKS)}`;
  }
}

/** Sends a request. Its status is 0 without a response. */
async function call(client: FaultClient, path: string, body = '') {
  const result = await client.request('POST', path, Buffer.from(body));
  if (typeof result === 'string') return { status: 0, text: '' };
  return { status: result.status, text: result.body.toString() };
}
