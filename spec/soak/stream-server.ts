/**
 * A server for the soak of streams, in a process of its own. `/stream/BYTES` returns a stream of
 * this many bytes, `/ping` responds at once. Sends its port to the parent process when it listens,
 * and its state in reply to each message.
 */
import { SystemClock } from '../../src/base/clock.ts';
import { NO_PARTITION } from '../../src/base/partition-number.ts';
import type { Application, RequestHandler } from '../../src/http/application.ts';
import type { Request } from '../../src/http/request.ts';
import type { ResponseStream } from '../../src/http/response-stream.ts';
import { HttpServer } from '../../src/http/server.ts';
import { DEFAULT_LIMITS } from '../http/default-limits.ts';

/** State of the server. */
export interface StreamServerState {
  readonly residentBytes: number;
  readonly slots: number;
  readonly connections: number;
  readonly deadlines: number;
  readonly bytesInFlight: number;
  readonly failures: number;
}

const BLOCK = Buffer.alloc(16_384, 'stream ');

class StreamingHandler implements RequestHandler {
  readonly #request: Request;
  #stream: ResponseStream | undefined;
  #bytesLeft = 0;

  constructor(request: Request) {
    this.#request = request;
  }

  get isExclusive(): boolean {
    return true;
  }

  admit(): boolean {
    return true;
  }

  run(): void {
    const [, kind, bytes] = this.#request.head.target.toBuffer().toString().split('/');
    if (kind !== 'stream') return this.#request.respondEmpty(200, NO_PARTITION, 0);
    this.#bytesLeft = Number(bytes);
    this.#stream = this.#request.stream(this.#request.draft(200), () => this.#continue());
    this.#continue();
  }

  finishNow(): void {
    this.#stream?.end();
  }

  release(): void {}

  #continue(): void {
    while (this.#bytesLeft > 0) {
      const block = BLOCK.subarray(0, this.#bytesLeft);
      this.#bytesLeft -= block.length;
      if (!this.#stream?.write(block)) return;
    }
    this.#stream?.end();
  }
}

const application: Application = { open: (request) => new StreamingHandler(request) };
let failures = 0;
const server = new HttpServer({
  application,
  clock: new SystemClock(),
  limits: DEFAULT_LIMITS,
  onFailure: () => {
    failures++;
  },
});

process.on('message', () => {
  const state: StreamServerState = {
    residentBytes: process.memoryUsage.rss(),
    slots: server.requests.usedCount,
    connections: server.connectionCount,
    deadlines: server.deadlines.count,
    bytesInFlight: server.inFlight.usedBytes,
    failures,
  };
  process.send?.(state);
});
process.on('disconnect', () => process.exit());
const { port } = await server.listen('127.0.0.1', 0);
process.send?.(port);
