import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import type { GridError } from '../../../src/base/errors.ts';
import { makeSharedEngine } from '../../../src/engine/redis/shared-engine.ts';
import type { Config } from '../../../src/member/config.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { load } from '../../config/documents.ts';
import { FakeClock } from '../../fake-clock.ts';
import { scraped } from '../../telemetry/scraped.ts';
import { identity, tlsFile } from '../../tls/identity.ts';

const { config } = await load('engine.yaml', 'grid: {}');

const TLS_FILES = {
  engineTlsCa: tlsFile('authority.pem'),
  engineTlsCertificate: tlsFile('client.pem'),
  engineTlsKey: tlsFile('client-key.pem'),
};

/** Makes an engine on the servers, which passes the lines of its log to `write`. */
function make(url: string, tlsFiles: Partial<Config>, write = (_: string) => {}) {
  const log = createLog('INFO', { write });
  return makeSharedEngine({ ...config, ...tlsFiles }, url, new FakeClock(), log);
}

test('makeSharedEngine names the TLS file that it cannot use', async () => {
  const cases: [Partial<Config>, string][] = [
    [{ engineTlsCa: '/missing' }, '/missing'],
    [{ ...TLS_FILES, engineTlsCertificate: import.meta.filename }, import.meta.filename],
    [{ ...TLS_FILES, engineTlsKey: import.meta.filename }, import.meta.filename],
    [{ ...TLS_FILES, engineTlsKey: tlsFile('server-key.pem') }, tlsFile('server-key.pem')],
  ];
  for (const [files, file] of cases) {
    await assert.rejects(make('rediss://a', files), (error: GridError) => {
      assert.equal(error.code, 'TLS_FILE_UNUSABLE');
      return error.message.startsWith(`Cannot use "${file}" for TLS: `);
    });
  }
});

test('makeSharedEngine connects with the authority, the certificate and the key of the files', async () => {
  const { certificate: cert, key, authorities: ca } = identity('server', 'authority');
  const server = createTlsServer({ cert, key, ca, requestCert: true });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const { engine } = await make(`rediss://127.0.0.1:${port}`, TLS_FILES);
  const opened = assert.rejects(engine.open());
  const [client] = (await once(server, 'secureConnection')) as [TLSSocket];
  assert(client.authorized, `${client.authorizationError}`);
  client.destroy();
  await engine.close();
  await opened;
  server.close();
});

test('A server that does not answer is logged with the reason', async () => {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  const lines = new EventEmitter();
  const { engine } = await make(`redis://127.0.0.1:${port}`, {}, (line) =>
    lines.emit('line', line),
  );
  const opened = assert.rejects(engine.open());
  const [line] = await once(lines, 'line');
  await engine.close();
  await opened;
  const { level, msg } = JSON.parse(line);
  assert.equal(level, 'warn');
  assert.match(msg, /^the server 127\.0\.0\.1:\d+ does not answer: connect ECONNREFUSED/);
});

test('The engine reports its metrics, also before it is open', async () => {
  const { engine, figures } = await make('redis://127.0.0.1:1', {});
  const series = scraped((to) => figures?.(to));
  assert.equal(series.gridnode_engine_reachable, 0);
  await engine.close();
});
