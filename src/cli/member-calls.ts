/**
 * The commands of `gridnode cluster` and `gridnode wan` that are one call each: the row of the
 * call, which has its request and its words, and how its response is shown.
 */

import type { NamedConfig } from '../administration/configuration-actions.ts';
import { counted } from '../base/quantities.ts';
import type { MemberInfo } from '../cluster/cluster.ts';
import { HEALTH_ROUTES } from '../health/health-routes.ts';
import { ROUTES } from '../member/routes.ts';
import type { MemberStatus } from '../monitoring/status-report.ts';
import type { Route } from '../surface/route.ts';
import type { PublisherStatus } from '../wan/wan-status.ts';

/** The row of a call, and a function that formats its response for people. */
export type MemberCall = readonly [row: Route, show: (response: CallResponse) => string];

/** The fields of the responses of all calls. */
export interface CallResponse extends Partial<MemberStatus> {
  readonly status?: string;
  readonly message?: string;
  readonly state?: string;
  readonly version?: string;
  readonly response?: string;
  readonly name?: string;
  readonly logLevel?: string | null;
  readonly licenseInfo?: { readonly keyHash?: string } | null;
  readonly members?: readonly MemberInfo[];
  readonly 'member-list'?: readonly string[];
  readonly result?: {
    readonly addedConfigs: readonly NamedConfig[];
    readonly ignoredConfigs: readonly NamedConfig[];
  };
  readonly path?: string;
  readonly bytes?: number;
  readonly seconds?: number;
  readonly uuid?: string;
  readonly publishers?: readonly PublisherStatus[];
  readonly addedPublisherIds?: readonly string[];
  readonly ignoredPublisherIds?: readonly string[];
}

/** The parts of health, as `gridnode health` and the paths name them. */
export const HEALTH_PARTS: readonly string[] = Object.values(HEALTH_ROUTES).flatMap((row) =>
  'path' in row && row.path.startsWith('health/') ? [row.path.slice('health/'.length)] : [],
);

/** In the order of the help. */
export const CLUSTER_CALLS: readonly MemberCall[] = [
  [ROUTES.memberStatus, showStatus],
  [ROUTES.members, showMembers],
  [ROUTES.instance, ({ name = '' }) => name],
  [ROUTES.state, ({ state = '' }) => state],
  [ROUTES.changeState, ({ state = '' }) => state],
  [ROUTES.version, ({ version = '' }) => version],
  [ROUTES.changeVersion, ({ version = '' }) => version],
  [ROUTES.nodes, ({ response = '' }) => response],
  [ROUTES.shutDownAll, messageOf],
  [ROUTES.shutDown, messageOf],
  [ROUTES.forceStart, messageOf],
  [ROUTES.partialStart, messageOf],
  [
    ROUTES.backUp,
    ({ path, bytes, seconds, status = 'done' }) =>
      path === undefined ? status : `${path}  ${bytes} bytes  ${seconds} s`,
  ],
  [ROUTES.interruptBackup, messageOf],
  [ROUTES.logLevel, ({ logLevel }) => logLevel ?? 'not set'],
  [ROUTES.changeLogLevel, messageOf],
  [ROUTES.resetLogLevel, messageOf],
  [ROUTES.license, ({ licenseInfo }) => licenseInfo?.keyHash ?? 'none'],
  [ROUTES.setLicense, messageOf],
  [ROUTES.reload, messageOf],
  [ROUTES.updateConfig, showUpdate],
  [ROUTES.memberList, (response) => (response['member-list'] ?? []).join('\n')],
  [ROUTES.changeMemberList, messageOf],
];

export const WAN_CALLS: readonly MemberCall[] = [
  [ROUTES.publishers, ({ publishers = [] }) => publishers.map(lineOf).join('\n')],
  [ROUTES.pausePublisher, messageOf],
  [ROUTES.resumePublisher, messageOf],
  [ROUTES.stopPublisher, messageOf],
  [ROUTES.clearPublisher, messageOf],
  [ROUTES.addPublishers, showAdded],
  [ROUTES.removePublisher, messageOf],
];

/** Returns the command of a row and its arguments, as commander reads them. */
export function wordsOf(row: Route): string {
  const variables = variablesOf(row).map((name) => `<${name}>`);
  const words = row.parameters.map(({ name, kind, isOptional }) => {
    if (kind === 'document') return '[file]';
    return isOptional ? `[${name}]` : `<${name}>`;
  });
  return [row.command, ...variables, ...words].join(' ');
}

/** Returns the names of the variable parts of a row's path. */
export function variablesOf({ path }: Route): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
}

