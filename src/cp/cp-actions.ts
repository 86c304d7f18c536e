/** The calls of the CP subsystem: administration, as of the original, and sessions and locks of `v1`. */
import type { Clock } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
import { Span } from '../base/span.ts';
import type { Cluster, Waiter } from '../cluster/cluster.ts';
import type { Action, Actions, Call, Work } from '../surface/action.ts';
import { type AdministrativeCall, refusalOf } from '../surface/administrative-call.ts';
import type { Dialect } from '../surface/dialect.ts';
import { bytesMember } from '../v1/json-lines.ts';
import { Parameters, shownText } from '../v1/parameters.ts';
import { readForm, refuse, withoutQuery } from '../v1/v1-calls.ts';
import { type CpGroup, METADATA } from './cp-groups.ts';
import type { CpMember } from './cp-members.ts';
import type { Cp } from './cp-part.ts';
import { fail, respondDone, respondJson, respondText } from './cp-responses.ts';
import { type CP_ROUTES, NAME, SESSION, WAIT, WAIT_SECONDS_MAX } from './cp-routes.ts';
import { type CpSession, HELD, NO_SESSION } from './cp-state.ts';
import { LockRequest } from './lock-request.ts';
import { perform, promised, type Steps } from './steps.ts';

/** Maximum length of the name of a group, a lock or a session, in bytes. */
const NAME_BYTES_MAX = 255;
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
    ...lockActions(parts),
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
      const seen = JSON.stringify(shown(name));
      if (!UUID.test(name)) return () => call.refuseValue('CP_UUID_INVALID', { seen });
      const isKnown = await cp.members.remove(name.toLowerCase());
      return isKnown ? undefined : () => call.refuse('CP_MEMBER_UNKNOWN', { seen });
    }),
    removeCpGroup: calling(async (call, { name }) => {
      const group = name === METADATA ? undefined : await promised(cp.groups.remove(name));
      if (group === undefined)
        return () => call.refuse('CP_GROUP_INVALID', { group: JSON.stringify(shown(name)) });
      cp.onGroupsRemoved();
      return undefined;
    }),
    endCpSession: calling(async (call, { name, key }) => {
      const id = numberIn(key);
      const seen = JSON.stringify(shown(key));
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
    if (!readForm(call, call.request.content, form) || !areNames(call, path)) return;
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
      else refuse(call, 'CP_SESSION_UNKNOWN', { id: JSON.stringify(shown(key)) });
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

function lockActions({ cp, waiting, clock }: CpActionParts) {
  return {
    takeCpLock: {
      waits: () => true,
      run: serving([SESSION, WAIT], function* (call, { name, key }, form) {
        const session = sessionIn(call, form);
        const seconds = session === undefined ? undefined : waitIn(call, form);
        if (session === undefined || seconds === undefined) return;
        const group = yield* cp.groups.find(name);
        const isFirst = group !== undefined && !cp.waits.has(group, key);
        const found = group ? yield* cp.state.lock(group, key, session, isFirst) : NO_SESSION;
        if (found === NO_SESSION) refuse(call, 'CP_SESSION_UNKNOWN', { id: session });
        else if (found !== HELD) respondJson(call, `{"fence":${found.fence}}`);
        else if (group === undefined || seconds === 0 || !call.request.mayWait)
          refuse(call, 'CP_LOCK_HELD', { lock: JSON.stringify(shown(key)) });
        else
          new LockRequest(
            call,
            { waits: cp.waits, waiting, clock },
            { group, name: key, session },
          ).begin(seconds);
      }),
    },
    releaseCpLock: serving([SESSION], function* (call, { name, key }, form) {
      const session = sessionIn(call, form);
      if (session === undefined) return;
      const group = yield* cp.groups.find(name);
      const isReleased = group !== undefined && (yield* cp.state.release(group, key, session));
      if (!isReleased)
        return refuse(call, 'CP_LOCK_NOT_HELD', { lock: JSON.stringify(shown(key)), session });
      respondDone(call);
      cp.waits.onFree(group, key);
    }),
    cpLock: serving([], function* (call, { name, key }) {
      const group = yield* cp.groups.find(name);
      const held = group && (yield* cp.state.holder(group, key));
      if (held === undefined)
        return refuse(call, 'CP_LOCK_FREE', { lock: JSON.stringify(shown(key)) });
      respondJson(call, `{"fence":${held.fence},"session":${held.session}}`);
    }),
  };
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

/** Whether the names can be those of a group and of a lock; otherwise refuses the request. */
function areNames(call: Call, { name, key }: PathNames): boolean {
  if (name === METADATA) refuse(call, 'CP_GROUP_METADATA', {});
  else if (name.length > NAME_BYTES_MAX) refuseName(call, 'group', name.length);
  else if (key.length > NAME_BYTES_MAX) refuseName(call, 'lock', key.length);
  else return true;
  return false;
}

function refuseName(call: Call, thing: string, bytes: number): void {
  refuse(call, 'CP_NAME_TOO_LONG', { thing, bytes, bytesMax: NAME_BYTES_MAX });
}

/** Returns the session of the form; undefined if the request has been refused. */
function sessionIn(call: Call, form: Parameters): number | undefined {
  const value = form.get(SESSION);
  if (value === undefined) refuse(call, 'PARAMETER_MISSING', { name: SESSION });
  const session = value && numberIn(textOf(value));
  if (value !== undefined && session === undefined) {
    const values = { name: SESSION, seen: shownText(value), expected: 'the id of a session' };
    refuse(call, 'PARAMETER_INVALID', values);
  }
  return session;
}

function waitIn(call: Call, form: Parameters): number | undefined {
  const value = form.get(WAIT);
  const seconds = value === undefined ? 0 : numberIn(textOf(value));
  if (seconds !== undefined && seconds <= WAIT_SECONDS_MAX) return seconds;
  const expected = `an integer from 0 to ${WAIT_SECONDS_MAX}`;
  refuse(call, 'PARAMETER_INVALID', { name: WAIT, seen: shownText(value!), expected });
  return undefined;
}

/** Returns an integer from 0 to 2^53-1. */
function numberIn(text: string): number | undefined {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}

/** Returns the beginning of a name for a message. */
function shown(text: string): string {
  return shownText(Buffer.from(text, 'latin1'));
}

function textOf({ bytes, start, end }: Span): string {
  return bytes.toString('latin1', start, end);
}

function spanOf(text: string): Span {
  return Span.of(Buffer.from(text, 'latin1'));
}

function ignore(): void {}
