/**
 * Reads TLS files and checks them before use: the key must match the certificate, and authorities must be
 * certificates. Errors name the file and its fault, never its content.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import {
  createSecureContext,
  type SecureContext,
  type SecureContextOptions,
  TLSSocket,
} from 'node:tls';
import { GridError } from '../base/errors.ts';
import { secureContextOf, type TlsIdentity } from './tls.ts';

/** Paths of the files: PEM, except the key store, which has the certificate and its key in PKCS12. */
export interface TlsFiles {
  /** Authorities of the other side's certificates. */
  readonly authorities?: string | undefined;
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  /** Passphrase of the key, if it has one. */
  readonly keyPassword?: string | undefined;
  /** Used unless there are a certificate and a key. */
  readonly keyStore?: string | undefined;
  readonly keyStorePassword?: string | undefined;
}

/** Reads the files. Rejects with GridError TLS_FILE_UNUSABLE. */
export async function readTlsFiles(files: TlsFiles): Promise<TlsIdentity> {
  const own = await readOwn(files);
  const { authorities: file } = files;
  if (file === undefined) return own;
  const authorities = await read(file);
  certificatesIn(authorities, file);
  return { ...own, authorities };
}

/** Reads the files as options for connections to servers. Rejects with GridError TLS_FILE_UNUSABLE. */
export async function readTargetTls(files: TlsFiles): Promise<SecureContextOptions> {
  return secureContextOf(await readTlsFiles(files));
}

async function readOwn(files: TlsFiles): Promise<TlsIdentity> {
  const { certificate, key, keyPassword, keyStore, keyStorePassword } = files;
  if (certificate !== undefined && key !== undefined)
    return readPemFiles(certificate, key, keyPassword);
  return keyStore === undefined ? {} : readKeyStore(keyStore, keyStorePassword);
}

async function readPemFiles(
  certificateFile: string,
  keyFile: string,
  passphrase: string | undefined,
): Promise<TlsIdentity> {
  const certificate = await read(certificateFile);
  const [own] = certificatesIn(certificate, certificateFile);
  const key = await read(keyFile);
  if (!own?.checkPrivateKey(privateKeyIn(key, keyFile, passphrase))) {
    throw unusable(keyFile, `the key does not match the certificate in "${certificateFile}"`);
  }
  const identity = { certificate, key, passphrase, expiryMs: expiryOf(own) };
  try {
    createSecureContext(secureContextOf(identity));
  } catch (error) {
    // For example a key that is too short.
    throw unusable(certificateFile, (error as { reason?: string }).reason, error);
  }
  return identity;
}

async function readKeyStore(file: string, passphrase = ''): Promise<TlsIdentity> {
  const keyStore = await read(file);
  try {
    const own = certificateOf(createSecureContext({ pfx: keyStore, passphrase }));
    return { keyStore, passphrase, expiryMs: own && expiryOf(own) };
  } catch (error) {
    const { message } = error as Error;
    const failure = STORE_FAILURES.find(([pattern]) => pattern.test(message));
    throw unusable(file, failure?.[1] ?? `not usable as PKCS12 (${message})`, error);
  }
}

/**
 * Returns the certificate of a context that was read from a key store, which Node reports only for a
 * socket. The socket performs no handshake.
 */
function certificateOf(secureContext: SecureContext): X509Certificate | undefined {
  const unconnected = new Duplex({ read() {}, write() {} });
  const socket = new TLSSocket(unconnected as Socket, { isServer: true, secureContext });
  const certificate = socket.getX509Certificate();
  socket.destroy();
  return certificate;
}

/** Returns the end of the certificate's validity, in ms since 1970. */
function expiryOf({ validTo }: X509Certificate): number {
  return Date.parse(validTo);
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

function privateKeyIn(pem: Buffer, file: string, passphrase: string | undefined): KeyObject {
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
