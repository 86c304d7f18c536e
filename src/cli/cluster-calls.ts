/**
 * The calls of `gridnode cluster`, one row each: the request, and how its response is shown. The calls of
 * `gridnode wan` are rows of the same type (wan-calls.ts). Tested by output.spec.ts.
 */
import type { PublisherStatus } from '../wan/wan-status.ts';

export interface ClusterCall {
  /** The command and its arguments, as commander reads them. */
  readonly words: string;
  readonly about: string;
  /** Path after `/{segment}/rest/`. */
  readonly path: string;
  /** True for a GET; else it is a POST whose content is user, password and the arguments. */
  readonly isRead?: true;
  /** Whether the argument is a file with the text; without an argument the text is standard input. */
  readonly takesFile?: true;
  /** Parameters after the credentials; omitted arguments are sent empty. */
  readonly parameterCount?: number;
  /** Formats the response for people. */
  show(response: ClusterResponse): string;
}

/** The fields of the responses of all calls. */
export interface ClusterResponse {
  readonly status?: string;
  readonly message?: string;
  readonly state?: string;
  readonly version?: string;
  readonly response?: string;
  readonly name?: string;
  readonly logLevel?: string | null;
  readonly licenseInfo?: { readonly keyHash?: string } | null;
  readonly members?: readonly {
    readonly address: string;
    readonly uuid: string;
    readonly memberVersion: string;
    readonly liteMember: boolean;
    readonly localMember: boolean;
  }[];
  readonly 'member-list'?: readonly string[];
  readonly result?: {
    readonly addedConfigs: readonly NamedSection[];
    readonly ignoredConfigs: readonly NamedSection[];
  };
  readonly path?: string;
  readonly bytes?: number;
  readonly seconds?: number;
  readonly uuid?: string;
  readonly publishers?: readonly PublisherStatus[];
  readonly addedPublisherIds?: readonly string[];
  readonly ignoredPublisherIds?: readonly string[];
}

interface NamedSection {
  readonly sectionName: string;
  readonly configName?: string;
}

const MANAGEMENT = 'management/cluster';
const TCP_IP = 'config/tcp-ip/member-list';

export const CLUSTER_CALLS: readonly ClusterCall[] = [
  {
    words: 'status',
    about: 'Print the members',
    path: 'cluster',
    isRead: true,
    show: ({ members = [] }) =>
      members
        .map(({ address, uuid, memberVersion, liteMember, localMember }) => {
          const marks = `${liteMember ? '  lite' : ''}${localMember ? '  this member' : ''}`;
          return `${address}  ${uuid}  ${memberVersion}${marks}`;
        })
        .join('\n'),
  },
  {
    words: 'instance',
    about: 'Print the name of the instance',
    path: 'instance',
    isRead: true,
    show: ({ name = '' }) => name,
  },
  {
    words: 'state',
    about: 'Print the cluster’s state',
    path: `${MANAGEMENT}/state`,
    show: stateOf,
  },
  {
    words: 'change-state <state>',
    about: 'Change the state: active, no_migration, frozen or passive',
    path: `${MANAGEMENT}/changeState`,
    show: stateOf,
  },
  {
    words: 'version',
    about: 'Print the cluster’s version',
    path: `${MANAGEMENT}/version`,
    isRead: true,
    show: versionOf,
  },
  {
    words: 'change-version <version>',
    about: 'Change the version',
    path: `${MANAGEMENT}/version`,
    show: versionOf,
  },
  {
    words: 'nodes',
    about: 'Print the members, their version and the version of Node',
    path: `${MANAGEMENT}/nodes`,
    show: ({ response = '' }) => response,
  },
  call('shutdown', 'Stop all members', `${MANAGEMENT}/clusterShutdown`),
  call('shutdown-member', 'Stop the member that gets the request', `${MANAGEMENT}/memberShutdown`),
  call('force-start', 'Start empty; the stored data is moved aside', `${MANAGEMENT}/forceStart`),
  call('partial-start', 'Start with the readable part of the data', `${MANAGEMENT}/partialStart`),
  {
    words: 'backup',
    about: 'Back up the stored data; prints the path, the bytes and the seconds',
    path: `${MANAGEMENT}/backup`,
    show: ({ path, bytes, seconds, status = 'done' }) =>
      path === undefined ? status : `${path}  ${bytes} bytes  ${seconds} s`,
  },
  call('interrupt-backup', 'Interrupt the backup in progress', `${MANAGEMENT}/backupInterrupt`),
  {
    words: 'log-level',
    about: 'Print the log level set by change-log-level',
    path: 'log-level',
    isRead: true,
    show: ({ logLevel }) => logLevel ?? 'not set',
  },
  call('change-log-level <level>', 'Change the log level, OFF to FINEST', 'log-level'),
  call('reset-log-level', 'Restore the configured log level', 'log-level/reset'),
  {
    words: 'license',
    about: 'Print the license’s hash',
    path: 'license',
    isRead: true,
    show: ({ licenseInfo }) => licenseInfo?.keyHash ?? 'none',
  },
  call('set-license <key>', 'Set the license key', 'license'),
  call('reload', 'Read the configuration again', 'config/reload'),
  {
    words: 'update-config [file]',
    about: 'Add maps, queues and users from a file or standard input',
    path: 'config/update',
    takesFile: true,
    show: showUpdate,
  },
  {
    words: 'member-list',
    about: 'Print the TCP-IP join list',
    path: TCP_IP,
    isRead: true,
    show: (response) => (response['member-list'] ?? []).join('\n'),
  },
  call('change-member-list <list>', 'Change the TCP-IP join list', TCP_IP),
];

/** A call whose response has only a message or a status. */
function call(words: string, about: string, path: string): ClusterCall {
  return { words, about, path, show: messageOf };
}

export function messageOf({ message, status }: ClusterResponse): string {
  return message?.trim() ?? status ?? 'done';
}

function stateOf({ state }: ClusterResponse): string {
  return state ?? '';
}

function versionOf({ version }: ClusterResponse): string {
  return version ?? '';
}

/** One line per block: whether it was added or ignored, its section and its name. */
function showUpdate({ message = 'done', result }: ClusterResponse): string {
  const lines = (word: string, sections: readonly NamedSection[] = []) =>
    sections.map(({ sectionName, configName }) =>
      [word.padEnd(8), sectionName, ...(configName === undefined ? [] : [configName])].join(' '),
    );
  const blocks = [
    ...lines('added', result?.addedConfigs),
    ...lines('ignored', result?.ignoredConfigs),
  ];
  return [message.trim(), ...blocks].join('\n');
}
