/**
 * The start phase that creates the parts that depend only on the configuration.
 * Tested by integration/tls.spec.ts.
 */
import { type Clock, SystemClock } from '../base/clock.ts';
import { type OpenFiles, openFiles } from '../base/open-files.ts';
import type { RepeatedEvents } from '../base/repeated-events.ts';
import type { Config } from '../config/config.ts';
import { matchingAddress } from '../config/interface-pattern.ts';
import { memoryWarning } from '../config/memory-defaults.ts';
import { ServedHosts } from '../http/served-hosts.ts';
import type { TlsIdentity } from '../http/tls.ts';
import type { TlsFiles } from '../http/tls-files.ts';
import { CrossOriginPolicy } from '../rest/cross-origin-policy.ts';
import { EndpointGroups } from '../rest/endpoint-groups.ts';
import { MapLifetimes } from '../rest/map-lifetimes.ts';
import { MemberSecurity } from '../security/member-security.ts';
import { refusedConnections } from '../servers/http-servers.ts';
import { type Audit, CountingAudit } from '../telemetry/audit.ts';
import type { Log } from '../telemetry/log.ts';
import { LogLevelControl } from '../telemetry/log-level-control.ts';
import { type DescriptorShares, descriptorShares } from './descriptors.ts';
import type { ReloadableConfig } from './reloader.ts';

/** The parts that depend only on the configuration. */
export interface ConfiguredParts {
  readonly config: Config;
  readonly log: Log;
  readonly audit: CountingAudit;
  readonly clock: Clock;
  readonly descriptors: DescriptorShares;
  /** Open files of the process at its start. */
  readonly filesAtStart: OpenFiles;
  /** Counts connections beyond `connections-max`; the detail is that limit. */
  readonly refused: RepeatedEvents<number>;
  readonly tlsFiles: TlsFiles | undefined;
  readonly tls: TlsIdentity | undefined;
  readonly groups: EndpointGroups;
  /** The hosts that the data port serves, and the origins of pages that may use the member. */
  readonly servedHosts: ServedHosts;
  readonly crossOrigin: CrossOriginPolicy;
  readonly security: MemberSecurity;
  readonly logLevel: LogLevelControl;
  readonly lifetimes: MapLifetimes;
  readonly stopRequested: Promise<string>;
  /** Ends the member. The argument is logged. */
  readonly requestStop: (because: string) => void;
}

/** Creates the parts. Rejects with GridError TLS_FILE_UNUSABLE. */
export async function configure(config: Config, log: Log, audit: Audit): Promise<ConfiguredParts> {
  const filesAtStart = openFiles();
  const descriptors = descriptorShares(config, filesAtStart);
  for (const warning of [memoryWarning(config), descriptors.warning]) {
    if (warning !== undefined) log.warn(warning);
  }
  const tlsFiles = tlsFilesOf(config);
  const tls = tlsFiles && (await readTls(tlsFiles));
  const clock = new SystemClock();
  const matchesAddress = (patterns: readonly string[], address: string): boolean =>
    matchingAddress(patterns, [address]) !== undefined;
  let requestStop: (because: string) => void = () => {};
  const stopRequested = new Promise<string>((resolve) => {
    requestStop = resolve;
  });
  return {
    config,
    log,
    clock,
    descriptors,
    filesAtStart,
    tlsFiles,
    tls,
    stopRequested,
    requestStop,
    audit: new CountingAudit(audit, clock),
    refused: refusedConnections(clock, log),
    groups: new EndpointGroups(config.restEnabled, config.endpointGroups),
    servedHosts: new ServedHosts(ownNames(config), config.allowedHosts),
    crossOrigin: new CrossOriginPolicy(config.corsAllowedOrigins, config.corsMaxAgeSeconds),
    security: new MemberSecurity({ ...config, clock, matchesAddress }),
    logLevel: new LogLevelControl(log, config.logLevel),
    lifetimes: new MapLifetimes(config.mapTimeToLiveSeconds, config.mapMaxIdleSeconds),
  };
}

/** Returns this machine's names in the configuration. */
function ownNames({ host, publicAddress }: Config): string[] {
  return publicAddress === undefined ? [host] : [host, publicAddress.replace(/:\d+$/, '')];
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

/** Reads the TLS files. The code is only loaded if TLS is on. */
export async function readTls(files: TlsFiles): Promise<TlsIdentity> {
  return (await import('../http/tls-files.ts')).readTlsFiles(files);
}
