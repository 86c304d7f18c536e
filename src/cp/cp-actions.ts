/** The calls of the CP subsystem: administration, as of the original, and sessions and locks of `v1`. */
import type { Clock } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
import type { Cluster, Waiter } from '../cluster/cluster.ts';
import type { Action, Actions, Call, Work } from '../surface/action.ts';
import { type AdministrativeCall, refusalOf } from '../surface/administrative-call.ts';
import type { Dialect } from '../surface/dialect.ts';
import { bytesMember } from '../v1/json-lines.ts';
import { Parameters } from '../v1/parameters.ts';
import { readForm, refuse, withoutQuery } from '../v1/v1-calls.ts';
import { spanOf, textOf } from './byte-text.ts';
import { type CpGroup, METADATA } from './cp-groups.ts';
import type { CpMember } from './cp-members.ts';
import type { Cp } from './cp-part.ts';
import { fail, respondDone, respondJson, respondText } from './cp-responses.ts';
import { type CP_ROUTES, NAME } from './cp-routes.ts';
import type { CpSession } from './cp-state.ts';
import { lockCalls } from './lock-call.ts';
import { NAME_BYTES_MAX } from './lock-entries.ts';
import { areNames, refuseName, shownName } from './path-names.ts';
import { perform, promised, type Steps } from './steps.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

interface CpActionParts {
  readonly cp: Cp;
  readonly dialect: Dialect;
  readonly cluster: Pick<Cluster, 'members'>;
  /** Waiting requests. */
  readonly waiting: Set<Waiter>;
  readonly clock: Clock;
}

export function cpActions(parts: CpActionParts): Actions<typeof CP_ROUTES> {
  return {
    ...readingActions(parts),
    ...callActions(parts),
    ...sessionActions(parts),
    ...lockCalls(parts),
    cpLock: holderAction(parts),
  };
}

function readingActions({ cp, dialect, cluster }: CpActionParts) {
  const member = ({ uuid: id, address }: CpMember) => {
    return { uuid: id, address: dialect.formatAddress(address) };
  };
  const members = async () => (await cp.members.all()).map(member);
  /** Responds with what `read` resolves with; 404 for undefined. */
  const reading = (read: (group: string) => Promise<string | undefined>): Action => {
    return (call) => {
      const { request } = call;
      call.await(read(textOf(call.name)).catch(refusalOf), (found) => {
        if (found instanceof GridError) {
          request.refuseWith(found.code, found.message, dialect.statusOf(found));
        } else if (found === undefined) request.refuse('CP_NOT_FOUND', {});
        else respondText(request, found);
      });
    };
  };
  return {
    cpMembers: reading(async () => JSON.stringify(await members())),
    localCpMember: reading(async () => {
      const local = cluster.members.find(({ localMember }) => localMember);
      const own = (await members()).find(({ uuid }) => uuid === local?.uuid);
      return own && JSON.stringify(own);
    }),
    cpGroups: reading(async () => listOf((await promised(cp.groups.all())).map(groupIdOf))),
    cpGroup: reading(async (name) => {
      const group = name === METADATA ? METADATA_GROUP : await promised(cp.groups.find(name));
      const listed = JSON.stringify(await members());
      return group && `{"id":${groupIdOf(group)},"status":"ACTIVE","members":${listed}}`;
    }),
    cpSessions: reading(async (name) => {
      const group = name === METADATA ? METADATA_GROUP : await promised(cp.groups.find(name));
      return group && listOf((await cp.state.sessions(group)).map(sessionOf));
    }),
  };
}

function callActions({ cp }: CpActionParts) {
  /** `run` resolves with a function that refuses the call, if it does not succeed. */
  const calling = (
    run: (call: AdministrativeCall, path: PathNames) => Promise<(() => void) | undefined>,
  ): Work => {
    return (call) => {
      const path = { name: textOf(call.name), key: textOf(call.key) };
      call.awaitOrFail(run(call, path), (refuseCall) => {
        if (refuseCall === undefined) call.succeedEmpty();
        else refuseCall();
      });
    };
  };
  const addCpMember = calling(async () => {
    await cp.members.addOwn();
    return undefined;
  });
  return {
    addCpMember,
    addLocalCpMember: addCpMember,
    removeCpMember: calling(async (call, { name }) => {
      const seen = shown(name);
      if (!UUID.test(name)) return () => call.refuseValue('CP_UUID_INVALID', { seen });
      const isKnown = await cp.members.remove(name.toLowerCase());
      return isKnown ? undefined : () => call.refuse('CP_MEMBER_UNKNOWN', { seen });
    }),
    removeCpGroup: calling(async (call, { name }) => {
      const group = name === METADATA ? undefined : await promised(cp.groups.remove(name));
      if (group === undefined) return () => call.refuse('CP_GROUP_INVALID', { group: shown(name) });
      cp.onGroupsRemoved();
      return undefined;
    }),
    endCpSession: calling(async (call, { name, key }) => {
      const id = numberIn(key);
      const seen = shown(key);
      if (id === undefined) return () => call.refuseValue('CP_SESSION_INVALID', { seen });
      const group = await promised(cp.groups.find(name));
      const isClosed = group !== undefined && (await promised(cp.state.closeSession(group, id)));
      if (!isClosed) return () => call.refuse('CP_SESSION_NONE', { id });
      cp.onSessionClosed(group, id);
      return undefined;
    }),
    resetCp: calling(async () => {
      if (!cp.members.isMaster()) throw new GridError('CP_NOT_MASTER', {});
      await promised(cp.groups.removeAll());
      cp.onGroupsRemoved();
      return undefined;
    }),
    changeCpGroups: (call: AdministrativeCall) => call.refuse('PATH_UNKNOWN', {}),
  };
}

