/**
 * Builders for the kinds of operations and rows in the table of the surface.
 * Tested by surface.spec.ts.
 */
import type { EndpointGroup } from '../config/endpoint-group.ts';
import { type Work, withParameters } from './administrative-call.ts';
import type { Action, DataPermission, Operation, Permission, Route } from './route.ts';
import { unserved, unservedWork } from './unserved-endpoints.ts';

/** An operation that reads a map or a queue. */
export function reading(
  permission: DataPermission,
  summary: string,
  run: Action,
  statuses: readonly number[],
): Operation {
  return { ...PLAIN, summary, permission, statuses, run };
}

/** An operation that changes a map or a queue. */
export function changing(
  permission: DataPermission,
  summary: string,
  run: Action,
  statuses: readonly number[],
): Operation {
  return { ...PLAIN, summary, permission, changesData: true, statuses, run };
}

/**
 * An administrative operation: a POST with the credentials and the parameters in its body.
 * `statuses`: in addition to 200 and 400; `bytesMax`: limit of every parameter.
 */
export function administering(
  summary: string,
  parameters: readonly string[],
  work: Work,
  statuses: readonly number[] = [],
  bytesMax?: number,
): Operation {
  return {
    ...PLAIN,
    summary,
    permission: 'credentials',
    parameters,
    statuses: [200, ...statuses],
    run: withParameters(parameters.length, work, bytesMax),
  };
}

/** An administrative operation that this member does not implement. */
export function unservedWith(summary: string, parameters: readonly string[]): Operation {
  return administering(summary, parameters, unservedWork, [501]);
}

/** An operation that reads information other than maps and queues. */
export function informing(
  summary: string,
  run: Action,
  statuses: readonly number[] = [200],
): Operation {
  return { ...PLAIN, summary, permission: 'user', statuses, run };
}

export function unservedReading(summary: string): Operation {
  return informing(summary, unserved, [501]);
}

/**
 * An operation that receives another member's message, which may be longer than a client's content.
 */
export function receiving(
  summary: string,
  run: Action,
  furtherContentBytes: number,
  statuses: readonly number[],
): Operation {
  return { ...PLAIN, summary, permission: 'member', furtherContentBytes, statuses, run };
}

/** An operation for load balancers and probes. */
export function probing(
  permission: Extract<Permission, 'anyone' | 'user-for-health'>,
  summary: string,
  run: Action,
): Operation {
  return { ...PLAIN, summary, permission, statuses: [200], run };
}

/** Returns rows with one method each. */
export function rows(
  group: EndpointGroup,
  method: 'GET' | 'POST',
  operations: Readonly<Record<string, Operation>>,
): Route[] {
  return Object.entries(operations).map(([path, each]) => ({ path, group, [method]: each }));
}

const PLAIN = { changesData: false, readsQuery: false, audited: 'path' } as const;
