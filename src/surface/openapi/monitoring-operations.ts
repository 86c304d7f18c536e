/** The operations of monitoring. */
import {
  arrayOf,
  BOOLEAN,
  COUNT,
  COUNT_OR_NULL,
  json,
  named,
  type OperationParts,
  object,
  orNull,
  type Schema,
  TEXT,
  TIME,
  UUID,
} from './schema.ts';

const SECONDS_MAX = 300;
const PER_SECOND: Schema = {
  type: 'array',
  maxItems: SECONDS_MAX,
  items: { type: ['number', 'null'], minimum: 0 },
};

export const MONITORING_SCHEMAS = {
  Status: object({
    member: object({ name: TEXT, uuid: UUID, address: TEXT, version: TEXT, startTime: TIME }),
    cluster: object({
      name: TEXT,
      state: named('ClusterState'),
      members: arrayOf(named('Member')),
    }),
    health: named('Health'),
    http: object({ connections: COUNT, inFlightBytes: COUNT }),
    memory: object({
      usedBytes: COUNT_OR_NULL,
      limitBytes: COUNT_OR_NULL,
      residentBytes: COUNT,
    }),
    persistence: orNull(
      object({
        sync: TEXT,
        logBytes: COUNT,
        snapshotTime: { ...COUNT_OR_NULL, description: 'Milliseconds since 1970' },
        diskFull: BOOLEAN,
        diskFailed: BOOLEAN,
      }),
    ),
    wan: orNull(object({ publishers: COUNT, queuedEvents: COUNT })),
    cp: object({ groups: COUNT, sessions: COUNT }),
    history: {
      ...object({
        stepSeconds: { type: 'integer', const: 1 },
        endMs: TIME,
        requests: PER_SECOND,
        errors: PER_SECOND,
        p50Ms: PER_SECOND,
        p99Ms: PER_SECOND,
        connections: PER_SECOND,
        memoryBytes: PER_SECOND,
      }),
      description: `At most ${SECONDS_MAX} seconds, the oldest first; null for no value`,
    },
  }),
} as const;

export const MONITORING_OPERATIONS: OperationParts = {
  metrics: {
    description: 'The field Accept selects the format.',
    responses: {
      200: {
        description: 'The metrics',
        content: {
          'text/plain; version=0.0.4; charset=utf-8': { schema: TEXT },
          'application/openmetrics-text; version=1.0.0; charset=utf-8': { schema: TEXT },
        },
      },
    },
  },
  openApi: { responses: { 200: json('The document', { type: 'object' }) } },
  memberStatus: {
    description: 'A query is refused with 400.',
    responses: { 200: json('The status', named('Status')) },
  },
};
