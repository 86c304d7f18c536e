/**
 * Administration over HTTP: members, state and version of the cluster, shutdown, log level, license.
 * No failure gets status 200, unless the dialect requires it. Tested by administration.spec.ts.
 */
import { LOG_LEVEL_NAMES } from '../base/log-level.ts';
import { CLUSTER_STATES, type Cluster, type MemberInfo } from '../cluster/cluster.ts';
import type { License } from '../cluster/license.ts';
import type { Actions, Work } from '../surface/action.ts';
import { refusalOf } from '../surface/administrative-call.ts';
import { memberReports } from '../surface/cluster-reports.ts';
import type { Dialect } from '../surface/dialect.ts';
import { respondJson } from '../surface/responses.ts';
import type { LogLevelControl } from '../telemetry/log-level-control.ts';
import type { ADMINISTRATION_ROUTES } from './administration-routes.ts';
import { configurationActions, type Reconfiguration } from './configuration-actions.ts';

interface AdministrationActionParts {
  readonly dialect: Dialect;
  readonly cluster: Cluster;
  readonly license: License;
  readonly logLevel: LogLevelControl;
  readonly reconfiguration: Reconfiguration;
  instanceName(): string;
  /** Number of open client connections. */
  connectionCount(): number;
  /** Number of open connections, including those to servers that store the data. */
  allConnectionCount(): number;
  /** Stops the member once the pending responses have been sent; `because` is for the log. */
  stop(because: string): void;
  /** Stops every member of the cluster; `because` is for the log. */
  stopAll(because: string): Promise<void>;
}

export function administrationActions(
  parts: AdministrationActionParts,
): Actions<typeof ADMINISTRATION_ROUTES> {
  const { dialect, cluster, license, logLevel } = parts;
  const licenseInfo = () => (license.keyHash === undefined ? null : { keyHash: license.keyHash });
  return {
    members(call) {
      const members = memberReports(cluster, dialect);
      const connectionCount = parts.connectionCount();
      const allConnectionCount = parts.allConnectionCount();
      respondJson(call, { members, connectionCount, allConnectionCount });
    },
    instance: (call) => respondJson(call, { name: parts.instanceName() }),
    state: (call) => call.succeed({ state: cluster.state.toLowerCase() }),
    changeState: changingState(cluster),
    version: (call) => respondJson(call, { status: 'success', version: cluster.version }),
    changeVersion: changingVersion(cluster),
    /** Responds with three lines: the members, their version, the version of the runtime. */
    nodes(call) {
      const { members } = cluster;
      const listed = members.map((member) => describeMember(member, dialect)).join(', ');
      const memberVersion = members.find((member) => member.localMember)?.memberVersion ?? '';
      call.succeed({ response: `[${listed}]\n${memberVersion}\n${process.version}` });
    },
    /**
     * Stops the member. The response is sent before the shutdown begins, because a stopping member
     * serves no request.
     */
    shutDown(call) {
      call.succeed();
      parts.stop(call.action);
    },
    /** Stops every member of the cluster. Responds once all of them will stop. */
    shutDownAll: (call) => call.awaitOrFail(parts.stopAll(call.action), () => call.succeed()),
    logLevel: (call) => respondJson(call, { logLevel: logLevel.chosen ?? null }),
    changeLogLevel(call) {
      const seen = call.word;
      const level = LOG_LEVEL_NAMES.find((name) => name === seen.toUpperCase());
      if (level === undefined) {
        return call.refuseValue('LOG_LEVEL_INVALID', { seen, levels: LOG_LEVEL_NAMES.join(', ') });
      }
      logLevel.choose(level);
      call.succeed({ message: 'log level is changed' });
    },
    resetLogLevel(call) {
      logLevel.reset();
      call.succeed({ message: 'log level is reset' });
    },
    license: (call) => respondJson(call, { licenseInfo: licenseInfo() }),
    setLicense(call) {
      const message = 'License updated at run time';
      call.awaitOrFail(license.set(call.argument), () =>
        call.succeed({ licenseInfo: licenseInfo(), message }),
      );
    },
    ...configurationActions(parts.reconfiguration),
  };
}

/**
 * Changes the cluster state, which is accepted in any case. Only the member itself sets
 * IN_TRANSITION.
 */
function changingState(cluster: Cluster): Work {
  return (call) => {
    const name = call.word.toUpperCase();
    const wanted = CLUSTER_STATES.find((each) => each === name);
    if (wanted === undefined) {
      const states = CLUSTER_STATES.join(', ').toLowerCase();
      return call.refuseValue('STATE_INVALID', { seen: JSON.stringify(call.word), states });
    }
    const state = wanted.toLowerCase();
    call.await(cluster.changeState(wanted).catch(refusalOf), (refusal) => {
      if (refusal === undefined) call.succeed({ state });
      else if (refusal.code !== 'STATE_UNCHANGED') call.fail(refusal);
      else call.failWith(refusal, { state });
    });
  };
}

/**
 * Changes the cluster version: `major.minor`, each up to 127; a patch and a qualifier may follow
 * and are ignored.
 */
function changingVersion(cluster: Cluster): Work {
  return (call) => {
    const seen = call.word;
    const [, major, minor] = /^(\d{1,3})\.(\d{1,3})(?:\.\d+)?(?:-[\w.-]+)?$/.exec(seen) ?? [];
    const version = `${Number(major)}.${Number(minor)}`;
    const isVersion = Number(major) <= VERSION_PART_MAX && Number(minor) <= VERSION_PART_MAX;
    if (!isVersion || version === '0.0') {
      return call.refuseValue('VERSION_INVALID', { seen: JSON.stringify(seen) });
    }
    call.awaitOrFail(cluster.changeVersion(version), () => call.succeed({ version }));
  };
}

const VERSION_PART_MAX = 127;

function describeMember(member: MemberInfo, dialect: Dialect): string {
  const marks = `${member.localMember ? ' this' : ''}${member.liteMember ? ' lite' : ''}`;
  return `Member ${dialect.formatAddress(member.address)} - ${member.uuid}${marks}`;
}
