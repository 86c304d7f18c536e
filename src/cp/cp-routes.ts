/** The rows of the CP subsystem (group CP). Tested by surface/surface.spec.ts. */
import { administering, informing } from '../surface/route.ts';

const UNSERVED = { statuses: [501] } as const;
const GROUP = 'groups/{group}';

export const CP_ROUTES = {
  cpMembers: reading('members', 'The members of the subsystem'),
  addCpMember: calling('members', 'Add the member to the subsystem'),
  cpGroups: reading('groups', 'The groups'),
  cpGroup: reading(GROUP, 'A group'),
  cpSessions: reading(`${GROUP}/sessions`, 'The sessions of a group'),
  localCpMember: reading('members/local', 'The local member of the subsystem'),
  removeCpGroup: calling(`${GROUP}/remove`, 'Remove a group'),
  endCpSession: calling(`${GROUP}/sessions/{id}/remove`, 'End a session'),
  removeCpMember: calling('members/{uuid}/remove', 'Remove a member'),
  resetCp: calling('reset', 'Reset the subsystem'),
  belowCp: { prefix: 'rest/cp-subsystem', group: 'CP' },

  /** It is not found, after a check of the credentials. */
  changeCpGroups: { ...calling('groups', 'Find nothing'), statuses: [404], dialect: 'hazelcast' },
  addLocalCpMember: {
    ...calling('members/local', 'Add the member to the subsystem'),
    dialect: 'hazelcast',
  },
} as const;

function reading(path: string, summary: string) {
  return informing('CP', `rest/cp-subsystem/${path}`, summary, UNSERVED);
}

function calling(path: string, summary: string) {
  return administering('CP', `rest/cp-subsystem/${path}`, summary, UNSERVED);
}
