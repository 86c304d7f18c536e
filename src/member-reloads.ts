/** The settings that a running member takes over, and the files of its TLS. */
import type { TlsIdentity } from './http/tls.ts';
import type { TlsFiles } from './http/tls-files.ts';
import type { Reload, ReloadableConfig, Reloads } from './reloader.ts';
import type { EndpointGroups } from './rest/endpoint-groups.ts';
import type { LogLevelControl } from './telemetry/log-level-control.ts';

interface ReloadedParts {
  /** The files of TLS at the start; undefined where TLS is off. */
  readonly tlsFiles: TlsFiles | undefined;
  readonly renewTls: (identity: TlsIdentity) => void;
  readonly groups: EndpointGroups;
  readonly logLevel: LogLevelControl;
}

export function reloadsOf({ tlsFiles, renewTls, groups, logLevel }: ReloadedParts): Reloads {
  const serve: Reload = (changed) => () => groups.set(changed.restEnabled, changed.endpointGroups);
  const readTlsAgain: Reload = async (changed) => {
    const files = tlsFilesOf(changed);
    if (tlsFiles === undefined || files === undefined) return () => {};
    // A reload does not change whether clients must show a certificate, only whose they may be.
    const clientCa = tlsFiles.clientCa && (files.clientCa ?? tlsFiles.clientCa);
    const identity = await readTls({ ...files, clientCa });
    return () => renewTls(identity);
  };
  return {
    logLevel: (changed) => () => logLevel.configure(changed.logLevel),
    restEnabled: serve,
    endpointGroups: serve,
    tlsCertificate: readTlsAgain,
    tlsKey: readTlsAgain,
    tlsKeyPassword: readTlsAgain,
    tlsKeyStore: readTlsAgain,
    tlsKeyStorePassword: readTlsAgain,
    tlsClientCa: readTlsAgain,
  };
}

export function tlsFilesOf(config: ReloadableConfig): TlsFiles | undefined {
  const { tlsCertificate, tlsKey, tlsKeyPassword, tlsKeyStore, tlsKeyStorePassword } = config;
  const clientCa = config.tlsClientCa;
  if (tlsCertificate !== undefined && tlsKey !== undefined) {
    const own = { certificate: tlsCertificate, key: tlsKey, passphrase: tlsKeyPassword };
    return { own, clientCa };
  }
  if (tlsKeyStore === undefined) return undefined;
  return { own: { keyStore: tlsKeyStore, passphrase: tlsKeyStorePassword }, clientCa };
}

/** Its code is loaded only where TLS is on. */
export async function readTls(files: TlsFiles): Promise<TlsIdentity> {
  return (await import('./http/tls-files.ts')).readTlsFiles(files);
}
