/**
 * The OpenAPI 3.1 document, made from the rows of the table of the surface in the dialect in effect,
 * and from the parts in the files beside this one, by the names of the rows. A row determines the
 * path, parameters, statuses, tag and summary of its operation; a part has the schemas. All endpoint
 * groups are described, because a reload can enable them.
 */
import assert from 'node:assert';
import { ENDPOINT_GROUPS, type EndpointGroup } from '../../config/endpoint-group.ts';
import type { Route } from '../route.ts';
import { ADMINISTRATION_OPERATIONS, ADMINISTRATION_SCHEMAS } from './administration-operations.ts';
import { CP_OPERATIONS } from './cp-operations.ts';
import { DATA_OPERATIONS } from './data-operations.ts';
import {
  formSchemas,
  needsBasic,
  type OperationOptions,
  operationOf,
} from './described-operation.ts';
import { HEALTH_OPERATIONS, HEALTH_SCHEMAS } from './health-operations.ts';
import { MONITORING_OPERATIONS, MONITORING_SCHEMAS } from './monitoring-operations.ts';
import { PERSISTENCE_OPERATIONS } from './persistence-operations.ts';
import type { OperationParts } from './schema.ts';
import { SHARED_SCHEMAS, sharedResponses } from './shared-responses.ts';
import { V1_OPERATIONS } from './v1-operations.ts';
import { WAN_OPERATIONS, WAN_SCHEMAS } from './wan-operations.ts';

interface DocumentOptions extends OperationOptions {
  /** The first part of every path. */
  readonly segment: string;
  /** The version of the program. */
  readonly version: string;
}

/** The parts of all rows whose method is described. */
const OPERATION_PARTS: OperationParts = {
  ...DATA_OPERATIONS,
  ...V1_OPERATIONS,
  ...ADMINISTRATION_OPERATIONS,
  ...PERSISTENCE_OPERATIONS,
  ...WAN_OPERATIONS,
  ...CP_OPERATIONS,
  ...MONITORING_OPERATIONS,
  ...HEALTH_OPERATIONS,
};

const TAGS: Readonly<Record<EndpointGroup, string>> = {
  CLUSTER_READ: 'Reads the state of the member and its cluster',
  CLUSTER_WRITE: 'Changes the state and the configuration of the member and its cluster',
  HEALTH_CHECK: 'Health, for load balancers and probes',
  PERSISTENCE: 'Backups, and starts with damaged data',
  WAN: 'Replication to other clusters',
  DATA: 'Maps and queues',
  CP: 'The CP subsystem: sessions and fenced locks',
};

const DESCRIPTION = `Names and keys are bytes, percent-encoded in the path; a slash is sent as \`%2F\`. \
The content of an administrative request is a text: user, password and parameters, each encoded as a \
form value, separated by \`&\`. Without security, the user is the name of the cluster and the password \
is ignored.

All endpoint groups are described. A request to a disabled group gets 403.

Not described are HEAD, which is GET without the content; OPTIONS, which lists the methods of a path; \
PUT below \`rest/\`, which is POST; slashes in a key that are not encoded; a slash at the end of a \
path; and responses to paths and methods that do not exist.`;

/** Returns the document as JSON. `rows`: the rows of the dialect by the names of their actions. */
export function openApiDocument(
  rows: readonly (readonly [string, Route])[],
  options: DocumentOptions,
): string {
  const { segment, version, dialect } = options;
  const shared = sharedResponses(dialect);
  const paths: Record<string, Record<string, object>> = {};
  for (const [name, row] of rows) {
    if (row.method === 'HEAD') continue;
    const part = OPERATION_PARTS[name];
    if (part === undefined) assert.fail(`the operation "${name}" is described`);
    const path = `/${row.path}`;
    paths[path] ??= {};
    paths[path][row.method.toLowerCase()] = operationOf(name, row, part, shared, options);
  }
  return JSON.stringify({
    openapi: '3.1.0',
    info: {
      title: 'gridnode',
      summary: 'An in-memory data store: maps, queues, and administration of a member',
      description: DESCRIPTION,
      version,
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: `/${segment}` }],
    tags: Object.entries(TAGS).map(([name, description]) => {
      const isEnabled = ENDPOINT_GROUPS[name as EndpointGroup];
      return {
        name,
        description: `${description}. ${isEnabled ? 'Enabled' : 'Disabled'} by default`,
      };
    }),
    paths,
    components: componentsOf(options, shared),
  });
}

function componentsOf(
  options: DocumentOptions,
  responses: ReturnType<typeof sharedResponses>,
): object {
  return {
    schemas: {
      ...SHARED_SCHEMAS,
      ...formSchemas(),
      ...HEALTH_SCHEMAS,
      ...ADMINISTRATION_SCHEMAS,
      ...WAN_SCHEMAS,
      ...MONITORING_SCHEMAS,
    },
    responses: {
      Unreadable: {
        description:
          'The request is too long (414, 431) or has another version of HTTP (505). The response is ' +
          'empty',
      },
      ...Object.fromEntries([...responses.values()].map(({ name, response }) => [name, response])),
    },
    ...(needsBasic('user', options) || needsBasic('member', options)
      ? { securitySchemes: { basic: { type: 'http', scheme: 'basic' } } }
      : {}),
  };
}
