/**
 * Cluster administration (groups CLUSTER_READ and CLUSTER_WRITE): state and version of the cluster,
 * its nodes, shutdown, log level, license. No failure gets status 200, unless the dialect requires
 * it. Tested by administration.spec.ts.
 */
import { LOG_LEVEL_NAMES } from '../base/log-level.ts';
import { CLUSTER_STATES, type MemberInfo } from '../cluster/cluster.ts';
import { type AdministrativeCall, refusalOf } from '../surface/administrative-call.ts';
import type { Dialect } from '../surface/dialect.ts';
import { respondJson } from '../surface/json.ts';
import type { Call } from '../surface/route.ts';

export function state(call: AdministrativeCall): void {
  call.succeed({ state: call.services.cluster.state.toLowerCase() });
}

/**
 * Changes the cluster state, which is accepted in any case. Only the member itself sets
 * IN_TRANSITION.
 */
export function changeState(call: AdministrativeCall): void {
  const { cluster, dialect } = call.services;
  const name = call.word.toUpperCase();
  const wanted = CLUSTER_STATES.find((each) => each === name);
  if (wanted === undefined) {
    const states = CLUSTER_STATES.join(', ').toLowerCase();
    const seen = JSON.stringify(call.word);
    return call.refuse('STATE_INVALID', { seen, states }, dialect.badValueStatus);
  }
  call.await(
    cluster.changeState(wanted).then(() => undefined, refusalOf),
    (refusal) => {
      if (refusal === undefined) call.succeed({ state: wanted.toLowerCase() });
      else if (refusal.code !== 'STATE_UNCHANGED') call.fail(refusal);
      else call.failWith(refusal, { state: wanted.toLowerCase() });
    },
  );
}

export function version(call: Call): void {
  respondJson(call, { status: 'success', version: call.services.cluster.version });
}

/**
 * Changes the cluster version: `major.minor`, each up to 127; a patch and a qualifier may follow
 * and are ignored.
 */
export function changeVersion(call: AdministrativeCall): void {
  const { cluster, dialect } = call.services;
  const seen = call.word;
  const [, major, minor] = /^(\d{1,3})\.(\d{1,3})(?:\.\d+)?(?:-[\w.-]+)?$/.exec(seen) ?? [];
  const wanted = `${Number(major)}.${Number(minor)}`;
  const isVersion = Number(major) <= VERSION_PART_MAX && Number(minor) <= VERSION_PART_MAX;
  if (!isVersion || wanted === '0.0') {
    const values = { seen: JSON.stringify(seen) };
    return call.refuse('VERSION_INVALID', values, dialect.badValueStatus);
  }
  call.await(
    cluster.changeVersion(wanted).then(() => undefined, refusalOf),
    (refusal) => {
      if (refusal === undefined) call.succeed({ version: wanted });
      else call.fail(refusal);
    },
  );
}

/** Responds with three lines: the members, their version, the version of the runtime. */
export function nodes(call: AdministrativeCall): void {
  const { cluster, dialect } = call.services;
  const { members } = cluster;
  const listed = members.map((member) => describeMember(member, dialect)).join(', ');
  const memberVersion = members.find((member) => member.localMember)?.memberVersion ?? '';
  call.succeed({ response: `[${listed}]\n${memberVersion}\n${process.version}` });
}

/**
 * Stops the member. The response is sent before the shutdown begins, because a stopping member
 * serves no request.
 */
export function shutDown(call: AdministrativeCall): void {
  call.succeed();
  call.services.administration.stop(call.action);
}

/** Stops every member of the cluster. Responds once all of them will stop. */
export function shutDownAll(call: AdministrativeCall): void {
  call.await(
    call.services.administration.stopAll(call.action).then(() => undefined, refusalOf),
    (refusal) => {
      if (refusal === undefined) call.succeed();
      else call.fail(refusal);
    },
  );
}

export function logLevel(call: Call): void {
  respondJson(call, { logLevel: call.services.administration.logLevel.chosen ?? null });
}

export function changeLogLevel(call: AdministrativeCall): void {
  const { administration, dialect } = call.services;
  const seen = call.word;
  const level = LOG_LEVEL_NAMES.find((name) => name === seen.toUpperCase());
  if (level === undefined) {
    const values = { seen, levels: LOG_LEVEL_NAMES.join(', ') };
    return call.refuse('LOG_LEVEL_INVALID', values, dialect.badValueStatus);
  }
  administration.logLevel.choose(level);
  call.succeed({ message: 'log level is changed' });
}

export function resetLogLevel(call: AdministrativeCall): void {
  call.services.administration.logLevel.reset();
  call.succeed({ message: 'log level is reset' });
}

export function license(call: Call): void {
  respondJson(call, { licenseInfo: licenseInfo(call) });
}

export function setLicense(call: AdministrativeCall): void {
  const message = 'License updated at run time';
  call.await(
    call.services.administration.license.set(call.argument).then(() => undefined, refusalOf),
    (refusal) => {
      if (refusal !== undefined) call.fail(refusal);
      else call.succeed({ licenseInfo: licenseInfo(call), message });
    },
  );
}

const VERSION_PART_MAX = 127;

function licenseInfo({ services }: Pick<Call, 'services'>): { keyHash: string } | null {
  const { keyHash } = services.administration.license;
  return keyHash === undefined ? null : { keyHash };
}

function describeMember(member: MemberInfo, dialect: Dialect): string {
  const marks = `${member.localMember ? ' this' : ''}${member.liteMember ? ' lite' : ''}`;
  return `Member ${dialect.formatAddress(member.address)} - ${member.uuid}${marks}`;
}
