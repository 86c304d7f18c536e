/**
 * A member that is stopped and started SOAK_SIZE / 500 times (20) under 64 clients that keep
 * sending. No system call closes the gap between the last accept and the close of the listening
 * socket. Therefore, at most one client for every three stops may be reset if clients connect for
 * each request.
 *
 * Then SOAK_SIZE / 50 members (200) are stopped under pipelines, slow readers and clients that do
 * not stop sending. SOAK_SEED repeats a run.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { RawClient, requestBytes } from '../integration/client.ts';
import { serve } from '../integration/member-process.ts';
import { rollingRestarts } from '../integration/rolling.ts';

const STOPS = Math.ceil(Number(process.env.SOAK_SIZE ?? 1000) / 500);
const DRAINS = Math.ceil(Number(process.env.SOAK_SIZE ?? 1000) / 50);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000_000);
const CLIENTS = 8;
const LENGTHS = [10, 1000, 65_000, 1_000_000];
const PIPELINE_MAX = 1000;
/** Interval at which a reader may read its next portion, in ms. */
const PORTION_MS = 10;

/**
 * A client of a member that is stopped: with a pipeline of any length, a reader of any speed, or one
 * that does not stop sending.
 */
class StoppedClient {
  readonly socket: Socket;
  readonly #random: Random;
  readonly #bytesPerPortion: number;
  readonly #neverStops: boolean;
  /** Lengths of the expected values, and the end of each request in the bytes sent. */
  readonly #expected: number[] = [];
  readonly #ends: number[] = [];
  #allowance = 0;
  /** Requests that the member's side had received before the signal. */
  earlyCount = 0;
  answeredCount = 0;
  #head = '';
  #bodyBytes = 0;
  readonly #timer: NodeJS.Timeout;
  readonly ended: Promise<void>;

