/** The operations of the CP subsystem, which the member does not implement. */
import { empty, type OperationParts } from './schema.ts';

const UNSERVED = { responses: {} };

export const CP_OPERATIONS: OperationParts = {
  cpMembers: UNSERVED,
  addCpMember: UNSERVED,
  cpGroups: UNSERVED,
  cpGroup: UNSERVED,
  cpSessions: UNSERVED,
  localCpMember: UNSERVED,
  removeCpGroup: UNSERVED,
  endCpSession: UNSERVED,
  removeCpMember: UNSERVED,
  resetCp: UNSERVED,
  addLocalCpMember: UNSERVED,
  changeCpGroups: { responses: { 404: empty('The response is always empty') } },
};
