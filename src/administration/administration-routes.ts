/**
 * The rows of the member and its cluster (groups CLUSTER_READ and CLUSTER_WRITE).
 * Tested by surface/surface.spec.ts.
 */
import { administering, document, informing, text } from '../surface/route.ts';

const MANAGEMENT = 'rest/management/cluster';
const MEMBER_LIST = 'rest/config/tcp-ip/member-list';

export const ADMINISTRATION_ROUTES = {
  members: informing('CLUSTER_READ', 'rest/cluster', 'The members and connections', {
    command: 'members',
    about: 'Print the members',
  }),
  instance: informing('CLUSTER_READ', 'rest/instance', 'The name of the instance', {
    command: 'instance',
  }),
  state: administering('CLUSTER_READ', `${MANAGEMENT}/state`, 'The cluster’s state', {
    command: 'state',
  }),
  nodes: administering(
    'CLUSTER_READ',
    `${MANAGEMENT}/nodes`,
    'The members, their version and the version of Node',
    { command: 'nodes' },
  ),
  version: informing('CLUSTER_READ', `${MANAGEMENT}/version`, 'The cluster’s version', {
    command: 'version',
  }),
  changeVersion: changing(`${MANAGEMENT}/version`, 'Change the version', {
    parameters: [text('version')],
    statuses: [200, 409],
    command: 'change-version',
  }),
  license: informing('CLUSTER_READ', 'rest/license', 'The license’s hash', {
    command: 'license',
  }),
  setLicense: changing('rest/license', 'Set the license key', {
    parameters: [text('key')],
    command: 'set-license',
  }),
  logLevel: informing('CLUSTER_READ', 'rest/log-level', 'The log level that was set', {
    command: 'log-level',
    about: 'Print the log level set by change-log-level',
  }),
  changeLogLevel: changing('rest/log-level', 'Change the log level, OFF to FINEST', {
    parameters: [text('level')],
    command: 'change-log-level',
  }),
  resetLogLevel: changing('rest/log-level/reset', 'Restore the configured log level', {
    command: 'reset-log-level',
  }),
  memberList: informing('CLUSTER_READ', MEMBER_LIST, 'The TCP-IP join list', {
    command: 'member-list',
  }),
  changeMemberList: changing(MEMBER_LIST, 'Change the TCP-IP join list', {
    parameters: [text('list')],
    command: 'change-member-list',
  }),
  changeState: changing(
    `${MANAGEMENT}/changeState`,
    'Change the state: active, no_migration, frozen or passive',
    { parameters: [text('state')], statuses: [200, 409], command: 'change-state' },
  ),
  shutDownAll: changing(`${MANAGEMENT}/clusterShutdown`, 'Stop all members', {
    command: 'shutdown',
  }),
  shutDown: changing(`${MANAGEMENT}/memberShutdown`, 'Stop the member that gets the request', {
    command: 'shutdown-member',
  }),
  reload: changing('rest/config/reload', 'Read the configuration again', { command: 'reload' }),
  updateConfig: changing('rest/config/update', 'Add maps, queues and users', {
    parameters: [document('configuration')],
    command: 'update-config',
    about: 'Add maps, queues and users from a file or standard input',
  }),
} as const;

function changing(path: string, summary: string, further: Parameters<typeof administering>[3]) {
  return administering('CLUSTER_WRITE', path, summary, further);
}
