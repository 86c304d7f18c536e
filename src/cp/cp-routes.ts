/**
 * The rows of the CP subsystem (group CP): the calls of the original, and below `v1` sessions and
 * locks. Tested by surface/surface.spec.ts.
 */
import { administering, informing, type Route, route, USER } from '../surface/route.ts';

const GROUP = 'groups/{group}';
const LOCK = 'locks/{lock}';

/** The parameters of the rows of `v1`. */
export const NAME = 'name';
export const SESSION = 'session';
export const WAIT = 'wait';
/** Maximum time to wait for a lock, in seconds. */
export const WAIT_SECONDS_MAX = 2_147_483;

export const CP_ROUTES = {
  cpMembers: reading('members', 'The members of the subsystem', [200], 'members'),
  addCpMember: calling('members', 'Add the member to the subsystem', [200], 'promote'),
  cpGroups: reading('groups', 'The groups', [200], 'groups'),
  cpGroup: reading(GROUP, 'A group', [200, 404], 'group', 'Print a group'),
  cpSessions: reading(`${GROUP}/sessions`, 'The sessions of a group', [200, 404], 'sessions'),
  localCpMember: reading('members/local', 'The local member of the subsystem', [200, 404], 'local'),
  removeCpGroup: calling(`${GROUP}/remove`, 'Remove a group', [200], 'remove-group'),
  endCpSession: calling(`${GROUP}/sessions/{id}/remove`, 'End a session', [200]),
  removeCpMember: calling('members/{uuid}/remove', 'Remove a member', [200, 409], 'remove-member'),
  resetCp: calling('reset', 'Reset the subsystem', [200, 409], 'reset'),
  belowCp: { prefix: 'rest/cp-subsystem', group: 'CP' },

  /** It is not found, after a check of the credentials. */
  changeCpGroups: { ...calling('groups', 'Find nothing', [404]), dialect: 'hazelcast' },
  addLocalCpMember: {
    ...calling('members/local', 'Add the member to the subsystem', [200]),
    dialect: 'hazelcast',
  },

  openCpSession: changing('sessions', 'Open a session', [201]),
  renewCpSession: changing(
    'sessions/{id}/heartbeat',
    'Begin the time of a session anew',
    [204, 404],
  ),
  closeCpSession: changing('sessions/{id}/close', 'Close a session', [204, 404]),
  takeCpLock: { ...changing(LOCK, 'Take a lock', [200, 404, 409]), mayWait: true },
  releaseCpLock: changing(`${LOCK}/release`, 'Release a lock', [204, 404, 409]),
  cpLock: { ...changing(LOCK, 'Get the holder of a lock', [200, 404]), method: 'GET' },
} as const;

type Statuses = readonly [number, ...number[]];

function reading(
  path: string,
  summary: string,
  statuses: Statuses,
  command: string,
  about = '',
): Route {
  return informing('CP', `rest/cp-subsystem/${path}`, summary, { statuses, command, about });
}

function calling(path: string, summary: string, statuses: Statuses, command = '') {
  return administering('CP', `rest/cp-subsystem/${path}`, summary, { statuses, command });
}

function changing(path: string, summary: string, statuses: Statuses): Route {
  const whole = `v1/cp/{group}/${path}`;
  return route({ method: 'POST', path: whole, group: 'CP', permission: USER, summary, statuses });
}
