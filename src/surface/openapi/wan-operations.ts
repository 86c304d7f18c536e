/** The operations of WAN replication. */
import {
  arrayOf,
  BYTES,
  COUNT,
  INTEGER,
  json,
  named,
  type OperationPart,
  type OperationParts,
  object,
  oneOf,
  success,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  UUID,
} from './schema.ts';

const UNTIL_THE_END = { ...INTEGER, minimum: -1, description: 'Of a check; -1 until it ends' };
const ONLY_PUBLISHER = 'An empty publisher is the only one of the replication.';
const CONFIRMED =
  'With several members, the response is 503 if the change is stored, but not in force on every member yet.';
const OF_MEMBER = 'With several members, this affects the called member.';

const ON_PUBLISHER: OperationPart = {
  description: ONLY_PUBLISHER,
  responses: { 200: json('Done', success({ message: TEXT })) },
};
const ON_MEMBER: OperationPart = { ...ON_PUBLISHER, description: `${ONLY_PUBLISHER} ${OF_MEMBER}` };
const TASK: OperationPart = {
  description: `${ONLY_PUBLISHER} The work continues after the response.`,
  responses: { 200: json('The work has begun', success({ message: TEXT, uuid: UUID })) },
};

export const WAN_SCHEMAS = {
  Publisher: object({
    wanReplicationName: TEXT,
    wanPublisherId: TEXT,
    clusterName: { ...TEXT, description: 'The name of the cluster of the target' },
    state: oneOf('REPLICATING', 'PAUSED', 'STOPPED'),
    queueSize: {
      ...COUNT,
      description: 'Changes that are not acknowledged; on servers, keys that this member will send',
    },
    queueCapacity: COUNT,
    queueBytes: { ...INTEGER, minimum: -1, description: '-1 on servers' },
    eventsSent: { ...COUNT, description: 'Since the start' },
    eventsDropped: { ...COUNT, description: 'Since the start, because the queue was full' },
    eventsRejected: {
      ...COUNT,
      description: 'Since the start, because the target can never accept them',
    },
    lagMillis: { ...COUNT, description: 'Age of the oldest waiting change; 0 if there is none' },
    lastError: TEXT_OR_NULL,
  }),
  TaskProgress: object(
    {
      stage: oneOf('STARTED', 'IN_PROGRESS', 'FINISHED', 'FAILED'),
      progress: { ...COUNT, maximum: 100, description: 'In percent' },
      wanReplicationName: TEXT,
      wanPublisherId: TEXT,
      creationTime: TIME,
    },
    {
      entriesNotTaken: { ...COUNT, description: 'Entries of which the target kept its own' },
      checkedPartitions: UNTIL_THE_END,
      differentPartitions: UNTIL_THE_END,
      checkedLeaves: UNTIL_THE_END,
      differentLeaves: UNTIL_THE_END,
      entriesToSync: UNTIL_THE_END,
      message: { ...TEXT, description: 'The reason of FAILED' },
    },
  ),
} as const;

export const WAN_OPERATIONS: OperationParts = {
  syncMap: TASK,
  syncAllMaps: TASK,
  syncAllMapsToo: TASK,
  checkMap: TASK,
  clearPublisher: ON_MEMBER,
  removePublisher: { ...ON_PUBLISHER, description: `${ONLY_PUBLISHER} ${CONFIRMED}` },
  pausePublisher: ON_MEMBER,
  stopPublisher: ON_MEMBER,
  resumePublisher: ON_MEMBER,
  addPublishers: {
    description: `The configuration is the JSON of a replication. ${CONFIRMED}`,
    responses: {
      200: json(
        'The publishers that were added, and those that existed',
        success({
          message: TEXT,
          addedPublisherIds: arrayOf(TEXT),
          ignoredPublisherIds: arrayOf(TEXT),
        }),
      ),
    },
  },
  receiveMessage: {
    description: 'Members send these messages in a format of their own.',
    content: BYTES,
    responses: {
      200: { description: 'Received', content: BYTES },
    },
  },
  publishers: {
    responses: {
      200: json('The publishers', object({ publishers: arrayOf(named('Publisher')) })),
    },
  },
  taskProgress: {
    failsWith200: true,
    responses: { 200: json('The progress', success({ result: named('TaskProgress') })) },
  },
};
