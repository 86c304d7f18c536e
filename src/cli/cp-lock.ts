/**
 * `gridnode cp lock`, `unlock`, `heartbeat` and `close-session`. A lock is taken in a session of its
 * own, which is kept by heartbeats while the command waits and while the locked program runs.
 * Tested by cp-commands.spec.ts.
 */
import { hostname } from 'node:os';
import { SystemClock } from '../base/clock.ts';
import { percentEncoded } from '../base/percent-encoding.ts';
import { NAME, SESSION, WAIT, WAIT_SECONDS_MAX } from '../cp/cp-routes.ts';
import { KeptSession } from '../cp/kept-session.ts';
import { ROUTES } from '../member/routes.ts';
import type { Route } from '../surface/route.ts';
import { type Client, RefusedError } from './client.ts';
import { refuseReplaced } from './command-input.ts';
import { EXIT_ABSENT, EXIT_CLEAN, type ExitCode } from './exit-code.ts';
import { exitCodeOf, runLocked, StopSignals } from './locked-command.ts';
import type { Streams } from './output.ts';

/** Time limit for the requests that release the lock and close the session, in ms. */
const END_MS = 5000;

export interface SessionOptions {
  readonly group: string;
}

export interface LockOptions extends SessionOptions {
  readonly wait: string;
  readonly session?: string;
}

/** The parts of the session in the member's response, in ms since 1970. */
interface SessionTimes {
  readonly id: number;
  readonly creationTime: number;
  readonly expirationTime: number;
}

/** The lock and the session of one run of `gridnode cp lock`. */
interface Locking {
  readonly client: Client;
  readonly streams: Streams;
  readonly group: string;
  readonly lock: string;
  readonly waitSeconds: number;
  readonly signals: StopSignals;
}

/** Takes the lock. Runs the command of the words, if there are any, and releases it. */
export async function takeLock(
  client: Client,
  streams: Streams,
  lock: string,
  words: readonly string[],
  { group, wait, session }: LockOptions,
): Promise<ExitCode> {
  checkName('group', group);
  checkName('lock', lock);
  const waitSeconds = secondsIn(wait);
  if (session !== undefined && words.length > 0) {
    const seen = JSON.stringify(words[0]);
    throw new TypeError(`Cannot run ${seen} with --session: the command has a session of its own`);
  }
  const signals = new StopSignals(process);
  const locking: Locking = { client, streams, group, lock, waitSeconds, signals };
  try {
    if (session !== undefined) return await takeIn(locking, idIn(session));
    return await takeInOwnSession(locking, words);
  } catch (error) {
    // The signal has ended the request.
    if (signals.first === undefined) throw error;
    return exitCodeOf(signals.first);
  } finally {
    signals.close();
  }
}

/** Releases the lock. */
export async function releaseLock(
  client: Client,
  lock: string,
  session: string,
  { group }: SessionOptions,
): Promise<ExitCode> {
  checkName('group', group);
  checkName('lock', lock);
  await send(client, ROUTES.releaseCpLock, [group, lock], { [SESSION]: String(idIn(session)) });
  await client.printResult('', { done: true });
  return EXIT_CLEAN;
}

export async function renewSession(
  client: Client,
  session: string,
  options: SessionOptions,
): Promise<ExitCode> {
  return await endOrRenew(client, ROUTES.renewCpSession, session, options);
}

export async function closeSession(
  client: Client,
  session: string,
  options: SessionOptions,
): Promise<ExitCode> {
  return await endOrRenew(client, ROUTES.closeCpSession, session, options);
}

async function endOrRenew(
  client: Client,
  row: Route,
  session: string,
  { group }: SessionOptions,
): Promise<ExitCode> {
  checkName('group', group);
  await send(client, row, [group, String(idIn(session))]);
  await client.printResult('', { done: true });
  return EXIT_CLEAN;
}

/** Takes the lock for a session of the caller, and prints it. */
async function takeIn(locking: Locking, session: number): Promise<ExitCode> {
  const fence = await take(locking, session, locking.signals.signal);
  await printLock(locking, session, fence);
  return EXIT_CLEAN;
}

