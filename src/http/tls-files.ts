/**
 * Reads the files that TLS needs and makes sure that they can be used before anything relies on them:
 * a certificate that has a key, its own; authorities that are certificates. The error names the file
 * and what is wrong with it, never what is in it.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { GridError } from '../base/errors.ts';
import { secureContextOf, type TlsIdentity } from './tls.ts';

/** Paths of PEM files. */
export interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
  readonly clientCa: string | undefined;
}

/** Rejects with GridError TLS_FILE_UNUSABLE. */
export async function readTlsFiles(files: TlsFiles): Promise<TlsIdentity> {
  const certificate = await read(files.certificate);
  const [own] = certificatesIn(certificate, files.certificate);
  const key = await read(files.key);
  if (!own?.checkPrivateKey(privateKeyIn(key, files.key))) {
    throw unusable(files.key, `not the key of the certificate in "${files.certificate}"`);
  }
  const clientCa = files.clientCa === undefined ? undefined : await read(files.clientCa);
  if (clientCa !== undefined) certificatesIn(clientCa, files.clientCa ?? '');
  const identity = { certificate, key, clientCa };
  try {
    createSecureContext(secureContextOf(identity));
  } catch (error) {
    // A key that is too short, for example.
    throw unusable(files.certificate, (error as { reason?: string }).reason, error);
  }
  return identity;
}

async function read(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw unusable(file, READ_FAILURES[(error as NodeJS.ErrnoException).code ?? ''], error);
  }
}

/** All certificates of a PEM text, at least one. */
function certificatesIn(pem: Buffer, file: string): X509Certificate[] {
  const blocks = pem.toString('latin1').match(CERTIFICATE);
  if (blocks === null) throw unusable(file, 'no certificate in PEM form in it');
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch (error) {
      throw unusable(file, `certificate ${index + 1} in it cannot be read`, error);
    }
  });
}

function privateKeyIn(pem: Buffer, file: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    const isLocked = pem.includes('ENCRYPTED');
    const reason = isLocked ? 'its key has a passphrase' : 'no private key in PEM form in it';
    throw unusable(file, reason, error);
  }
}

function unusable(file: string, reason: string | undefined, cause?: unknown): GridError {
  const told = reason ?? String((cause as NodeJS.ErrnoException).code);
  return new GridError('TLS_FILE_UNUSABLE', { file, reason: told }, { cause });
}

const CERTIFICATE = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[^-]+-----END [^-]+-----/g;

const READ_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'not permitted',
  EISDIR: 'a directory',
};
