/**
 * A server in a process or worker thread of its own. It serves one request and reports how, or with the
 * argument `serve` prints its port and serves until it is ended.
 */
import { subscribe } from 'node:diagnostics_channel';
import { isMainThread, parentPort } from 'node:worker_threads';
import { RawClient } from '../integration/client.ts';
import { createTestServer } from './test-server.ts';

export interface Served {
  readonly status: number | undefined;
  /** The reasons why handles are not available. */
  readonly reasons: readonly string[];
  /** Number of sockets that Node has made for accepted connections. */
  readonly sockets: number;
}

let sockets = 0;
subscribe('net.server.socket', () => {
  sockets++;
});
const reasons: string[] = [];
const { server } = createTestServer({}, { onNoHandles: (reason) => reasons.push(reason) });
const { port } = await server.listen('127.0.0.1', 0);
if (process.argv.includes('serve')) console.log(port);
else {
  const client = new RawClient(port);
  client.send('GET /grid/health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  const status = (await client.response())?.status;
  client.destroy();
  server.abort();
  const served: Served = { status, reasons, sockets };
  if (isMainThread) console.log(JSON.stringify(served));
  else parentPort?.postMessage(served);
}
