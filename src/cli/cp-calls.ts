/** The commands of `gridnode cp` that are one administrative call each. Tested by cp-commands.spec.ts. */
import { ROUTES } from '../member/routes.ts';
import type { CallResponse, MemberCall } from './member-calls.ts';
import { shownName } from './shown-name.ts';

interface ListedMember {
  readonly uuid: string;
  readonly address: string;
}

interface ListedGroup {
  readonly id: number;
  readonly name?: string;
  readonly nameBase64?: string;
}

interface ListedSession {
  readonly id: number;
  readonly creationTime: number;
  readonly expirationTime: number;
  readonly endpoint: string;
  readonly endpointName?: string;
  readonly endpointNameBase64?: string;
}

/** In the order of the help. */
export const CP_CALLS: readonly MemberCall[] = [
  [ROUTES.cpGroups, (response) => linesOf<ListedGroup>(response, lineOfGroup)],
  [ROUTES.cpGroup, showGroup],
  [ROUTES.cpSessions, (response) => linesOf<ListedSession>(response, lineOfSession)],
  [ROUTES.cpMembers, (response) => linesOf<ListedMember>(response, lineOfMember)],
  [ROUTES.localCpMember, (response) => lineOfMember(response as unknown as ListedMember)],
  [ROUTES.addCpMember, showDone],
  [ROUTES.removeCpMember, showDone],
  [ROUTES.removeCpGroup, showDone],
  [ROUTES.resetCp, showDone],
];

const NO_GROUP: ListedGroup = { id: 0 };

function showDone(): string {
  return 'done';
}

/** The responses of lists are arrays; that of another server may be anything. */
function linesOf<Item>(response: CallResponse, lineOf: (item: Item) => string): string {
  const items: readonly Item[] = Array.isArray(response) ? response : [];
  return items.map(lineOf).join('\n');
}

function showGroup(response: CallResponse): string {
  const { id = NO_GROUP } = response as unknown as { readonly id?: ListedGroup };
  const members = (response.members ?? []) as readonly ListedMember[];
  return [`${lineOfGroup(id)}  ${response.status}`, ...members.map(lineOfMember)].join('\n');
}

function lineOfGroup({ id, name, nameBase64 }: ListedGroup): string {
  return `${id}  ${shownName(name, nameBase64)}`;
}

function lineOfMember({ uuid, address }: ListedMember): string {
  return `${uuid}  ${address}`;
}

function lineOfSession(session: ListedSession): string {
  const { id, creationTime, expirationTime, endpoint } = session;
  const name = shownName(session.endpointName, session.endpointNameBase64);
  const [since, until] = [creationTime, expirationTime].map((time) => new Date(time).toISOString());
  return `${id}  ${endpoint}  since ${since}  until ${until}  ${name}`;
}
