/** The services that the REST interface uses; one object for all connections. */
import type { GridError } from '../base/errors.ts';
import type { Cluster, Waiter } from '../cluster/cluster.ts';
import type { License } from '../cluster/license.ts';
import type { TcpIpMembers } from '../cluster/tcp-ip-members.ts';
import type { NamedConfig } from '../config/update.ts';
import type { Engine } from '../engine/engine.ts';
import type { Session } from '../http/session.ts';
import type { Upkeep } from '../persistence/upkeep.ts';
import type { AccessControl } from '../security/access-control.ts';
import type { Credentials } from '../security/credentials.ts';
import type { CountingAudit } from '../telemetry/audit.ts';
import type { LogLevelControl } from '../telemetry/log-level-control.ts';
import type { WanService } from '../wan/wan-service.ts';
import type { CrossOriginPolicy } from './cross-origin-policy.ts';
import type { Dialect } from './dialect.ts';
import type { EndpointGroups } from './endpoint-groups.ts';
import type { MapLifetimes } from './map-lifetimes.ts';
import type { PathPart } from './percent.ts';

export interface RestServices {
  readonly dialect: Dialect;
  readonly data: DataServices;
  readonly access: AccessServices;
  readonly cluster: Cluster;
  readonly administration: AdministrationServices;
  readonly telemetry: TelemetryServices;
  /** WAN replication; undefined where servers keep the data. */
  readonly wan: WanCalls | undefined;
}

/** Maps and queues. */
export interface DataServices {
  readonly engine: Engine;
  /** Whether several members share the engine. */
  readonly isShared: boolean;
  /** Lifetimes of a map's entries. */
  readonly lifetimes: MapLifetimes;
  /** Takes that are not answered. */
  readonly waiting: Set<Waiter>;
  /** The name and the key of the request that is being done. */
  readonly name: PathPart;
  readonly key: PathPart;
}

/** Groups, users, permissions and credentials. */
interface AccessServices {
  readonly groups: EndpointGroups;
  readonly crossOrigin: CrossOriginPolicy;
  /** HTTP Basic; undefined where no login is required. */
  readonly login: AccessControl | undefined;
  /** HTTP Basic of other members, by the users that may administer; undefined where security is off. */
  readonly memberLogin: AccessControl | undefined;
  /** Checks the credentials of administrative requests. */
  readonly credentials: Credentials;
}

/** The member's own administration. */
interface AdministrationServices {
  readonly license: License;
  readonly logLevel: LogLevelControl;
  readonly reconfiguration: Reconfiguration;
  /** Operations on the stored data as a whole; undefined without persistence. */
  readonly upkeep?: Upkeep | undefined;
  instanceName(): string;
  /** Ends the member, once the answers given have left; `because` is for the log. */
  stop(because: string): void;
  /** The same for each member of the cluster. */
  stopAll(because: string): Promise<void>;
}

/** Why the configuration was not changed; `refusal` where it has a status of its own. */
interface RefusedConfig {
  readonly faults: readonly string[];
  readonly refusal?: GridError;
}

/** WAN replication as its calls use it. */
export interface WanCalls
  extends Pick<
    WanService,
    'publisherOf' | 'publishers' | 'synchronise' | 'check' | 'progressOf' | 'receive'
  > {
  /** Adds the new publishers of a replication, which is given as JSON. */
  add(text: string): Promise<
    | {
        readonly addedPublisherIds: readonly string[];
        readonly ignoredPublisherIds: readonly string[];
      }
    | RefusedConfig
  >;
  /**
   * Drops all events that wait for a publisher; what is under way may still arrive. Where the queue outlives
   * the process, resolves once a crash does not bring them back, or with a GridError, and then the queue is
   * as before. Throws as publisherOf.
   */
  clear(replication: string, publisherId: string): Promise<GridError | undefined>;
  /**
   * Removes a publisher that was added, and what waits for it. Resolves as `add` where that fails. Throws as
   * publisherOf.
   */
  remove(replication: string, publisherId: string): Promise<RefusedConfig | undefined>;
  /** Connections on which messages of other members have come. */
  readonly senders: WeakSet<Session>;
}

interface TelemetryServices {
  readonly audit: Pick<CountingAudit, 'write'>;
  /** Open client connections. */
  connectionCount(): number;
  /** The same, with those to servers that keep the data. */
  allConnectionCount(): number;
}

/** Changes of the configuration while the member runs. */
interface Reconfiguration {
  /** The list of the TCP-IP join; undefined where that join is not enabled. */
  readonly tcpIpMembers: TcpIpMembers | undefined;
  /** Reads the sources again: settings by path that were taken over, those kept, the faults. */
  reload(): Promise<{
    readonly taken: readonly string[];
    readonly kept: readonly string[];
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