async function takeInOwnSession(locking: Locking, words: readonly string[]): Promise<ExitCode> {
  const { client, streams, group, signals } = locking;
  const clock = new SystemClock();
  const sentMs = clock.now();
  const opened = await send(
    client,
    ROUTES.openCpSession,
    [group],
    { [NAME]: `${hostname()}/${process.pid}` },
    { signal: signals.signal },
  );
  const { id, creationTime, expirationTime } = opened.json() as SessionTimes;
  const timeToLiveMs = expirationTime - creationTime;
  const renew = async (timeoutMs: number) => {
    const signal = AbortSignal.timeout(timeoutMs);
    return await isThere(send(client, ROUTES.renewCpSession, [group, String(id)], {}, { signal }));
  };
  const session = new KeptSession(clock, { id, timeToLiveMs, sentMs, renew });
  let isKept = false;
  let fence: number | undefined;
  try {
    const either = AbortSignal.any([signals.signal, session.lost]);
    fence = await take(locking, session.id, either);
    either.throwIfAborted();
    if (words.length > 0) return await runLocked(streams, words, fence, session, signals);
    await printLock(locking, session.id, fence);
    isKept = true;
    return EXIT_CLEAN;
  } catch (error) {
    if (!session.lost.aborted) throw error;
    streams.stderr.write(`Lost CP session ${session.id} while waiting for the lock\n`);
    return EXIT_ABSENT;
  } finally {
    session.stop();
    if (!isKept && !session.hasEnded) await end(locking, id, fence !== undefined);
  }
}

/** Takes the lock, and returns its fence. */
async function take(
  { client, group, lock, waitSeconds }: Locking,
  session: number,
  signal: AbortSignal,
): Promise<number> {
  const form = { [SESSION]: String(session), [WAIT]: String(waitSeconds) };
  const further = { waitSeconds, signal };
  const response = await send(client, ROUTES.takeCpLock, [group, lock], form, further);
  return (response.json() as { readonly fence: number }).fence;
}

async function printLock(
  { client, group, lock }: Locking,
  session: number,
  fence: number,
): Promise<void> {
  await client.printResult(`${fence} ${session}`, { group, lock, fence, session });
}

/** Releases the lock, if the session has got it, and closes the session. */
async function end(locking: Locking, id: number, hasLock: boolean): Promise<void> {
  const { client, streams, group, lock } = locking;
  const further = { signal: AbortSignal.timeout(END_MS) };
  const session = String(id);
  try {
    if (hasLock)
      await send(client, ROUTES.releaseCpLock, [group, lock], { [SESSION]: session }, further);
    await isThere(send(client, ROUTES.closeCpSession, [group, session], {}, further));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    streams.stderr.write(`Cannot close CP session ${id}, which ends by itself: ${reason}\n`);
  }
}

/** Whether the session of a request exists. A 404 without content is of an unknown path. */
async function isThere(response: Promise<unknown>): Promise<boolean> {
  try {
    await response;
    return true;
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    const { status, body } = error.response;
    if (status === 404 && body.length > 0) return false;
    throw error;
  }
}

/** Sends a request with a form. Throws RefusedError if the status is 400 or more. */
async function send(
  client: Client,
  row: Route,
  variable: readonly string[],
  form: Readonly<Record<string, string>> = {},
  further: { readonly signal?: AbortSignal; readonly waitSeconds?: number } = {},
) {
  const texts = Object.entries(form).map(([name, text]) => `${name}=${percentEncoded(text)}`);
  const body = Buffer.from(texts.join('&'));
  return await client.complete(client.requestOf(row, variable, { body, ...further }));
}

function checkName(kind: string, name: string): void {
  if (name === '') throw new RangeError(`Cannot use "" as a ${kind}: it is empty`);
  refuseReplaced(kind, name);
}

function secondsIn(wait: string): number {
  const seconds = /^\d{1,10}$/.test(wait) ? Number(wait) : Number.NaN;
  if (seconds <= WAIT_SECONDS_MAX) return seconds;
  const seen = JSON.stringify(wait);
  throw new RangeError(`Cannot use --wait ${seen}: not an integer from 0 to ${WAIT_SECONDS_MAX}`);
}

function idIn(session: string): number {
  const id = /^\d{1,16}$/.test(session) ? Number(session) : Number.NaN;
  if (Number.isSafeInteger(id)) return id;
  throw new TypeError(`Cannot use ${JSON.stringify(session)} as a session: not the id of one`);
}
