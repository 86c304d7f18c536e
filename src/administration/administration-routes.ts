/** The rows of the member and its cluster (groups CLUSTER_READ and CLUSTER_WRITE). */
import { administering, document, informing, text } from '../surface/route.ts';

const MANAGEMENT = 'rest/management/cluster';
const MEMBER_LIST = 'rest/config/tcp-ip/member-list';
/** Maximum length of an added configuration, in bytes. */
const ADDED_TEXT_BYTES_MAX = 1_048_576;

export const ADMINISTRATION_ROUTES = {
  members: informing('CLUSTER_READ', 'rest/cluster', 'Members and connections', {
    command: 'status',
    about: 'Print the members',
  }),
  instance: informing('CLUSTER_READ', 'rest/instance', 'The name of the member', {
    command: 'instance',
    about: 'Print the name of the instance',
  }),
  state: administering('CLUSTER_READ', `${MANAGEMENT}/state`, 'The cluster state', {
    command: 'state',
    about: 'Print the cluster’s state',
  }),
  nodes: administering('CLUSTER_READ', `${MANAGEMENT}/nodes`, 'The members, in three lines', {
    command: 'nodes',
    about: 'Print the members, their version and the version of Node',
  }),
  version: informing('CLUSTER_READ', `${MANAGEMENT}/version`, 'The cluster version', {
    command: 'version',
    about: 'Print the cluster’s version',
  }),
  changeVersion: administering('CLUSTER_WRITE', `${MANAGEMENT}/version`, 'Change the version', {
    parameters: [text('version')],
    statuses: [200, 409],
    command: 'change-version',
  }),
  license: informing('CLUSTER_READ', 'rest/license', 'The hash of the license key', {
    command: 'license',
    about: 'Print the license’s hash',
  }),
  setLicense: administering('CLUSTER_WRITE', 'rest/license', 'Set the license key', {
    parameters: [text('key')],
    command: 'set-license',
  }),
  logLevel: informing('CLUSTER_READ', 'rest/log-level', 'The log level that was set', {
    command: 'log-level',
    about: 'Print the log level set by change-log-level',
  }),
  changeLogLevel: administering(
    'CLUSTER_WRITE',
    'rest/log-level',
    'Change the log level, OFF to FINEST',
    { parameters: [text('level')], command: 'change-log-level' },
  ),
  resetLogLevel: administering(
    'CLUSTER_WRITE',
    'rest/log-level/reset',
    'Restore the configured log level',
    { command: 'reset-log-level' },
  ),
  memberList: informing('CLUSTER_READ', MEMBER_LIST, 'The members of the TCP-IP join', {
    command: 'member-list',
    about: 'Print the TCP-IP join list',
  }),
  changeMemberList: administering('CLUSTER_WRITE', MEMBER_LIST, 'Change the TCP-IP join list', {
    parameters: [text('list')],
    command: 'change-member-list',
  }),
  changeState: administering(
    'CLUSTER_WRITE',
    `${MANAGEMENT}/changeState`,
    'Change the state: active, no_migration, frozen or passive',
    { parameters: [text('state')], statuses: [200, 409], command: 'change-state' },
  ),
  shutDownAll: administering('CLUSTER_WRITE', `${MANAGEMENT}/clusterShutdown`, 'Stop all members', {
    command: 'shutdown',
  }),
  shutDown: administering(
    'CLUSTER_WRITE',
    `${MANAGEMENT}/memberShutdown`,
    'Stop the member that gets the request',
    { command: 'shutdown-member' },
  ),
  reload: administering('CLUSTER_WRITE', 'rest/config/reload', 'Read the configuration again', {
    command: 'reload',
  }),
  updateConfig: administering(
    'CLUSTER_WRITE',
    'rest/config/update',
    'Add maps, queues and users to the configuration',
    {
      parameters: [document('configuration', ADDED_TEXT_BYTES_MAX)],
      command: 'update-config',
      about: 'Add maps, queues and users from a file or standard input',
    },
  ),
} as const;
