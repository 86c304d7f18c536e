/**
 * A program that sends requests at a fixed rate. It sends each request when it is due, whether or
 * not earlier ones have their responses, and measures the latency from that moment, so that a pause
 * of the server delays all requests that were due during it. Its argument is FixedRate as JSON; it
 * prints FixedRateFigures as JSON.
 *
 * Its own pauses would count as the server's. So it never sleeps, has a processor to itself, runs
 * there at the highest priority if that is permitted, makes little garbage, and runs a collection
 * before it starts (--expose-gc). It assumes that all responses have the length of the first.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { constants, setPriority } from 'node:os';
import { percentile, Random } from '../harness.ts';
import { type Exchange, KEY, keyOf } from './request.ts';
import { responseLength } from './response-length.ts';

export interface FixedRate {
  readonly port: number;
  readonly exchange: Exchange;
  readonly keyCount: number;
  readonly connections: number;
  readonly perSecond: number;
  readonly seconds: number;
}

export interface FixedRateFigures {
  readonly p50Us: number;
  readonly p99Us: number;
  readonly p999Us: number;
}

/** Number of requests that are built before the start and sent repeatedly. */
const REQUESTS_MAX = 65_536;
/** Maximum number of requests in progress on one connection: a power of two. */
const ON_THE_WAY_MAX = 65_536;
const WARM_SECONDS_MAX = 1;
/** Time limit after the last request was sent, in ms. */
const ANSWER_TIMEOUT_MS = 20_000;

const order = JSON.parse(process.argv[2] ?? '') as FixedRate;
const input = Buffer.allocUnsafe(65_536);

/** One connection, with its requests in progress, in order. */
class Line {
  readonly #socket: Socket;
  readonly #sent = new Int32Array(ON_THE_WAY_MAX);
  readonly #onAnswer: (index: number) => void;
  #answerBytes = 0;
  #first = 0;
  #next = 0;
  #bytes = 0;

  constructor(onAnswer: (index: number) => void) {
    this.#onAnswer = onAnswer;
    const callback = (bytes: number) => this.#read(bytes);
    const onread = { buffer: input, callback };
    this.#socket = connect({ port: order.port, host: '127.0.0.1', noDelay: true, onread });
  }

  async ready(answerBytes: number): Promise<void> {
    this.#answerBytes = answerBytes;
    await once(this.#socket, 'connect');
  }

  send(index: number, request: Buffer): void {
    if (this.#next - this.#first === ON_THE_WAY_MAX) throw new Error('The server does not keep up');
    this.#sent[this.#next++ & (ON_THE_WAY_MAX - 1)] = index;
    this.#socket.write(request);
  }

  end(): void {
    this.#socket.destroy();
  }

  #read(bytes: number): boolean {
    this.#bytes += bytes;
    while (this.#bytes >= this.#answerBytes) {
      this.#bytes -= this.#answerBytes;
      this.#onAnswer(this.#sent[this.#first++ & (ON_THE_WAY_MAX - 1)]!);
    }
    return true;
  }
}

goFirst();
process.stdout.write(JSON.stringify(await send()));

function goFirst(): void {
  try {
    setPriority(constants.priority.PRIORITY_HIGHEST);
  } catch {
    // If it is not permitted, other work on this processor counts as the server's.
  }
}

async function send(): Promise<FixedRateFigures> {
  const { perSecond, seconds } = order;
  const warm = Math.floor(perSecond * Math.min(seconds, WARM_SECONDS_MAX));
  const total = warm + Math.floor(perSecond * seconds);
  const dueEveryMs = 1000 / perSecond;
  const random = new Random(1);
  const requests = Array.from({ length: Math.min(REQUESTS_MAX, total) }, () =>
    Buffer.from(order.exchange.request.replace(KEY, keyOf(random.below(order.keyCount)))),
  );
  const answerBytes = await responseLength(order.port, requests[0]!, order.exchange);
  const latenciesMs = new Float64Array(total);
  let answered = 0;
  const onAnswer = (index: number) => {
    latenciesMs[index] = performance.now() - (start + index * dueEveryMs);
    answered += 1;
  };
  const lines = Array.from({ length: order.connections }, () => new Line(onAnswer));
  await Promise.all(lines.map((line) => line.ready(answerBytes)));

  let sent = 0;
  globalThis.gc?.();
  const start = performance.now();
  const deadline = start + total * dueEveryMs + ANSWER_TIMEOUT_MS;
  await new Promise<void>((resolve, reject) => {
    const turn = () => {
      const now = performance.now();
      for (; sent < total && start + sent * dueEveryMs <= now; sent++) {
        lines[sent % lines.length]?.send(sent, requests[sent % requests.length]!);
      }
      if (answered === total) resolve();
      else if (now > deadline) reject(new Error(`${total - answered} of ${total} not answered`));
      else setImmediate(turn);
    };
    turn();
  });
  for (const line of lines) line.end();
  const sorted = latenciesMs.subarray(warm).sort();
  const us = (share: number) => percentile(sorted, share) * 1000;
  return { p50Us: us(0.5), p99Us: us(0.99), p999Us: us(0.999) };
}
