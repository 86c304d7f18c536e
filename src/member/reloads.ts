/**
 * The reloadable settings, each with the function that applies it. Tested by cli/reload.spec.ts.
 */
import type { SharedRecord } from '../cluster/shared-record.ts';
import type { Config } from '../config/config.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { TlsIdentity } from '../http/tls.ts';
import type { TlsFiles } from '../http/tls-files.ts';
import type { EndpointGroups } from '../rest/endpoint-groups.ts';
import { hashPassword } from '../security/password.ts';
import type { LogLevelControl } from '../telemetry/log-level-control.ts';
import { type ConfiguredParts, readTls, tlsFilesOf } from './configuration.ts';
import { prepared, type Reload, Reloader, type Reloads } from './reloader.ts';

interface ReloadedParts {
  /** The TLS files at the start; undefined if TLS is off. */
  readonly tlsFiles: TlsFiles | undefined;
  readonly renewTls: (identity: TlsIdentity) => void;
  readonly groups: EndpointGroups;
  readonly logLevel: LogLevelControl;
}

function reloadsOf({ tlsFiles, renewTls, groups, logLevel }: ReloadedParts): Reloads {
  const serve: Reload = (changed) => () => groups.set(changed.restEnabled, changed.endpointGroups);
  const readTlsAgain: Reload = async (changed) => {
    const files = tlsFilesOf(changed);
    if (tlsFiles === undefined || files === undefined) return () => {};
    // A reload does not change whether clients must show a certificate, only which ones are valid.
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

/**
 * Creates the reloader of a member with these parts. `renewTls` passes an identity to the servers.
 * `readPublisherTls` reads the TLS files of WAN publishers and resolves with the function that
 * applies them.
 */
export function reloaderOf(
  { config, log, tlsFiles, groups, security, logLevel }: ConfiguredParts,
  record: SharedRecord,
  load: () => Promise<LoadedConfig>,
  renewTls: (identity: TlsIdentity) => void,
  readPublisherTls: () => Promise<() => void>,
): Reloader {
  const reloads = reloadsOf({ tlsFiles, renewTls, groups, logLevel });
  /** Applies the settings that may change at run time. Rejects before any change. */
  const apply = async (changed: Config): Promise<void> => {
    const change = await prepared(reloads, changed);
    const renewPublisherTls = await readPublisherTls();
    await security.replace(changed.security);
    change();
    renewPublisherTls();
  };
  return new Reloader(config, { apply, log, load, record, hashPassword });
}
