/** The services that the REST interface uses: one object for all connections. */
import type { GridError } from '../base/errors.ts';
import type { Cluster, Waiter } from '../cluster/cluster.ts';
import type { License } from '../cluster/license.ts';
import type { TcpIpMembers } from '../cluster/tcp-ip-members.ts';
import type { NamedConfig } from '../config/update.ts';
import type { MapLifetimes } from '../data/map-lifetimes.ts';
import type { Engine } from '../engine/engine.ts';
import type { Session } from '../http/session.ts';
import type { Maintenance } from '../persistence/maintenance.ts';
import type { AccessControl } from '../security/access-control.ts';
import type { Credentials } from '../security/credentials.ts';
import type { CountingAudit } from '../telemetry/audit.ts';
import type { LogLevelControl } from '../telemetry/log-level-control.ts';
import type { WanService } from '../wan/wan-service.ts';
import type { CrossOriginPolicy } from './cross-origin-policy.ts';
import type { Dialect } from './dialect.ts';
import type { EndpointGroups } from './endpoint-groups.ts';
import type { PathPart } from './percent-decoding.ts';

export interface RestServices {
  readonly dialect: Dialect;
  readonly data: DataServices;
  readonly access: AccessServices;
  readonly cluster: Cluster;
  readonly administration: AdministrationServices;
  readonly telemetry: TelemetryServices;
  /** WAN replication; undefined if servers store the data. */
  readonly wan: WanCalls | undefined;
}

/** Maps and queues. */
export interface DataServices {
  readonly engine: Engine;
  /** Whether several members share the engine. */
  readonly isShared: boolean;
  /** Lifetimes of the maps' entries. */
  readonly lifetimes: MapLifetimes;
  /** Waiting polls. */
  readonly waiting: Set<Waiter>;
  /** Readers of the running request's name and key. */
  readonly name: PathPart;
  readonly key: PathPart;
}

/** Groups, users, permissions and credentials. */
interface AccessServices {
  readonly groups: EndpointGroups;
  readonly crossOrigin: CrossOriginPolicy;
  /** HTTP Basic of clients; undefined if no login is required. */
  readonly login: AccessControl | undefined;
  /**
   * HTTP Basic of other members, with the users that may administer; undefined if security is off.
   */
  readonly memberLogin: AccessControl | undefined;
  /** Checks the credentials of administrative requests. */
  readonly credentials: Credentials;
}

/** Services for the administration of this member. */
interface AdministrationServices {
  readonly license: License;
  readonly logLevel: LogLevelControl;
  readonly reconfiguration: Reconfiguration;
  /** Operations on the stored data as a whole; undefined without persistence. */
  readonly maintenance?: Maintenance | undefined;
  instanceName(): string;
  /** Stops the member once the pending responses have been sent; `because` is for the log. */
  stop(because: string): void;
  /** Stops every member of the cluster; `because` is for the log. */
  stopAll(because: string): Promise<void>;
}

/**
 * The reasons why the configuration was not changed; `refusal`: the error that determines the
 * status of the response, if any.
 */
interface RefusedConfig {
  readonly faults: readonly string[];
  readonly refusal?: GridError;
}

/** WAN replication as the WAN calls use it. */
export interface WanCalls
  extends Pick<
    WanService,
    'publisherOf' | 'publishers' | 'synchronise' | 'check' | 'progressOf' | 'receive'
  > {
  /** Adds the new publishers of a replication given as JSON. */
  add(text: string): Promise<
    | {
        readonly addedPublisherIds: readonly string[];
        readonly ignoredPublisherIds: readonly string[];
      }
    | RefusedConfig
  >;
  /**
   * Drops all events that are queued for a publisher; events in flight may still arrive. If the
   * queue outlives the process, resolves once a crash cannot restore them, or with a GridError and
   * an unchanged queue. Throws the errors of publisherOf.
   */
  clear(replication: string, publisherId: string): Promise<GridError | undefined>;
  /**
   * Removes an added publisher and its queue. Resolves like `add` if that fails. Throws the errors
   * of publisherOf.
   */
  remove(replication: string, publisherId: string): Promise<RefusedConfig | undefined>;
  /** Connections on which messages of other members have been received. */
  readonly senders: WeakSet<Session>;
}

interface TelemetryServices {
  readonly audit: Pick<CountingAudit, 'write'>;
  /** Number of open client connections. */
  connectionCount(): number;
  /** Number of open connections, including those to servers that store the data. */
  allConnectionCount(): number;
}

/** Changes the configuration while the member runs. */
interface Reconfiguration {
  /** The member list of the TCP-IP join; undefined if that join is not enabled. */
  readonly tcpIpMembers: TcpIpMembers | undefined;
  /**
   * Reads the sources again. Resolves with the paths of settings that were applied and of those
   * that were not, and with the faults.
   */
  reload(): Promise<{
    readonly applied: readonly string[];
    readonly unapplied: readonly string[];
    readonly faults: readonly string[];
  }>;
  /** Adds the new items of a configuration text. */
  add(
    text: string,
  ): Promise<
    | { readonly added: readonly NamedConfig[]; readonly ignored: readonly NamedConfig[] }
    | RefusedConfig
  >;
}
