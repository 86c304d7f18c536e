/**
 * Cluster administration (groups CLUSTER_READ and CLUSTER_WRITE): state and version of the cluster,
 * its nodes, shutdown, log level, license. A failure is never answered with 200.
 */
import { GridError } from '../base/errors.ts';
import { LOG_LEVEL_NAMES, parseLogLevel } from '../base/log-level.ts';
import { CLUSTER_STATES, type MemberInfo } from '../cluster/cluster.ts';
import type { AdministrativeCall } from './administrative-call.ts';
import { respondJson } from './json.ts';
import type { RestHandler } from './rest-handler.ts';

export function state(call: AdministrativeCall): void {
  call.succeed({ state: call.handler.services.cluster.state.toLowerCase() });
}

/** In any case; IN_TRANSITION is the member's own. */
export function changeState(call: AdministrativeCall): void {
  const { cluster } = call.handler.services;
  const name = call.argument.toString().toUpperCase();
  const wanted = CLUSTER_STATES.find((each) => each === name);
  if (wanted === undefined) {
    const states = CLUSTER_STATES.join(', ').toLowerCase();
    const seen = JSON.stringify(call.argument.toString());
    return call.fail(400, `Cannot change to state ${seen}: not one of ${states}`);
  }
  call.handler.await(
    cluster.changeState(wanted).then(() => undefined, refusalOf),
    (refusal) => {
      if (refusal === undefined) call.succeed({ state: wanted.toLowerCase() });
      else if (refusal.code !== 'STATE_UNCHANGED') call.fail(refusal.status, refusal.message);
      else call.failWith(refusal.status, { state: wanted.toLowerCase() });
    },
  );
}

export function version(handler: RestHandler): void {
  respondJson(handler, { status: 'success', version: handler.services.cluster.version });
}

/** `major.minor`, each up to 127; a patch and a qualifier may follow and say nothing. */
export function changeVersion(call: AdministrativeCall): void {
  const { cluster } = call.handler.services;
  const seen = call.argument.toString();
  const [, major, minor] = /^(\d{1,3})\.(\d{1,3})(?:\.\d+)?(?:-[\w.-]+)?$/.exec(seen) ?? [];
  const wanted = `${Number(major)}.${Number(minor)}`;
  const isVersion = Number(major) <= VERSION_PART_MAX && Number(minor) <= VERSION_PART_MAX;
  if (!isVersion || wanted === '0.0') {
    const message = `Cannot change to version ${JSON.stringify(seen)}: not a cluster version`;
    return call.fail(400, message);
  }
  call.handler.await(
    cluster.changeVersion(wanted).then(() => undefined, refusalOf),
    (refusal) => {
      if (refusal === undefined) call.succeed({ version: wanted });
      else call.fail(refusal.status, refusal.message);
    },
  );
}

/** Three lines: the members, their version, the runtime's. */
export function nodes(call: AdministrativeCall): void {
  const { members } = call.handler.services.cluster;
  const listed = members.map(describeMember).join(', ');
  const memberVersion = members.find((member) => member.localMember)?.memberVersion ?? '';
  call.succeed({ response: `[${listed}]\n${memberVersion}\n${process.version}` });
}

/** Answered before it begins: a member that stops answers nobody. */
export function shutDown(call: AdministrativeCall): void {
  call.succeed();
  call.handler.services.stop(call.action);
}

export function logLevel(handler: RestHandler): void {
  respondJson(handler, { logLevel: handler.services.logLevel.chosen ?? null });
}

export function changeLogLevel(call: AdministrativeCall): void {
  const seen = call.argument.toString();
  const level = LOG_LEVEL_NAMES.find((name) => name === seen.toUpperCase()) ?? parseLogLevel(seen);
  if (level === undefined) {
    const known = LOG_LEVEL_NAMES.join(', ');
    return call.fail(400, `Invalid level '${seen}', known levels are: ${known}`);
  }
  call.handler.services.logLevel.choose(level);
  call.succeed({ message: 'log level is changed' });
}

export function resetLogLevel(call: AdministrativeCall): void {
  call.handler.services.logLevel.reset();
  call.succeed({ message: 'log level is reset' });
}

export function license(handler: RestHandler): void {
  respondJson(handler, { licenseInfo: licenseInfo(handler) });
}

export function setLicense(call: AdministrativeCall): void {
  call.handler.services.license.set(call.argument);
  const message = 'License updated at run time';
  call.succeed({ licenseInfo: licenseInfo(call.handler), message });
}

/** What there is only with persistence. */
export function needsPersistence(call: AdministrativeCall): void {
  const missing = 'there is no persistence; persistence.enabled or --data-dir has it';
  call.fail(409, `Cannot ${call.action}: ${missing}`);
}

const VERSION_PART_MAX = 127;

function licenseInfo({ services }: RestHandler): { keyHash: string } | null {
  const { keyHash } = services.license;
  return keyHash === undefined ? null : { keyHash };
}

function describeMember({ address, uuid, localMember, liteMember }: MemberInfo): string {
  return `Member ${address} - ${uuid}${localMember ? ' this' : ''}${liteMember ? ' lite' : ''}`;
}

/** Anything but an operating error is ours, and thrown on. */
function refusalOf(error: unknown): GridError {
  if (error instanceof GridError) return error;
  throw error;
}