/** Returns the client's description of a row: a command whose summary is a thing prints the thing. */
export function aboutOf({ about, summary }: Route): string {
  return about || summary.replace(/^The /, 'Print the ');
}

function messageOf({ message, status }: CallResponse): string {
  return message?.trim() ?? status ?? 'done';
}

function showMembers({ members = [] }: CallResponse): string {
  const lines = members.map(({ address, uuid, memberVersion, liteMember, localMember }) => {
    const marks = `${liteMember ? '  lite' : ''}${localMember ? '  this member' : ''}`;
    return `${address}  ${uuid}  ${memberVersion}${marks}`;
  });
  return lines.join('\n');
}

/** One line per part of the member; the load is that of the last whole second. */
function showStatus({
  member,
  cluster,
  health,
  http,
  memory,
  persistence,
  wan,
  history,
}: CallResponse): string {
  if (member === undefined) return '';
  const last = (values: readonly (number | null)[] = []) => values.at(-1) ?? 0;
  const lines: readonly (readonly [string, string])[] = [
    ['member', `${member.name}  ${member.address ?? ''}  gridnode ${member.version}`],
    ['started', new Date(member.startTime).toISOString()],
    [
      'cluster',
      `${cluster?.name}  ${cluster?.state}  ${counted(health?.clusterSize ?? 0, 'member')}`,
    ],
    ['health', `${health?.nodeState}  ${health?.clusterSafe ? 'safe' : 'not safe'}`],
    ['requests', `${last(history?.requests)} a second, ${counted(last(history?.errors), 'error')}`],
    ['durations', `p50 ${last(history?.p50Ms)} ms, p99 ${last(history?.p99Ms)} ms`],
    ['connections', `${http?.connections}, ${counted(http?.inFlightBytes ?? 0, 'byte')} in flight`],
    ['memory', describeMemory(memory)],
  ];
  const further: (readonly [string, string])[] = [];
  if (persistence) {
    const { sync, logBytes, diskFull, diskFailed } = persistence;
    const disk = diskFailed ? ', disk failed' : diskFull ? ', disk full' : '';
    further.push(['persistence', `sync ${sync}, log ${counted(logBytes, 'byte')}${disk}`]);
  }
  if (wan) {
    const publishers = counted(wan.publishers, 'publisher');
    const events = counted(wan.queuedEvents, 'event waits', 'events wait');
    further.push(['wan', `${publishers}, ${events}`]);
  }
  return [...lines, ...further].map(([name, text]) => `${name.padEnd(12)} ${text}`).join('\n');
}

function describeMemory(memory: CallResponse['memory']): string {
  const resident = `${memory?.residentBytes} bytes resident`;
  if (memory?.usedBytes == null) return resident;
  const { usedBytes, limitBytes } = memory;
  return `${usedBytes} of ${limitBytes ?? 'unlimited'} bytes stored, ${resident}`;
}

/** One line per block: whether it was added or ignored, its section and its name. */
function showUpdate({ message = 'done', result }: CallResponse): string {
  const lines = (word: string, sections: readonly NamedConfig[] = []) =>
    sections.map(({ sectionName, configName }) =>
      [word.padEnd(8), sectionName, ...(configName === undefined ? [] : [configName])].join(' '),
    );
  const blocks = [
    ...lines('added', result?.addedConfigs),
    ...lines('ignored', result?.ignoredConfigs),
  ];
  return [message.trim(), ...blocks].join('\n');
}

function lineOf(publisher: PublisherStatus): string {
  const { wanReplicationName, wanPublisherId, clusterName, state, lastError } = publisher;
  const { queueSize, queueCapacity, lagMillis } = publisher;
  const { eventsSent, eventsDropped, eventsRejected } = publisher;
  return [
    `${wanReplicationName} ${wanPublisherId}`,
    `to ${clusterName}`,
    state,
    `${queueSize} of ${queueCapacity} wait, the oldest for ${lagMillis} ms`,
    `${eventsSent} sent, ${eventsDropped} dropped, ${eventsRejected} rejected`,
    ...(lastError === null ? [] : [lastError]),
  ].join('  ');
}

/** One line per publisher: whether it was added or ignored, and its id. */
function showAdded({
  message = 'done',
  addedPublisherIds = [],
  ignoredPublisherIds = [],
}: CallResponse): string {
  const added = addedPublisherIds.map((id) => `added    ${id}`);
  return [message, ...added, ...ignoredPublisherIds.map((id) => `ignored  ${id}`)].join('\n');
}
