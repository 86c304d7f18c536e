/**
 * TLS from a member to the targets of its WAN publishers: the settings of `network.ssl`, and of the
 * `ssl` of each `advanced-network.wan-endpoint-config`. The member presents its certificate if a
 * target requests one, and verifies targets by the authorities, if any are configured.
 * Tested by wan.spec.ts.
 */
import type { Config } from './config.ts';
import { isOn } from './refused-settings.ts';
import type { Statement } from './statements.ts';
import { keyStoreFault, otherTlsFault, trustFault } from './tls-reading.ts';
import type { WanTls } from './wan-config.ts';

const REASONS = {
  'symmetric-encryption.enabled':
    'encryption with a shared password is not supported; use its ssl, and set this to false',
  'socket-interceptor.enabled':
    'classes that check connections are not supported; set this to false',
} as const;

/** The statements of one section by their path below it: `ssl.properties.keyFile`. */
type SectionStatements = ReadonlyMap<string, Statement>;

export interface TargetTls {
  /** Undefined if TLS is off. */
  readonly tls: WanTls | undefined;
  readonly used: readonly Statement[];
  /** Faults, each with its statement; with any of them, the endpoint cannot be used. */
  readonly faults: readonly (readonly [Statement, string])[];
}

/** Returns the TLS settings of an endpoint configuration. */
export function endpointTls(statements: SectionStatements): TargetTls {
  const faults: [Statement, string][] = [];
  const used: Statement[] = [];
  for (const [name, reason] of Object.entries(REASONS)) {
    const statement = statements.get(name);
    if (statement !== undefined && isOn(statement)) faults.push([statement, reason]);
  }
  const enabled = statements.get('ssl.enabled');
  if (enabled !== undefined) used.push(enabled);
  if (!isOn(enabled)) return { tls: undefined, used, faults };
  const property = (name: string): Statement | undefined => {
    const statement = statements.get(`ssl.properties.${name}`);
    if (statement !== undefined) used.push(statement);
    return statement;
  };
  const check = (statement: Statement | undefined, reason: string | undefined): void => {
    if (statement !== undefined && reason !== undefined) faults.push([statement, reason]);
  };
  const store = property('keyStore');
  check(store, keyStoreFault(store, property('keyStoreType')));
  const factory = statements.get('ssl.factory-class-name');
  if (factory !== undefined) used.push(factory);
  for (const [name, statement] of [
    ['factory-class-name', factory] as const,
    ...(['protocol', 'ciphersuites'] as const).map((name) => [name, property(name)] as const),
  ]) {
    if (statement !== undefined) check(statement, otherTlsFault(name, statement.text));
  }
  const authorities = authoritiesIn(property);
  check(authorities, authorities && trustFault(authorities));
  const certificate = property('keyCertChainFile');
  const key = property('keyFile');
  if (key === undefined) check(certificate, 'keyFile is not given');
  if (certificate === undefined) check(key, 'keyCertChainFile is not given');
  const tls: WanTls = {
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
 * Returns the TLS settings of the member. `properties`: those of `network.ssl` in a file.
 * Authorities are used even if clients need no certificate.
 */
export function ownTls(config: Config, properties: SectionStatements): TargetTls {
  if (!config.tlsEnabled) return { tls: undefined, used: [], faults: [] };
  const authorities =
    config.tlsClientCa === undefined ? authoritiesIn((name) => properties.get(name)) : undefined;
  const fault = authorities && trustFault(authorities);
  return {
    tls: {
      authorities: config.tlsClientCa ?? authorities?.text,
      certificate: config.tlsCertificate,
      key: config.tlsKey,
      keyPassword: config.tlsKeyPassword,
      keyStore: config.tlsKeyStore,
      keyStorePassword: config.tlsKeyStorePassword,
    },
    used: authorities === undefined ? [] : [authorities],
    faults: authorities === undefined || fault === undefined ? [] : [[authorities, fault]],
  };
}

function authoritiesIn(property: (name: string) => Statement | undefined): Statement | undefined {
  return property('trustCertCollectionFile') ?? property('trustStore');
}
