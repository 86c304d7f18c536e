/**
 * Stores entries through a server's own interface, as fast as one process can send them. Each
 * connection has one batch of requests in progress. The bytes of a batch are built once; only the
 * keys change.
 */
import { connect, type Socket } from 'node:net';
import { type Exchange, KEY, KEY_BYTES, keyOf } from './request.ts';

/**
 * Requests in progress on one connection, unless the server accepts fewer; and on all connections.
 */
const WINDOW = 64;
const ON_THE_WAY = 256;
/**
 * Time without a response after which a connection is closed, in ms: some peers stop responding on
 * a connection for good.
 */
const SILENT_MS = 10_000;
/** Number of successive connections that may receive no response at all. */
const SILENT_IN_A_ROW = 2;

/** Sends the request for the keys `first` to `first + count - 1`; throws unless each succeeds. */
export async function fill(
  port: number,
  exchange: Exchange,
  first: number,
  count: number,
): Promise<void> {
  const depth = Math.min(WINDOW, exchange.depthMax ?? WINDOW);
  const share = Math.ceil((count * depth) / ON_THE_WAY);
  const parts: Promise<void>[] = [];
  for (let from = 0; from < count; from += share) {
    parts.push(fillPart(port, exchange, depth, first + from, Math.min(share, count - from)));
  }
  await Promise.all(parts);
}

/** Uses one connection after the other, each until it receives no more responses. */
async function fillPart(
  port: number,
  exchange: Exchange,
  depth: number,
  first: number,
  count: number,
): Promise<void> {
  let done = 0;
  let silent = 0;
  while (done < count) {
    const answered = await fillOver(port, exchange, depth, first + done, count - done);
    silent = answered === 0 ? silent + 1 : 0;
    if (silent > SILENT_IN_A_ROW) {
      throw new Error(`Cannot fill: no more responses, ${done} of ${count} stored`);
    }
    done += answered;
  }
}

/** Resolves with the number of responses that the connection received, at most `count`. */
function fillOver(
  port: number,
  exchange: Exchange,
  depth: number,
  first: number,
  count: number,
): Promise<number> {
  const batch = new Batch(exchange.request);
  const answer = Buffer.from(exchange.answer);
  return new Promise((resolve, reject) => {
    let sent = 0;
    let answered = 0;
    let matched = 0;
    const fail = (reason: string) => {
      socket.destroy();
      reject(new Error(`Cannot fill: ${reason}, ${answered} of ${count} stored`));
    };
    const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true }, more);
    const end = () => {
      socket.removeAllListeners('close').destroy();
      resolve(answered);
    };
    socket.setTimeout(SILENT_MS, end);
    socket.on('error', (error) => fail(error.message));
    socket.on('close', () => fail('the connection was closed'));
    socket.on('data', (chunk: Buffer) => {
      [answered, matched] = counted(chunk, answer, answered, matched);
      if (answered < sent) return;
      if (sent < count) more();
      else end();
    });
    function more() {
      const size = Math.min(depth, count - sent);
      socket.write(batch.of(first + sent, size));
      sent += size;
    }
  });
}

/**
 * The number of responses after this chunk, and the matched bytes of a response begun at its end.
 */
function counted(
  chunk: Buffer,
  answer: Buffer,
  answered: number,
  matched: number,
): [number, number] {
  let from = 0;
  let count = answered;
  if (matched > 0) {
    const rest = answer.length - matched;
    if (chunk.length < rest) return [answered, matched + chunk.length];
    if (chunk.compare(answer, matched, answer.length, 0, rest) === 0) {
      count += 1;
      from = rest;
    }
  }
  for (let at = chunk.indexOf(answer, from); at >= 0; at = chunk.indexOf(answer, from)) {
    count += 1;
    from = at + answer.length;
  }
  for (let length = Math.min(answer.length - 1, chunk.length - from); length > 0; length--) {
    const start = chunk.length - length;
    if (chunk.compare(answer, 0, length, start) === 0) return [count, length];
  }
  return [count, 0];
}

/** A batch of requests in one buffer. */
class Batch {
  readonly #bytes: Buffer;
  readonly #stride: number;
  readonly #keyAt: number;

  constructor(request: string) {
    this.#keyAt = request.indexOf(KEY);
    const one = request.replace(KEY, keyOf(0));
    this.#stride = Buffer.byteLength(one);
    this.#bytes = Buffer.from(one.repeat(WINDOW));
  }

  /** Valid until the next call. */
  of(first: number, count: number): Buffer {
    for (let index = 0; index < count && this.#keyAt >= 0; index++) {
      const end = index * this.#stride + this.#keyAt + KEY_BYTES;
      let rest = first + index;
      for (let at = end - 1; at >= end - KEY_BYTES; at--) {
        this.#bytes[at] = 0x30 + (rest % 10);
        rest = Math.trunc(rest / 10);
      }
    }
    return this.#bytes.subarray(0, count * this.#stride);
  }
}
