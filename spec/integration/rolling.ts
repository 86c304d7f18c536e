/**
 * Restarts members while clients keep sending, and reports the outcome of the requests. Every
 * request sent is answered, unless an earlier response has announced the end of its connection. A
 * client that opens a connection per request gets a response, or is refused before it has sent
 * anything.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as passed } from 'node:timers/promises';
import { RawClient, requestBytes } from './client.ts';
import { serve } from './member-process.ts';

/** Delay between two attempts to connect, in ms. */
const RETRY_MS = 20;
/** Number of clients during restarts. */
const CLIENTS = 64;

export interface Outcome {
  /** Number of requests that were answered with 200 or 204. */
  answered: number;
  /** Number of requests without a response on connections whose end was not announced. */
  lost: number;
  /** Number of connections that were refused. */
  refused: number;
  /** Other statuses, and other ends of connections, as text. */
  readonly others: string[];
}

export interface Load {
  readonly port: number;
  readonly clients: number;
  /** Number of requests of each client in flight; 0: one connection for each request. */
  readonly inFlight: number;
}

/**
 * Sends requests until the returned function is called, which resolves when every client has
 * finished.
 */
export function sending(
  { port, clients, inFlight }: Load,
  outcome = noOutcome(),
): () => Promise<Outcome> {
  const state = { isOver: false };
  const running = Array.from({ length: clients }, async (_, index) => {
    while (!state.isOver) {
      const client = await connected(port);
      if (client === undefined) {
        outcome.refused++;
        await passed(RETRY_MS);
      } else await converse(client, index, inFlight, state, outcome);
    }
  });
  return async () => {
    state.isOver = true;
    await Promise.all(running);
    return outcome;
  };
}

function noOutcome(): Outcome {
  return { answered: 0, lost: 0, refused: 0, others: [] };
}

async function connected(port: number): Promise<RawClient | undefined> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const client = new RawClient(socket);
  return await once(socket, 'connect').then(
    () => client,
    () => undefined,
  );
}

/** Sends and reads on one connection until it ends. */
async function converse(
  client: RawClient,
  index: number,
  inFlight: number,
  state: { readonly isOver: boolean },
  outcome: Outcome,
): Promise<void> {
  const request = index % 2 === 0 ? requestBytes('GET', 'maps/m/absent') : POST;
  let waiting = Math.max(inFlight, 1);
  let isLast = false;
  client.send(Buffer.concat(Array(waiting).fill(request)));
  while (waiting > 0) {
    const response = await client.response().catch((error: Error) => error);
    if (response === undefined || response instanceof Error) {
      if (!isLast) outcome.lost += waiting;
      if (response !== undefined) outcome.others.push(response.message);
      break;
    }
    waiting--;
    isLast ||= response.fields.get('connection') === 'close';
    if (response.status === 200 || response.status === 204) outcome.answered++;
    else outcome.others.push(`${response.status} ${response.body}`);
    if (inFlight === 0 || state.isOver || isLast) continue;
    client.send(request);
    waiting++;
  }
  client.destroy();
}

const POST = requestBytes('POST', 'maps/m/k', Buffer.from('value'));

/** A member that can be stopped, and started again on the ports of its first start. */
export class RestartedMember {
  readonly #flags: readonly string[];
  #running: Awaited<ReturnType<typeof serve>> | undefined;
  port = 0;
  healthPort = 0;

  constructor(...flags: string[]) {
    this.#flags = ['--enable-group', 'DATA', ...flags];
  }

  async start(): Promise<void> {
    const ports = ['--port', String(this.port), '--health-port', String(this.healthPort)];
    this.#running = await serve(...this.#flags, ...ports);
    this.port = this.#running.port;
    this.healthPort = this.#running.healthPort;
  }

  /** Stops the member; rejects if its exit code is not 0. */
  async stop(): Promise<void> {
    this.#running?.child.kill('SIGTERM');
    const [code, signal] = (await this.#running?.exited) ?? [0, null];
    if (code !== 0) throw new Error(`The member exited with ${code} ${signal}`);
  }
}

/**
 * Stops and starts a member `stops` times under clients of each kind (Load.inFlight). Resolves with
 * the outcome.
 */
export async function rollingRestarts(stops: number, ...kinds: number[]): Promise<Outcome> {
  const member = new RestartedMember();
  await member.start();
  const outcome = noOutcome();
  const clients = CLIENTS / kinds.length;
  const ends = kinds.map((inFlight) => sending({ port: member.port, clients, inFlight }, outcome));
  for (let stop = 0; stop < stops; stop++) {
    await passed(200);
    await member.stop();
    await member.start();
  }
  await passed(100);
  for (const end of ends) await end();
  await member.stop();
  return outcome;
}
