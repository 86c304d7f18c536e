/**
 * Reads `network.ssl` of a file: the properties that name the files for TLS. Keys are read from PEM
 * files or from a PKCS12 key store, authorities of clients from PEM files. A file of another form,
 * or a setting that requires more protection than this member has, is refused; the message names a
 * replacement. Tested by load.spec.ts.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import type { Effective } from './effective-statements.ts';
import { isOn, type RefusedList } from './refused-settings.ts';
import { pathOf, type SettingKey } from './settings.ts';
import type { Statement } from './statements.ts';

const SECTION = 'network.ssl';
const PROPERTIES = `${SECTION}.properties`;
/** Settings of the table that properties set directly. */
const KEYS: readonly SettingKey[] = [
  'tlsCertificate',
  'tlsKey',
  'tlsKeyPassword',
  'tlsKeyStore',
  'tlsKeyStorePassword',
  'tlsMutualAuthentication',
];
/** Classes of the original with the same effect as the TLS of this member. */
const FACTORY = /^com\.hazelcast\.nio\.ssl\.(Basic|OpenSSL)\w*$/;
const PROTOCOLS = /^(TLS|SSL|TLSv1(\.[0-2])?)$/;

interface TlsReading {
  /** The settings that are set, each with its statement. */
  readonly assigned: readonly (readonly [SettingKey, Statement])[];
  /** Statements that have an effect. */
  readonly used: ReadonlySet<Statement>;
}

export function readTls(effective: Effective, refused: RefusedList): TlsReading {
  const assigned: [SettingKey, Statement][] = [];
  const used = new Set<Statement>();
  const enabled = effective.get(pathOf('tlsEnabled'));
  if (enabled === undefined || !isOn(enabled)) return { assigned, used };
  used.add(enabled);
  assigned.push(['tlsEnabled', enabled]);
  const property = (name: string): Statement | undefined => effective.get(`${PROPERTIES}.${name}`);
  for (const key of KEYS) {
    const statement = effective.get(pathOf(key));
    if (statement === undefined) continue;
    used.add(statement);
    assigned.push([key, statement]);
  }
  const refuse = (statement: Statement | undefined, reason: string | undefined): void => {
    if (statement === undefined || reason === undefined) return;
    used.add(statement);
    refused.add(statement, reason);
  };
  const store = effective.get(pathOf('tlsKeyStore'));
  refuse(store, keyStoreFault(store, property('keyStoreType')));
  for (const name of ['factory-class-name', 'protocol', 'ciphersuites', 'keyStoreType']) {
    const statement = effective.get(`${SECTION}.${name}`) ?? property(name);
    if (statement === undefined) continue;
    used.add(statement);
    refuse(statement, otherTlsFault(name, statement.text));
  }
  const authentication = effective.get(pathOf('tlsMutualAuthentication'));
  if (authentication?.text.toUpperCase() === 'REQUIRED') {
    const authorities = effective.get(pathOf('tlsClientCa')) ?? property('trustStore');
    const fault = trustFault(authorities);
    if (fault !== undefined) refuse(authorities ?? authentication, fault);
    else if (authorities !== undefined) {
      used.add(authorities);
      assigned.push(['tlsClientCa', authorities]);
    }
  }
  return { assigned, used };
}

/** The reason for refusing `network.ssl.enabled` of a member without a certificate. */
export const NO_CERTIFICATE =
  'no certificate is configured; write keyStore (PKCS12) and keyStorePassword, or keyFile and ' +
  'keyCertChainFile (PEM), in network.ssl.properties';

/** Returns the reason why a key store cannot be used, or undefined if it can or is not set. */
export function keyStoreFault(
  store: Statement | undefined,
  type: Statement | undefined,
): string | undefined {
  if (store === undefined) return undefined;
  const isOther = type !== undefined && type.text.toUpperCase() !== 'PKCS12';
  const form = formOfStore(store.text);
  if (form !== 'JKS' && !(isOther && form === undefined)) return undefined;
  return (
    'only PKCS12 is supported; convert it with ' +
    `keytool -importkeystore -srckeystore ${shellText(store.text)} ` +
    `-destkeystore ${shellText(`${bareName(store.text)}.p12`)} -deststoretype PKCS12`
  );
}

/** Returns the reason why the authorities cannot be used, or undefined if they can. */
export function trustFault(store: Statement | undefined): string | undefined {
  if (store === undefined) {
    return 'no authorities are configured to verify clients; set trustCertCollectionFile (PEM)';
  }
  const form = formOfStore(store.text);
  if (form === 'PEM') return undefined;
  if (form === undefined && store.path.at(-1) === 'trustCertCollectionFile') return undefined;
  const pem = shellText(`${bareName(store.text)}.pem`);
  const command =
    form === 'JKS'
      ? `keytool -list -rfc -keystore ${shellText(store.text)} > ${pem}`
      : `openssl pkcs12 -in ${shellText(store.text)} -nokeys -out ${pem}`;
  return `authorities must be PEM files; create one with ${command} and set it as trustCertCollectionFile`;
}

/** Returns the reason why the setting of that name cannot be used, or undefined if it can. */
export function otherTlsFault(name: string, text: string): string | undefined {
  if (name === 'factory-class-name' && !FACTORY.test(text)) {
    return 'custom classes are not supported; remove it and write network.ssl.properties';
  }
  if (name === 'protocol' && !PROTOCOLS.test(text)) {
    return 'TLS 1.2 and 1.3 are both served; remove it if they are sufficient';
  }
  if (name === 'ciphersuites') {
    return 'cipher suites cannot be configured; remove it if those of Node.js are sufficient';
  }
  return undefined;
}

/**
 * Returns the form of a file by its first bytes, or undefined if it cannot be read or has another
 * form.
 */
function formOfStore(file: string): 'JKS' | 'PKCS12' | 'PEM' | undefined {
  const start = Buffer.alloc(64);
  try {
    const descriptor = openSync(file, 'r');
    try {
      readSync(descriptor, start, 0, start.length, 0);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // The code that loads the file reports the fault.
    return undefined;
  }
  if (start.readUInt32BE(0) === JKS_MAGIC) return 'JKS';
  if (start[0] === DER_SEQUENCE) return 'PKCS12';
  return /-----BEGIN|^(Bag Attributes|Keystore type)/m.test(start.toString('latin1'))
    ? 'PEM'
    : undefined;
}

const JKS_MAGIC = 0xfeedfeed;
const DER_SEQUENCE = 0x30;

function bareName(file: string): string {
  return file.replace(/\.[^./]*$/, '');
}

/** Returns the text in a form that a shell reads as one word. */
function shellText(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
