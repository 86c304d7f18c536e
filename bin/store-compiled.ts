/**
 * A step of `make build`, and of the build of an image: serves a few requests, so that V8 compiles the
 * functions that they need, and keeps the code beside the program, for members. The argument is the
 * program's file. Logs are written to standard output. Tested by peers/build-output.peers.ts.
 */
import '../src/cli/v8-flags.ts';
import { request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { compileProgram } from './compiled-program.ts';
import type { runCli } from './program.ts';

const TRIES_MAX = 500;
const TRY_MS = 10;
const REQUESTS = [
  ['GET', '/hazelcast/health'],
  ['POST', '/hazelcast/rest/maps/map/key'],
  ['GET', '/hazelcast/rest/maps/map/key'],
] as const;

const file = resolve(process.argv[2] ?? '');
const port = await freePort();
const program = compileProgram(file, 'serve', {});
const { runCli: run } = program.run() as { readonly runCli: typeof runCli };
void run(['serve', '--port', String(port), '--enable-group', 'DATA']);
for (const [method, path] of REQUESTS) await answered(method, path);
program.keep();
process.exit();

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

async function answered(method: string, path: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await send(method, path);
    } catch (error) {
      if (tries === TRIES_MAX) throw error;
      await wait(TRY_MS);
    }
  }
}

function send(method: string, path: string): Promise<void> {
  return new Promise((done, reject) => {
    const sent = request({ host: '127.0.0.1', port, method, path }, (response) =>
      response.resume().on('end', done),
    );
    sent.on('error', reject).end();
  });
}
