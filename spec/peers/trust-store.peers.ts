/**
 * A member refuses a trust store made by keytool and prints a command that converts it to PEM. The
 * command runs as printed, and a member with its PEM file admits the client that the store trusts.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { run } from '../cli/gridnode-process.ts';
import { writeConfig } from '../config/documents.ts';
import { RawClient } from '../integration/client.ts';
import { serve } from '../integration/member-process.ts';
import { tlsFile } from '../tls/identity.ts';
import { requireProgram } from './tools.ts';

before(() => requireProgram('openssl'));

test('the command that gridnode serve prints makes a trust store readable', async () => {
  const keys = { keyStore: tlsFile('key-store.p12'), keyStorePassword: 'test-only' };
  const text = (more: Record<string, string>): string => {
    const properties = JSON.stringify({ ...keys, ...more, mutualAuthentication: 'REQUIRED' });
    const ssl = `ssl: {enabled: true, properties: ${properties}}`;
    return `grid: {network: {port: 0, rest-api: {enabled: true}, ${ssl}}}`;
  };
  const trustStore = join(dirname(writeConfig('trust.yaml', '')), 'trust-store.p12');
  copyFileSync(tlsFile('trust-store.p12'), trustStore);
  const refused = writeConfig('trust.yaml', text({ trustStore, trustStorePassword: 'test-only' }));
  const { code, errors } = await run(['serve', '--config', refused]);
  assert.equal(code, 2, errors);
  const [, command = '', pem = ''] = /(openssl pkcs12 .* -out (\S+)) and/.exec(errors) ?? [];
  execFileSync('sh', ['-c', `${command} -passin pass:test-only`], { stdio: 'ignore' });

  const config = writeConfig('trust.yaml', text({ trustCertCollectionFile: pem }));
  const { child, exited, port } = await serve('--config', config);
  const open = (pfx?: Buffer): TLSSocket =>
    connect({ port, rejectUnauthorized: false, ...(pfx && { pfx, passphrase: 'test-only' }) });
  try {
    const trusted = new RawClient(open(readFileSync(keys.keyStore)));
    assert.equal((await trusted.request('GET', 'instance')).status, 200);
    trusted.destroy();
    const stranger = new RawClient(open().on('error', () => {}));
    stranger.send('GET / HTTP/1.0\r\n\r\n');
    assert.equal(await stranger.response(), undefined);
  } finally {
    child.kill('SIGTERM');
    await exited;
  }
});
