/**
 * The CP subsystem, which this member does not implement. Groups, parameters and credentials are
 * checked like those of all other calls; then the response reports that the operation is not
 * implemented. Tested by surface/surface.spec.ts.
 */
import type { Action, Actions, Work } from '../surface/action.ts';
import type { CP_ROUTES } from './cp-routes.ts';

const reading: Action = ({ request }) => request.refuse('NOT_IMPLEMENTED', {});
const work: Work = (call) => call.refuse('NOT_IMPLEMENTED', {});

export const CP_ACTIONS: Actions<typeof CP_ROUTES> = {
  cpMembers: reading,
  addCpMember: work,
  cpGroups: reading,
  cpGroup: reading,
  cpSessions: reading,
  localCpMember: reading,
  removeCpGroup: work,
  endCpSession: work,
  removeCpMember: work,
  resetCp: work,
  changeCpGroups: (call) => call.refuse('PATH_UNKNOWN', {}),
  addLocalCpMember: work,
};
