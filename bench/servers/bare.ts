/**
 * The ceiling in Node: a net.Server that parses nothing and writes one fixed response for each
 * blank line that it receives. It shows the bare cost of a socket and a write. Like a member, it
 * prints a line of JSON with its port. Its optional arguments are the port, the length of the
 * content, and `close` to end each connection after its first response. The body of a request must
 * not contain a blank line.
 */
import { type AddressInfo, createServer } from 'node:net';
import { fixedResponse } from './fixed-response.ts';

const VALUE_BYTES = Number(process.argv[3] ?? 100);
const BLANK_LINE = Buffer.from('\r\n\r\n');

const closes = process.argv[4] === 'close';
const response = fixedResponse(VALUE_BYTES, closes);
/** The repeated response, by the number of repetitions. */
const repeated = new Map<number, Buffer>();

const server = createServer({ noDelay: true }, (socket) => {
  let matched = 0;
  socket.on('data', (chunk: Buffer) => {
    let count = 0;
    let from = 0;
    // The chunk may complete a blank line that began in an earlier one.
    if (matched > 0) {
      const rest = BLANK_LINE.length - matched;
      if (chunk.length >= rest && chunk.compare(BLANK_LINE, matched, 4, 0, rest) === 0) {
        count = 1;
        from = rest;
      }
    }
    for (let at = chunk.indexOf(BLANK_LINE, from); at >= 0; at = chunk.indexOf(BLANK_LINE, from)) {
      count += 1;
      from = at + BLANK_LINE.length;
    }
    matched = endOf(chunk, from);
    if (count === 0) return;
    if (closes) socket.end(response);
    else socket.write(times(count));
  });
  socket.on('error', () => socket.destroy());
});

server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ msg: 'listening', port })}\n`);
});

/**
 * Returns the length of an incomplete blank line at the end of the chunk, after `from`, in bytes.
 */
function endOf(chunk: Buffer, from: number): number {
  for (let length = Math.min(3, chunk.length - from); length > 0; length--) {
    const start = chunk.length - length;
    if (chunk.compare(BLANK_LINE, 0, length, start, chunk.length) === 0) return length;
  }
  return 0;
}

function times(count: number): Buffer {
  const known = repeated.get(count);
  if (known !== undefined) return known;
  const made = Buffer.concat(Array<Buffer>(count).fill(response));
  repeated.set(count, made);
  return made;
}
