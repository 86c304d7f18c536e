/**
 * Changes of the configuration while the member runs: a reload, additions, and the list of members.
 * An invalid request changes nothing. Tested by administration.spec.ts.
 */
import { Slices } from '../base/slices.ts';
import type { TcpIpMembers } from '../cluster/tcp-ip-members.ts';
import type { Actions } from '../surface/action.ts';
import type { RefusedConfig } from '../surface/administrative-call.ts';
import { respondJson } from '../surface/responses.ts';
import type { ADMINISTRATION_ROUTES } from './administration-routes.ts';

/**
 * The result of a reload: the applied settings and those not applied, by path or flag, and the
 * faults, one line each.
 */
export interface ReloadOutcome {
  readonly applied: readonly string[];
  readonly unapplied: readonly string[];
  readonly faults: readonly string[];
}

/** Changes the configuration while the member runs. */
export interface Reconfiguration {
  /** The member list of the TCP-IP join; undefined if that join is not enabled. */
  readonly tcpIpMembers: TcpIpMembers | undefined;
  /** Reads the sources again. */
  reload(): Promise<ReloadOutcome>;
  /** Adds the new items of a configuration text. */
  add(text: string): Promise<Added | RefusedConfig>;
}

/** A map, queue, user or section that the text names. */
export interface NamedConfig {
  readonly sectionName: string;
  /** Missing if the entry stands for the whole section. */
  readonly configName?: string;
}

interface Added {
  readonly added: readonly NamedConfig[];
  readonly ignored: readonly NamedConfig[];
}

export function configurationActions(
  reconfiguration: Reconfiguration,
): Pick<
  Actions<typeof ADMINISTRATION_ROUTES>,
  'reload' | 'updateConfig' | 'memberList' | 'changeMemberList'
> {
  const { tcpIpMembers } = reconfiguration;
  return {
    /** Reloads as SIGHUP does. Settings that need a restart are listed as ignored. */
    reload(call) {
      call.await(reconfiguration.reload(), ({ applied, unapplied, faults }) => {
        if (faults.length > 0) return call.refuseConfig(faults);
        call.succeed({
          message: 'Configuration Reload successfully finished.',
          result: { addedConfigs: applied.map(section), ignoredConfigs: unapplied.map(section) },
        });
      });
    },
    /** Adds to the configuration. The argument is YAML, XML or JSON. */
    updateConfig(call) {
      const text = call.document();
      if (text === undefined) return;
      call.await(reconfiguration.add(text).then(additionResponse), (outcome) => {
        if (!('faults' in outcome)) return call.succeedWith(outcome);
        const { faults, refusal } = outcome;
        if (refusal !== undefined) return call.fail(refusal, refusal.status);
        call.refuseConfig(faults);
      });
    },
    memberList(call) {
      if (tcpIpMembers === undefined) return call.request.refuse('JOIN_DISABLED', {});
      respondJson(call, { status: 'success', 'member-list': tcpIpMembers.list });
    },
    /**
     * Replaces the member list. The argument contains addresses, separated by any number of commas,
     * semicolons and spaces.
     */
    changeMemberList(call) {
      if (tcpIpMembers === undefined) return call.refuse('JOIN_DISABLED', {});
      const members = call.argument
        .toString()
        .split(/[,; ]+/)
        .filter((member) => member !== '');
      if (members.length === 0) {
        return call.refuseValue('MEMBERS_MISSING', { seen: JSON.stringify(call.word) });
      }
      const message = 'The member list of TCP-IP join config is updated at run time. ';
      call.awaitOrFail(tcpIpMembers.replace(members), () =>
        call.succeed({ message, 'member-list': members }),
      );
    },
  };
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

function section(sectionName: string): { sectionName: string } {
  return { sectionName };
}
