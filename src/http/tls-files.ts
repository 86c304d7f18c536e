/**
 * Reads TLS files and checks them before use: the key must match the certificate, and authorities must be
 * certificates. Errors name the file and its fault, never its content.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { GridError } from '../base/errors.ts';
import { secureContextOf, type TlsIdentity } from './tls.ts';

/** Paths of the server's PEM files, or of a PKCS12 file instead of certificate and key. */
export interface TlsFiles {
  readonly own: PemFiles | KeyStoreFile;
  readonly clientCa: string | undefined;
}

interface PemFiles {
  readonly certificate: string;
  readonly key: string;
  /** Passphrase of the key, if it has one. */
  readonly passphrase: string | undefined;
}

interface KeyStoreFile {
  readonly keyStore: string;
  readonly passphrase: string | undefined;
}

/** Reads the server's identity. Rejects with GridError TLS_FILE_UNUSABLE. */
export async function readTlsFiles({ own, clientCa: file }: TlsFiles): Promise<TlsIdentity> {
  const identity = 'keyStore' in own ? await readKeyStore(own) : await readPemFiles(own);
  const clientCa = file === undefined ? undefined : await read(file);
  if (clientCa !== undefined) certificatesIn(clientCa, file ?? '');
  return { ...identity, clientCa };
}

/** Paths of the files for connections to other members; all optional. */
interface TargetTlsFiles {
  readonly authorities: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  readonly keyPassword: string | undefined;
  readonly keyStore: string | undefined;
  readonly keyStorePassword: string | undefined;
}

/**
 * Reads the TLS options for connections to other members: the authorities of their certificates,
 * and this member's certificate and key as a client. Rejects with GridError TLS_FILE_UNUSABLE.
 */
export async function readTargetTls(files: TargetTlsFiles): Promise<SecureContextOptions> {
  const { authorities, certificate, key, keyPassword, keyStore, keyStorePassword } = files;
  const clientCa = authorities === undefined ? undefined : await read(authorities);
  if (clientCa !== undefined) certificatesIn(clientCa, authorities ?? '');
  if (certificate !== undefined && key !== undefined) {
    const own = await readPemFiles({ certificate, key, passphrase: keyPassword });
    return secureContextOf({ ...own, clientCa });
  }
  if (keyStore !== undefined) {
    const own = await readKeyStore({ keyStore, passphrase: keyStorePassword });
    return secureContextOf({ ...own, clientCa });
  }
  return { minVersion: 'TLSv1.2', ...(clientCa === undefined ? {} : { ca: clientCa }) };
}

async function readPemFiles(files: PemFiles): Promise<Omit<TlsIdentity, 'clientCa'>> {
  const certificate = await read(files.certificate);
  const [own] = certificatesIn(certificate, files.certificate);
  const key = await read(files.key);
  if (!own?.checkPrivateKey(privateKeyIn(key, files))) {
    throw unusable(files.key, `the key does not match the certificate in "${files.certificate}"`);
  }
  const identity = { certificate, key, passphrase: files.passphrase };
  try {
    createSecureContext(secureContextOf({ ...identity, clientCa: undefined }));
  } catch (error) {
    // For example a key that is too short.
    throw unusable(files.certificate, (error as { reason?: string }).reason, error);
  }
  return identity;
}

async function readKeyStore(file: KeyStoreFile): Promise<Omit<TlsIdentity, 'clientCa'>> {
  const keyStore = await read(file.keyStore);
  const passphrase = file.passphrase ?? '';
  try {
    createSecureContext({ pfx: keyStore, passphrase });
  } catch (error) {
    const { message } = error as Error;
    const failure = STORE_FAILURES.find(([pattern]) => pattern.test(message));
    throw unusable(file.keyStore, failure?.[1] ?? `not usable as PKCS12 (${message})`, error);
  }
  return { keyStore, passphrase };
}

async function read(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw unusable(file, READ_FAILURES[(error as NodeJS.ErrnoException).code ?? ''], error);
  }
}

/** Returns all certificates of a PEM text, at least one. */
function certificatesIn(pem: Buffer, file: string): X509Certificate[] {
  const blocks = pem.toString('latin1').match(CERTIFICATE);
  if (blocks === null) throw unusable(file, 'it contains no certificate in PEM form');
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch (error) {
      throw unusable(file, `certificate ${index + 1} in it is invalid`, error);
    }
  });
}

function privateKeyIn(pem: Buffer, { key: file, passphrase }: PemFiles): KeyObject {
  try {
    return createPrivateKey(passphrase === undefined ? pem : { key: pem, passphrase });
  } catch (error) {
    const isLocked = pem.includes('ENCRYPTED');
    const locked = passphrase === undefined ? 'the key needs a passphrase' : 'wrong passphrase';
    throw unusable(file, isLocked ? locked : 'it contains no private key in PEM form', error);
  }
}

function unusable(file: string, reason: string | undefined, cause?: unknown): GridError {
  const text = reason ?? String((cause as NodeJS.ErrnoException).code);
  return new GridError('TLS_FILE_UNUSABLE', { file, reason: text }, { cause });
}

const CERTIFICATE = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[^-]+-----END [^-]+-----/g;

/** Patterns of OpenSSL's errors about a PKCS12 file, and the reasons to report instead. */
const STORE_FAILURES: readonly (readonly [RegExp, string])[] = [
  [/mac verify/i, 'wrong password'],
  [/private key/i, 'it contains no private key'],
  [
    /unsupported/i,
    'its encryption is too old; create it again with keytool or openssl pkcs12 -export',
  ],
  [/wrong tag|not enough data|asn1|too long|header/i, 'not a PKCS12 file'],
];

const READ_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'not permitted',
  EISDIR: 'a directory',
};
