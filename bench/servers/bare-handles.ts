/**
 * The ceiling in Node without `net.Socket`: a server on the system handles of its connections that parses
 * nothing and answers each read with one fixed response. It keeps no time and ignores errors. Like a
 * member, it prints a line of JSON with its port. Its optional arguments are the port, the length of the
 * content, and `close` to end each connection after its first response.
 */
import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { type TcpHandle, tcpHandles } from '../../src/http/tcp-handles.ts';
import { fixedResponse } from './fixed-response.ts';

/** As in a member. */
const BACKLOG = 4096;

const [port = '0', valueBytes = '100', ends] = process.argv.slice(2);
const closes = ends === 'close';
const response = fixedResponse(Number(valueBytes), closes);
const input = Buffer.allocUnsafeSlow(65_536);

const handles = await tcpHandles();
assert.ok(typeof handles !== 'string', 'the handles of Node are not available');
const available = handles;

const server = createServer();
server.listen({ port: Number(port), host: '127.0.0.1', backlog: BACKLOG }, () => {
  available.accept(server, (handle) => {
    handle.onread = onRead;
    handle.setNoDelay(true);
    handle.useUserBuffer(input);
    handle.readStart();
  });
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ msg: 'listening', port })}\n`);
});

function onRead(this: TcpHandle): void {
  const result = available.readResult;
  if (result === 0) return;
  if (result < 0) return this.close(onDone);
  available.write(this, response);
  if (closes) available.shutdown(this, undefined, onDone);
}

function onDone(): void {}
