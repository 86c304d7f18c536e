import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Config } from '../../src/member/config.ts';
import { loadConfig } from '../../src/member/load.ts';
import { makeParts } from '../../src/member/parts.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { TEST_MEMORY, TEST_PARTITIONS } from '../integration/member-process.ts';
import { scraped } from '../telemetry/scraped.ts';
import { tlsFile } from '../tls/identity.ts';

const NAME = 'gridnode_tls_certificate_expiry_timestamp_seconds';
/** The end of the certificate in key-store.p12, as openssl reports it. */
const KEY_STORE_ENDS = Date.parse('Oct 28 23:18:58 2126 GMT') / 1000;

async function configured(properties?: object): Promise<Config> {
  const network = properties === undefined ? {} : { ssl: { enabled: true, properties } };
  const sizes = { 'max-memory': TEST_MEMORY, 'partition-count': TEST_PARTITIONS };
  const text = JSON.stringify({ grid: { ...sizes, network } });
  return (await loadConfig({ file: { text }, environment: {}, flags: [] })).config;
}

function pem(name: string): object {
  return { keyCertChainFile: tlsFile(`${name}.pem`), keyFile: tlsFile(`${name}-key.pem`) };
}

const KEY_STORE = { keyStore: tlsFile('key-store.p12'), keyStorePassword: 'test-only' };

async function made(config: Config) {
  const log = createLog('OFF', { write() {} });
  const { servers } = await makeParts(config, log, () => assert.fail(), { write() {} });
  return { servers, expiry: () => scraped((to) => servers.figures(to))[NAME] };
}

function endOf(name: string): number {
  const { validTo } = new X509Certificate(readFileSync(tlsFile(`${name}.pem`)));
  return Date.parse(validTo) / 1000;
}

test('A reload changes the reported end, a change that reads no files does not', async () => {
  const { servers, expiry } = await made(await configured(pem('server')));
  assert.notEqual(endOf('server'), endOf('server-2'));
  assert.equal(expiry(), endOf('server'));
  (await servers.change(await configured(pem('server-2')), false))();
  assert.equal(expiry(), endOf('server'));
  const apply = await servers.change(await configured(pem('server-2')), true);
  assert.equal(expiry(), endOf('server'));
  apply();
  assert.equal(expiry(), endOf('server-2'));
  await assert.rejects(servers.change(await configured(pem('absent')), true));
  assert.equal(expiry(), endOf('server-2'));
});

test('The end of the certificate in a key store is reported', async () => {
  const { servers, expiry } = await made(await configured(KEY_STORE));
  assert.equal(expiry(), KEY_STORE_ENDS);
  (await servers.change(await configured(pem('server')), true))();
  assert.equal(expiry(), endOf('server'));
});

test('Nothing is reported without TLS', async () => {
  const { servers, expiry } = await made(await configured());
  (await servers.change(await configured(), true))();
  assert.equal(expiry(), undefined);
});