  constructor(port: number, random: Random) {
    this.#random = random;
    // 1 to 400 MB/s.
    const bytesPerSecond = 1e6 * 400 ** (random.below(1000) / 999);
    this.#bytesPerPortion = (bytesPerSecond * PORTION_MS) / 1000;
    this.#neverStops = random.below(3) === 0;
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.socket.on('error', () => this.socket.destroy());
    this.ended = new Promise((resolve) => {
      this.socket.on('close', () => resolve());
    });
    this.socket.on('data', (chunk) => this.#onData(chunk));
    this.#timer = setInterval(() => this.#onPortion(), PORTION_MS);
    void this.ended.then(() => clearInterval(this.#timer));
    // Most clients can read all their responses within 6 s.
    const bytesMax = bytesPerSecond * (random.below(10) === 0 ? 20 : 6);
    const count = Math.ceil(PIPELINE_MAX ** (random.below(1000) / 999));
    for (let sum = 0, index = 0; index < count && sum < bytesMax; index++) sum += this.#send();
  }

  /**
   * Records which requests the member's side has received. `queued`: number of sent bytes that it
   * has not acknowledged.
   */
  note(queued: number): void {
    const received = this.socket.bytesWritten - this.socket.writableLength - queued;
    this.earlyCount = this.#ends.filter((end) => end <= received).length;
  }

  #send(): number {
    const length = LENGTHS[Math.min(this.#random.below(5), this.#random.below(5), 3)]!;
    const request = requestBytes('GET', `maps/m/${length}`);
    this.#expected.push(length);
    this.#ends.push((this.#ends.at(-1) ?? 0) + request.length);
    this.socket.write(request);
    return length;
  }

  #onPortion(): void {
    this.#allowance = Math.min(this.#allowance, 0) + this.#bytesPerPortion;
    if (this.#allowance > 0) this.socket.resume();
    const isOpen = !this.socket.destroyed && !this.socket.readableEnded;
    if (this.#neverStops && isOpen && this.socket.writableLength < 100_000) this.#send();
  }

  #onData(chunk: Buffer): void {
    this.#allowance -= chunk.length;
    if (this.#allowance <= 0) this.socket.pause();
    for (let at = 0; at < chunk.length; ) {
      if (this.#bodyBytes > 0) {
        const taken = Math.min(this.#bodyBytes, chunk.length - at);
        at += taken;
        this.#bodyBytes -= taken;
        if (this.#bodyBytes === 0) this.answeredCount++;
        continue;
      }
      this.#head += String.fromCharCode(chunk[at++]!);
      if (!this.#head.endsWith('\r\n\r\n')) continue;
      assert.match(this.#head, /^HTTP\/1\.1 200 /);
      this.#bodyBytes = Number(/\r\nContent-Length: (\d+)\r\n/.exec(this.#head)?.[1]);
      assert.equal(
        this.#bodyBytes,
        this.#expected[this.answeredCount],
        'Content-Length of the requested value',
      );
      this.#head = '';
    }
  }
}

/** Starts a member and stops it while the clients send and read. */
async function stopUnderClients(random: Random) {
  const { child, exited, lines, port } = await serve('--enable-group', 'DATA');
  const writer = new RawClient(port);
  for (const length of LENGTHS) {
    const { status } = await writer.request('POST', `maps/m/${length}`, Buffer.alloc(length, 0x76));
    assert.equal(status, 200);
  }
  writer.destroy();
  const clients = Array.from({ length: CLIENTS }, () => new StoppedClient(port, random));
  await Promise.all(clients.map(({ socket }) => once(socket, 'connect')));
  await sleep(random.below(500));
  const queued = queuedBytes();
  for (const client of clients) client.note(queued.get(client.socket.localPort!) ?? 0);
  child.kill('SIGTERM');
  const [exitCode] = await exited;
  await Promise.all(clients.map(({ ended }) => ended));
  const missingCounts = clients.map(({ earlyCount, answeredCount }) => earlyCount - answeredCount);
  const missing = missingCounts.filter((count) => count > 0);
  const last = lines.at(-1) as { cutOff?: string } | undefined;
  const cutOff = last?.cutOff ?? '';
  return {
    exitCode,
    /** Number of requests received before the signal, and of those that have no response. */
    early: clients.reduce((sum, { earlyCount }) => sum + earlyCount, 0),
    missing: missing.reduce((sum, count) => sum + count, 0),
    /** Number of clients with such requests. */
    missingClients: missing.length,
    cutOff,
    cutOffConnections: Number.parseInt(cutOff, 10) || 0,
  };
}

/** Returns the number of sent but unacknowledged bytes by local port. */
function queuedBytes(): ReadonlyMap<number, number> {
  const rows = readFileSync('/proc/net/tcp', 'latin1').trim().split('\n').slice(1);
  return new Map(
    rows.map((row) => {
      const [, local = '', , , queues = ''] = row.trim().split(/\s+/);
      const hexadecimal = (text = '') => Number.parseInt(text, 16);
      return [hexadecimal(local.split(':')[1]), hexadecimal(queues.split(':')[0])];
    }),
  );
}

for (const inFlight of [1, 32, 0]) {
  const how = inFlight === 0 ? 'one connection per request' : `${inFlight} in flight`;
  test(`${STOPS} stops under clients with ${how} lose no request on an accepted connection`, async (context) => {
    const { answered, lost, refused, others } = await rollingRestarts(STOPS, inFlight);
    context.diagnostic(`${answered} answered, ${lost} lost, ${refused} refused`);
    assert.deepEqual(others, []);
    assert(lost <= (inFlight === 0 ? STOPS / 3 : 0), `${lost} lost`);
    assert(answered > 1000, `${answered} answered`);
  });
}

test(`${DRAINS} members that stop respond to or count each request received before, from seed ${SEED} on`, async (context) => {
  const sums = { early: 0, missing: 0, cutOff: 0 };
  for (let stop = 0; stop < DRAINS; stop++) {
    const { exitCode, early, missing, missingClients, cutOff, cutOffConnections } =
      await stopUnderClients(new Random(SEED + stop));
    const summary = `seed ${SEED + stop}: ${missing} of ${early} missing, exit ${exitCode}, "${cutOff}"`;
    assert(cutOffConnections >= missingClients, summary);
    assert.equal(exitCode, cutOff === '' ? 0 : 1, summary);
    sums.early += early;
    sums.missing += missing;
    if (cutOff !== '') sums.cutOff++;
  }
  const { early, missing } = sums;
  context.diagnostic(
    `${early} received before, ${missing} of them cut off in ${sums.cutOff} stops`,
  );
});
