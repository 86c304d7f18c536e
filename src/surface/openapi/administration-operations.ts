/** The operations of the member and its cluster. Tested by openapi-document.spec.ts. */
import { LOG_LEVEL_NAMES } from '../../base/log-level.ts';
import { CLUSTER_STATES } from '../../cluster/cluster.ts';
import {
  arrayOf,
  BOOLEAN,
  COUNT,
  json,
  named,
  type OperationParts,
  object,
  oneOf,
  orNull,
  success,
  TEXT,
  UUID,
} from './schema.ts';

const SETTABLE_STATES = CLUSTER_STATES.map((state) => state.toLowerCase());
const LICENSE = object({
  keyHash: { ...TEXT, pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of the key, in hex' },
});
const MEMBER_LIST = { 'member-list': arrayOf(TEXT) };
const DONE = { 200: json('Done', success()) };
const WITH_MESSAGE = { 200: json('Done', success({ message: TEXT })) };
const CHANGED_CONFIG = {
  200: json('The changes', success({ message: TEXT, result: named('ConfigChanges') })),
};

export const ADMINISTRATION_SCHEMAS = {
  Member: object({
    address: TEXT,
    liteMember: BOOLEAN,
    localMember: { ...BOOLEAN, description: 'Whether it is the member that responds' },
    uuid: UUID,
    memberVersion: TEXT,
  }),
  ConfigChanges: object({
    addedConfigs: arrayOf(named('ConfigName')),
    ignoredConfigs: arrayOf(named('ConfigName')),
  }),
  ConfigName: object(
    { sectionName: TEXT },
    { configName: { ...TEXT, description: 'Missing for a whole section' } },
  ),
} as const;

export const ADMINISTRATION_OPERATIONS: OperationParts = {
  members: {
    responses: {
      200: json(
        'The members, the oldest first',
        object({
          members: arrayOf(named('Member')),
          connectionCount: COUNT,
          allConnectionCount: COUNT,
        }),
      ),
    },
  },
  instance: { responses: { 200: json('The name', object({ name: TEXT })) } },
  state: {
    responses: {
      200: json('The state', success({ state: oneOf(...SETTABLE_STATES, 'in_transition') })),
    },
  },
  nodes: {
    responses: { 200: json('One line each, the members in one', success({ response: TEXT })) },
  },
  version: { responses: { 200: json('The version', success({ version: TEXT })) } },
  changeVersion: { responses: { 200: json('The version', success({ version: TEXT })) } },
  license: {
    responses: { 200: json('The license', object({ licenseInfo: orNull(LICENSE) })) },
  },
  setLicense: {
    responses: { 200: json('The license', success({ licenseInfo: LICENSE, message: TEXT })) },
  },
  logLevel: {
    responses: {
      200: json(
        'The level; null if none was set',
        object({ logLevel: orNull(oneOf(...LOG_LEVEL_NAMES)) }),
      ),
    },
  },
  changeLogLevel: { values: { level: LOG_LEVEL_NAMES }, responses: WITH_MESSAGE },
  resetLogLevel: { responses: WITH_MESSAGE },
  memberList: {
    description: 'Responds with 400 if the join by TCP/IP is not enabled.',
    responses: { 200: json('The list', success(MEMBER_LIST)) },
  },
  changeMemberList: {
    description: 'Responds with 400 if the join by TCP/IP is not enabled.',
    values: { list: ['10.0.0.1%2C10.0.0.2'] },
    responses: { 200: json('The list', success({ message: TEXT, ...MEMBER_LIST })) },
  },
  changeState: {
    values: { state: SETTABLE_STATES },
    failsWith200: true,
    responses: {
      200: json('The new state', success({ state: oneOf(...SETTABLE_STATES) })),
      409: json(
        'The cluster is in that state, which the response contains, or another change is under way',
        named('FailureInState'),
      ),
    },
  },
  shutDownAll: { responses: DONE },
  shutDown: { responses: DONE },
  reload: { responses: CHANGED_CONFIG },
  updateConfig: {
    description: 'The configuration is YAML, XML or JSON, in the structure of a file.',
    values: { configuration: ['%7B%22grid%22%3A%7B%22map%22%3A%7B%22m%22%3A%7B%7D%7D%7D%7D'] },
    responses: CHANGED_CONFIG,
  },
};
