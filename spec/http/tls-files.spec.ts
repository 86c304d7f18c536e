/** Files that cannot be used for TLS are refused by name, with the reason. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { GridError } from '../../src/base/errors.ts';
import { readTlsFiles } from '../../src/http/tls-files.ts';
import { identity, tlsFile } from '../tls/identity.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'gridnode-'));
after(() => rmSync(FOLDER, { recursive: true }));

const [server, serverKey] = [tlsFile('server.pem'), tlsFile('server-key.pem')];
const authority = tlsFile('authority.pem');

/** Path of a file that holds the text. */
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
  [noise, serverKey, undefined, noise, 'no certificate in PEM form in it'],
  [broken, serverKey, undefined, broken, 'certificate 1 in it cannot be read'],
  [server, absent, undefined, absent, 'no such file'],
  [server, noise, undefined, noise, 'no private key in PEM form in it'],
  [server, locked, undefined, locked, 'its key has a passphrase'],
  [
    server,
    tlsFile('client-key.pem'),
    undefined,
    tlsFile('client-key.pem'),
    `not the key of the certificate in "${server}"`,
  ],
  [server, serverKey, absent, absent, 'no such file'],
  [
    tlsFile('weak.pem'),
    tlsFile('weak-key.pem'),
    undefined,
    tlsFile('weak.pem'),
    'ee key too small',
  ],
  [server, serverKey, serverKey, serverKey, 'no certificate in PEM form in it'],
  [server, serverKey, broken, broken, 'certificate 1 in it cannot be read'],
];

describe('readTlsFiles', () => {
  it('reads certificate, key and authorities', async () => {
    const read = await readTlsFiles({ certificate: server, key: serverKey, clientCa: authority });
    assert.deepEqual(read, identity('server', 'authority'));
  });

  it('takes several certificates in a file', async () => {
    const { certificate } = identity('server');
    const text = `text before\n${certificate}text between\n${identity('server', 'authority').clientCa}`;
    const chain = fileOf('chain.pem', text);
    const read = await readTlsFiles({ certificate: chain, key: serverKey, clientCa: chain });
    assert.equal(String(read.certificate), text);
  });

  for (const [certificate, key, clientCa, file, reason] of refused) {
    it(`refuses ${[certificate, key, clientCa].map((path) => path?.split('/').pop())}`, async () => {
      await assert.rejects(readTlsFiles({ certificate, key, clientCa }), (error) => {
        assert(error instanceof GridError);
        assert.equal(error.code, 'TLS_FILE_UNUSABLE');
        assert.equal(error.message, `Cannot use "${file}" for TLS: ${reason}`);
        return true;
      });
    });
  }
});
