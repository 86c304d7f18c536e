/**
 * Reads the settings of TLS in a file: `network.ssl` for the clients of the member, and the `ssl`
 * of each `advanced-network.wan-endpoint-config` for the targets of its WAN publishers. Properties
 * name the files: keys are read from PEM files or from a PKCS12 key store, authorities from PEM
 * files. A file of another form, or a setting that requires more protection than this member has,
 * is refused; the message names a replacement. To targets, the member presents its certificate if
 * they request one, and verifies them by the authorities, if any are configured.
 * Tested by member/load.spec.ts.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { type Effective, isOn, type RefusedList } from '../config/refused-settings.ts';
import { pathOf } from '../config/setting.ts';
import type { Statement } from '../config/statements.ts';
import type { TlsFiles } from '../http/tls-files.ts';
import { TLS_SETTINGS, type TlsConfig, tlsFilesOf } from './tls-settings.ts';

const SECTION = 'network.ssl';
/** Settings of the table that properties set directly. */
const KEYS = [
  'tlsCertificate',
  'tlsKey',
  'tlsKeyPassword',
  'tlsKeyStore',
  'tlsKeyStorePassword',
  'tlsMutualAuthentication',
] as const;
/** Classes of the original with the same effect as the TLS of this member. */
const FACTORY = /^com\.hazelcast\.nio\.ssl\.(Basic|OpenSSL)\w*$/;
const PROTOCOLS = /^(TLS|SSL|TLSv1(\.[0-2])?)$/;

/** Returns the statement of a name below a section, or undefined. */
type Lookup = (name: string) => Statement | undefined;

interface TlsReading {
  readonly section: string;
  /** The settings that are set, each with its statement. */
  readonly assigned: readonly (readonly [keyof typeof TLS_SETTINGS, Statement])[];
  /** Statements that have an effect. */
  readonly used: ReadonlySet<Statement>;
}

/** Reads `network.ssl`. */
export function readTls(effective: Effective, refused: RefusedList): TlsReading {
  const assigned: [keyof typeof TLS_SETTINGS, Statement][] = [];
  const used = new Set<Statement>();
  const reading = { section: `${SECTION}.`, assigned, used };
  const enabled = effective.get(pathOf(TLS_SETTINGS.tlsEnabled));
  if (enabled === undefined || !isOn(enabled)) return reading;
  const assign = (key: keyof typeof TLS_SETTINGS, statement: Statement | undefined): void => {
    if (statement === undefined) return;
    used.add(statement);
    assigned.push([key, statement]);
  };
  const refuse = (statement: Statement | undefined, reason: string | undefined): void => {
    if (statement === undefined) return;
    used.add(statement);
    if (reason !== undefined) refused.add(statement, reason);
  };
  const property: Lookup = (name) => effective.get(`${SECTION}.properties.${name}`);
  assign('tlsEnabled', enabled);
  for (const key of KEYS) assign(key, effective.get(pathOf(TLS_SETTINGS[key])));
  const store = property('keyStore');
  refuse(store, keyStoreFault(store, property('keyStoreType')));
  for (const name of ['factory-class-name', 'protocol', 'ciphersuites', 'keyStoreType']) {
    const statement = effective.get(`${SECTION}.${name}`) ?? property(name);
    refuse(statement, statement && otherTlsFault(name, statement.text));
  }
  const authentication = effective.get(pathOf(TLS_SETTINGS.tlsMutualAuthentication));
  if (authentication?.text.toUpperCase() === 'REQUIRED') {
    const authorities = authoritiesIn(property);
    const fault = trustFault(authorities);
    if (fault !== undefined) refuse(authorities ?? authentication, fault);
    else assign('tlsClientCa', authorities);
  }
  return reading;
}

/** TLS from a member to targets. */
export interface TargetTls {
  /** Undefined if TLS is off. */
  readonly tls: TlsFiles | undefined;
  readonly used: readonly Statement[];
  /** Faults, each with its statement; with any of them, the endpoint cannot be used. */
  readonly faults: readonly (readonly [Statement, string])[];
}

/** Settings of an endpoint configuration that cannot be on, each with the reason. */
const SWITCHES = {
  'symmetric-encryption.enabled':
    'encryption with a shared password is not supported; use its ssl, and set this to false',
  'socket-interceptor.enabled':
    'classes that check connections are not supported; set this to false',
} as const;

/** Reads the statements of an endpoint configuration, by their paths below it. */
export function endpointTls(statements: ReadonlyMap<string, Statement>): TargetTls {
  const faults: [Statement, string][] = [];
  const used: Statement[] = [];
  const lookUp: Lookup = (name) => {
    const statement = statements.get(`ssl.${name}`);
    if (statement !== undefined) used.push(statement);
    return statement;
  };
  const property: Lookup = (name) => lookUp(`properties.${name}`);
  const check = (statement: Statement | undefined, reason: string | undefined): void => {
    if (statement !== undefined && reason !== undefined) faults.push([statement, reason]);
  };
  for (const [name, reason] of Object.entries(SWITCHES)) {
    const statement = statements.get(name);
    check(statement, isOn(statement) ? reason : undefined);
  }
  if (!isOn(lookUp('enabled'))) return { tls: undefined, used, faults };
  const store = property('keyStore');
  check(store, keyStoreFault(store, property('keyStoreType')));
  for (const name of ['factory-class-name', 'protocol', 'ciphersuites']) {
    const statement = name === 'factory-class-name' ? lookUp(name) : property(name);
    check(statement, statement && otherTlsFault(name, statement.text));
  }
  const authorities = authoritiesIn(property);
  check(authorities, authorities && trustFault(authorities));
  const certificate = property('keyCertChainFile');
  const key = property('keyFile');
  if (key === undefined) check(certificate, 'keyFile is not given');
  if (certificate === undefined) check(key, 'keyCertChainFile is not given');
  const tls: TlsFiles = {
    authorities: authorities?.text,
    certificate: certificate?.text,
    key: key?.text,
    keyPassword: property('keyPassword')?.text,
    keyStore: store?.text,
    keyStorePassword: property('keyStorePassword')?.text,
  };
  return { tls, used, faults };
}

/**
 * Returns the TLS of the member itself. `properties`: those of `network.ssl` in a file. Authorities
 * are used even if clients need no certificate.
 */
export function ownTls(config: TlsConfig, properties: ReadonlyMap<string, Statement>): TargetTls {
  if (!config.tlsEnabled) return { tls: undefined, used: [], faults: [] };
  const authorities =
    config.tlsClientCa === undefined ? authoritiesIn((name) => properties.get(name)) : undefined;
  const fault = authorities && trustFault(authorities);
  return {
    tls: { ...tlsFilesOf(config), authorities: config.tlsClientCa ?? authorities?.text },
    used: authorities === undefined ? [] : [authorities],
    faults: authorities === undefined || fault === undefined ? [] : [[authorities, fault]],
  };
}

function authoritiesIn(property: Lookup): Statement | undefined {
  return property('trustCertCollectionFile') ?? property('trustStore');
}

/** The reason for refusing `network.ssl.enabled` of a member without a certificate. */
export const NO_CERTIFICATE =
  'no certificate is configured; write keyStore (PKCS12) and keyStorePassword, or keyFile and ' +
  'keyCertChainFile (PEM), in network.ssl.properties';

/** Returns the reason why a key store cannot be used, or undefined if it can or is not set. */
function keyStoreFault(
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
function trustFault(store: Statement | undefined): string | undefined {
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
function otherTlsFault(name: string, text: string): string | undefined {
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
