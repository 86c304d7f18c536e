/** Files that cannot be used for TLS are refused with their names and the reason. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { GridError } from '../../src/base/errors.ts';
import { readTargetTls, readTlsFiles, type TlsFiles } from '../../src/http/tls-files.ts';
import { identity, tlsFile } from '../tls/identity.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'gridnode-'));
after(() => rmSync(FOLDER, { recursive: true }));

const server = tlsFile('server.pem');
const serverKey = tlsFile('server-key.pem');
const authority = tlsFile('authority.pem');

/** Returns the path of a file with this text. */
function fileOf(name: string, text: string): string {
  const path = join(FOLDER, name);
  writeFileSync(path, text);
  return path;
}

function lockedKey(): string {
  const encoding = {
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'x',
  } as const;
  return generateKeyPairSync('ed25519').privateKey.export(encoding).toString();
}

const noise = fileOf('noise.pem', 'no certificate');
const broken = fileOf(
  'broken.pem',
  '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n',
);
const locked = fileOf('locked.pem', lockedKey());
const absent = join(FOLDER, 'absent.pem');

const refused: readonly (readonly [string, string, string | undefined, string, string])[] = [
  [absent, serverKey, undefined, absent, 'no such file'],
  [FOLDER, serverKey, undefined, FOLDER, 'a directory'],
  [noise, serverKey, undefined, noise, 'it contains no certificate in PEM form'],
  [broken, serverKey, undefined, broken, 'certificate 1 in it is invalid'],
  [server, absent, undefined, absent, 'no such file'],
  [server, noise, undefined, noise, 'it contains no private key in PEM form'],
  [server, locked, undefined, locked, 'the key needs a passphrase'],
  [
    server,
    tlsFile('client-key.pem'),
    undefined,
    tlsFile('client-key.pem'),
    `the key does not match the certificate in "${server}"`,
  ],
  [server, serverKey, absent, absent, 'no such file'],
  [
    tlsFile('weak.pem'),
    tlsFile('weak-key.pem'),
    undefined,
    tlsFile('weak.pem'),
    'ee key too small',
  ],
  [server, serverKey, serverKey, serverKey, 'it contains no certificate in PEM form'],
  [server, serverKey, broken, broken, 'certificate 1 in it is invalid'],
];

function filesOf(
  certificate: string,
  key: string,
  authorities?: string,
  passphrase?: string,
): TlsFiles {
  return { certificate, key, keyPassword: passphrase, authorities };
}

const stores: readonly (readonly [string, string | undefined, string])[] = [
  ['key-store.p12', 'wrong', 'wrong password'],
  ['key-store.p12', undefined, 'wrong password'],
  ['trust-store.p12', 'test-only', 'it contains no private key'],
  ['key-store.jks', 'test-only', 'not a PKCS12 file'],
  ['server.pem', 'test-only', 'not a PKCS12 file'],
  ['absent.p12', 'test-only', 'no such file'],
];

describe('readTlsFiles', () => {
  it('reads a key store that keytool made', async () => {
    const keyStore = tlsFile('key-store.p12');
    const read = await readTlsFiles({ keyStore, keyStorePassword: 'test-only' });
    assert.equal(read.passphrase, 'test-only');
    assert.deepEqual(read.keyStore, readFileSync(keyStore));
    assert.equal(read.expiryMs, Date.parse('2126-10-28T23:18:58Z'));
  });

  for (const [name, keyStorePassword, reason] of stores) {
    it(`refuses ${name} as a key store with password ${keyStorePassword}`, async () => {
      const keyStore = tlsFile(name);
      await assert.rejects(readTlsFiles({ keyStore, keyStorePassword }), {
        code: 'TLS_FILE_UNUSABLE',
        message: `Cannot use "${keyStore}" for TLS: ${reason}`,
      });
    });
  }

  it('opens a locked key only with the correct passphrase', async () => {
    const wrong = filesOf(server, locked, undefined, 'y');
    await assert.rejects(readTlsFiles(wrong), /for TLS: wrong passphrase$/);
    const right = filesOf(server, locked, undefined, 'x');
    await assert.rejects(readTlsFiles(right), /for TLS: the key does not match the certificate/);
  });

  it('reads certificate, key and authorities', async () => {
    const read = await readTlsFiles(filesOf(server, serverKey, authority));
    const expiryMs = Date.parse('2126-10-28T22:57:04Z');
    const own = identity('server', 'authority');
    assert.deepEqual(read, { ...own, passphrase: undefined, expiryMs });
  });

  it('accepts several certificates in a file', async () => {
    const { certificate } = identity('server');
    const text = `text before\n${certificate}text between\n${identity('server', 'authority').authorities}`;
    const chain = fileOf('chain.pem', text);
    const read = await readTlsFiles(filesOf(chain, serverKey, chain));
    assert.equal(String(read.certificate), text);
    assert.equal(read.expiryMs, Date.parse('2126-10-28T22:57:04Z'));
  });

  for (const [certificate, key, authorities, file, reason] of refused) {
    it(`refuses ${[certificate, key, authorities].map((path) => path?.split('/').pop())}`, async () => {
      await assert.rejects(readTlsFiles(filesOf(certificate, key, authorities)), (error) => {
        assert(error instanceof GridError);
        assert.equal(error.code, 'TLS_FILE_UNUSABLE');
        assert.equal(error.message, `Cannot use "${file}" for TLS: ${reason}`);
        return true;
      });
    });
  }
});

describe('readTargetTls', () => {
  it('reads authorities, and the certificate if there is one', async () => {
    const none = { minVersion: 'TLSv1.2', cert: undefined, key: undefined };
    assert.deepEqual(await readTargetTls({}), none);
    const authorities = tlsFile('authority.pem');
    const ca = readFileSync(authorities);
    assert.deepEqual(await readTargetTls({ authorities }), { ...none, ca });
    const certificate = tlsFile('client.pem');
    const key = tlsFile('client-key.pem');
    const own = { cert: readFileSync(certificate), key: readFileSync(key) };
    assert.deepEqual(await readTargetTls({ authorities, certificate, key }), {
      minVersion: 'TLSv1.2',
      ca,
      ...own,
    });
  });

  it('names the file that cannot be used', async () => {
    const authorities = tlsFile('nothing.pem');
    await assert.rejects(
      readTargetTls({ authorities }),
      new GridError('TLS_FILE_UNUSABLE', { file: authorities, reason: 'no such file' }),
    );
  });
});