/** The variable parts of a path, with one character per byte. */
interface PathNames {
  readonly name: string;
  readonly key: string;
}

/**
 * Reads the parameters and the names, then runs the work, which responds. The parameters are valid until
 * its first step.
 */
function serving(
  names: readonly string[],
  work: (call: Call, path: PathNames, form: Parameters) => Steps<void>,
): Action {
  const form = new Parameters(names);
  return withoutQuery((call) => {
    const path = { name: textOf(call.name), key: textOf(call.key) };
    if (!readForm(call, call.request.content, form) || !areNames(call)) return;
    const { request } = call;
    const { number } = request;
    perform(work(call, path, form), ignore, (error) => {
      if (error instanceof GridError) fail(call, error);
      else request.fail(error, number);
    });
  });
}

function sessionActions({ cp }: CpActionParts) {
  const onSession = (run: (group: CpGroup, id: number) => Steps<boolean>): Action =>
    serving([], function* (call, { name, key }) {
      const id = numberIn(key);
      const group = yield* cp.groups.find(name);
      const isThere = group !== undefined && id !== undefined && (yield* run(group, id));
      if (isThere) respondDone(call);
      else refuse(call, 'CP_SESSION_UNKNOWN', { id: shown(key) });
    });
  return {
    openCpSession: serving([NAME], function* (call, { name }, form) {
      const endpointName = form.get(NAME);
      if (endpointName === undefined) return refuse(call, 'PARAMETER_MISSING', { name: NAME });
      if (endpointName.length > NAME_BYTES_MAX) return refuseName(call, NAME, endpointName.length);
      const { peerAddress } = call.request.session;
      const text = textOf(endpointName);
      const group = yield* cp.groups.open(name);
      const session = yield* cp.state.openSession(group, peerAddress, text);
      cp.onSession(group, session.id);
      respondJson(call, sessionOf(session), 201);
    }),
    renewCpSession: onSession(function* (group, id) {
      const isThere = yield* cp.state.heartbeat(group, id);
      if (isThere) cp.onSession(group, id);
      return isThere;
    }),
    closeCpSession: onSession(function* (group, id) {
      const isThere = yield* cp.state.closeSession(group, id);
      if (isThere) cp.onSessionClosed(group, id);
      return isThere;
    }),
  };
}

function holderAction({ cp }: CpActionParts): Action {
  return serving([], function* (call, { name, key }) {
    const group = yield* cp.groups.find(name);
    const held = group && (yield* cp.state.holder(group, key));
    if (held === undefined) return refuse(call, 'CP_LOCK_FREE', { lock: shown(key) });
    respondJson(call, `{"fence":${held.fence},"session":${held.session}}`);
  });
}

const METADATA_GROUP: CpGroup = { name: METADATA, id: 0 };

function groupIdOf({ name, id }: CpGroup): string {
  return `{${bytesMember('name', spanOf(name))},"id":${id}}`;
}

function sessionOf(session: CpSession): string {
  const { id, creationTime, expirationTime, version, endpoint, endpointName } = session;
  const times = JSON.stringify({ id, creationTime, expirationTime, version, endpoint });
  const name = bytesMember('endpointName', spanOf(endpointName));
  return `${times.slice(0, -1)},"endpointType":"CLIENT",${name}}`;
}

function listOf(items: readonly string[]): string {
  return `[${items.join(',')}]`;
}

/** Returns an integer from 0 to 2^53-1. */
function numberIn(text: string): number | undefined {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}

function shown(text: string): string {
  return shownName(spanOf(text));
}

function ignore(): void {}
