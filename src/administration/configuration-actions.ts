/**
 * Changes of the configuration while the member runs (group CLUSTER_WRITE): a reload, additions, and
 * the list of members. An invalid request changes nothing. Tested by administration.spec.ts.
 */
import { Slices } from '../base/slices.ts';
import { fileText } from '../config/file-text.ts';
import { lineOf } from '../config/finding.ts';
import { FindingList } from '../config/finding-list.ts';
import type { NamedConfig } from '../config/update.ts';
import { type AdministrativeCall, refusalOf } from '../surface/administrative-call.ts';
import { respondJson } from '../surface/json.ts';
import type { Call } from '../surface/route.ts';

/** Reloads as SIGHUP does. Settings that need a restart are listed as ignored. */
export function reload(call: AdministrativeCall): void {
  call.await(
    call.services.administration.reconfiguration.reload(),
    ({ applied, unapplied, faults }) => {
      if (faults.length > 0) return refuseConfig(call, faults);
      call.succeed({
        message: 'Configuration Reload successfully finished.',
        result: { addedConfigs: applied.map(section), ignoredConfigs: unapplied.map(section) },
      });
    },
  );
}

/** Maximum length of the text of an added configuration, in bytes. */
export const ADDED_TEXT_BYTES_MAX = 1_048_576;

/**
 * Adds to the configuration. The argument is YAML, XML or JSON of at most ADDED_TEXT_BYTES_MAX.
 */
export function update(call: AdministrativeCall): void {
  const problems = new FindingList();
  const read = fileText('configuration', call.argument, problems);
  if (read === undefined) {
    return refuseConfig(call, problems.listed.map(lineOf));
  }
  call.await(
    call.services.administration.reconfiguration.add(read.text).then(additionResponse),
    (outcome) => {
      if (!('faults' in outcome)) return call.succeedWith(outcome);
      const { faults, refusal } = outcome;
      if (refusal !== undefined) return call.fail(refusal, refusal.status);
      refuseConfig(call, faults);
    },
  );
}

/** Returns the response to an addition; a long list is serialised in slices. */
async function additionResponse<Failed extends object>(
  outcome: Added | Failed,
): Promise<Buffer | Failed> {
  if (!('added' in outcome)) return outcome;
  return Buffer.concat([
    Buffer.from('{"status":"success","message":"Configuration Update successfully finished.",'),
    Buffer.from('"result":{"addedConfigs":['),
    ...(await jsonPieces(outcome.added)),
    Buffer.from('],"ignoredConfigs":['),
    ...(await jsonPieces(outcome.ignored)),
    Buffer.from(']}}'),
  ]);
}

async function jsonPieces(things: readonly NamedConfig[]): Promise<Buffer[]> {
  const slices = new Slices();
  const pieces: Buffer[] = [];
  let text = '';
  for (const [at, thing] of things.entries()) {
    text += (at === 0 ? '' : ',') + JSON.stringify(thing);
    const pause = slices.pause();
    if (pause === undefined) continue;
    pieces.push(Buffer.from(text));
    text = '';
    await pause;
  }
  return [...pieces, Buffer.from(text)];
}

export function memberList(call: Call): void {
  const members = call.services.administration.reconfiguration.tcpIpMembers;
  if (members === undefined) return call.exchange.refuse('JOIN_DISABLED', {});
  respondJson(call, { status: 'success', 'member-list': members.list });
}

/**
 * Replaces the member list. The argument contains addresses, separated by any number of commas,
 * semicolons and spaces.
 */
export function changeMemberList(call: AdministrativeCall): void {
  const { tcpIpMembers } = call.services.administration.reconfiguration;
  if (tcpIpMembers === undefined) return call.refuse('JOIN_DISABLED', {});
  const members = call.argument
    .toString()
    .split(/[,; ]+/)
    .filter((member) => member !== '');
  if (members.length === 0) {
    const seen = JSON.stringify(call.word);
    return call.refuse('MEMBERS_MISSING', { seen }, call.services.dialect.badValueStatus);
  }
  const message = 'The member list of TCP-IP join config is updated at run time. ';
  call.await(
    tcpIpMembers.replace(members).then(() => undefined, refusalOf),
    (refusal) => {
      if (refusal !== undefined) call.fail(refusal);
      else call.succeed({ message, 'member-list': members });
    },
  );
}

interface Added {
  readonly added: readonly NamedConfig[];
  readonly ignored: readonly NamedConfig[];
}

function refuseConfig(call: AdministrativeCall, faults: readonly string[]): void {
  const { badValueStatus } = call.services.dialect;
  call.refuse('CONFIG_INVALID', { faults: faults.join('; ') }, badValueStatus);
}

function section(sectionName: string): { sectionName: string } {
  return { sectionName };
}
