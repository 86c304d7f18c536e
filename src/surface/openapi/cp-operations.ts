/** The operations of the CP subsystem. Tested by openapi-document.spec.ts. */
import {
  arrayOf,
  COUNT,
  type DescribedResponse,
  empty,
  json,
  named,
  type OperationParts,
  object,
  only,
  type Schema,
  TEXT,
  TIME,
} from './schema.ts';

const MEMBER = object({ uuid: TEXT, address: TEXT });
const GROUP_ID: Schema = {
  ...object({ id: COUNT }, { name: TEXT, nameBase64: TEXT }),
  description: 'The name is in base64 if it is not UTF-8',
};
const SESSION = object(
  {
    id: COUNT,
    creationTime: TIME,
    expirationTime: TIME,
    version: { ...COUNT, description: 'Number of heartbeats' },
    endpoint: { ...TEXT, description: 'Address of the client that opened it' },
    endpointType: only('CLIENT'),
  },
  { endpointName: TEXT, endpointNameBase64: TEXT },
);
const FENCE: Schema = { ...COUNT, description: 'Later than that of every earlier holder' };
const NOT_FOUND = empty('There is no such group');
const DONE = empty('Done');
const NO_SESSION = json('The session does not exist, or has ended', named('Failure'));

export const CP_OPERATIONS: OperationParts = {
  cpMembers: { responses: { 200: json('The CP members', arrayOf(MEMBER)) } },
  localCpMember: {
    responses: { 200: json('This member', MEMBER), 404: empty('It is not a CP member') },
  },
  addCpMember: { responses: { 200: empty('It is a CP member') } },
  addLocalCpMember: { responses: { 200: empty('It is a CP member') } },
  removeCpMember: { responses: { 200: DONE } },
  cpGroups: { responses: { 200: json('The groups by id, METADATA first', arrayOf(GROUP_ID)) } },
  cpGroup: {
    responses: {
      200: json(
        'The group',
        object({ id: GROUP_ID, status: only('ACTIVE'), members: arrayOf(MEMBER) }),
      ),
      404: NOT_FOUND,
    },
  },
  cpSessions: {
    responses: { 200: json('The sessions by id', arrayOf(SESSION)), 404: NOT_FOUND },
  },
  removeCpGroup: {
    description: 'Its sessions and locks end. A group of that name is made anew by its next use.',
    responses: { 200: DONE },
  },
  endCpSession: { description: 'Its locks are free.', responses: { 200: DONE } },
  resetCp: { description: 'Removes all groups but METADATA.', responses: { 200: DONE } },
  changeCpGroups: { responses: { 404: empty('There is no such call') } },
  openCpSession: {
    description: 'The group is created if it does not exist. A session ends without heartbeats.',
    content: form({ name: { ...TEXT, description: 'A name for lists of sessions' } }),
    responses: { 201: json('The session', SESSION) },
  },
  renewCpSession: { responses: { 204: DONE, 404: NO_SESSION } },
  closeCpSession: { description: 'Its locks are free.', responses: { 204: DONE, 404: NO_SESSION } },
  takeCpLock: {
    description: 'With `wait`, in seconds, it waits for its turn. The holder gets its fence again.',
    content: form({ session: COUNT, wait: COUNT }),
    responses: {
      200: json('The session holds the lock', object({ fence: FENCE })),
      404: NO_SESSION,
      409: json('Another session holds the lock', named('Failure')),
    },
  },
  releaseCpLock: {
    content: form({ session: COUNT }),
    responses: { 204: DONE, 409: json('The session does not hold the lock', named('Failure')) },
  },
  cpLock: {
    responses: {
      200: json('The holder', object({ fence: FENCE, session: COUNT })),
      404: json('Nobody holds the lock', named('Failure')),
    },
  },
};

function form(
  members: Readonly<Record<string, Schema>>,
): NonNullable<DescribedResponse['content']> {
  return { 'application/x-www-form-urlencoded': { schema: object({}, members) } };
}
