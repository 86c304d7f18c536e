/**
 * When a synchronisation or check may begin, and the log line of its end: the same for a member that
 * stores its own data (wan-tasks.ts) and for a cluster on servers (server-tasks.ts).
 * Tested by check.spec.ts.
 */
import { GridError } from '../base/errors.ts';
import { counted } from '../base/quantities.ts';
import { isReservedMap } from '../base/reserved-map.ts';
import type { WanPublisherOptions } from './wan-config.ts';
import type { WanLog } from './wan-engine.ts';
import type { MapTree, WanMapRef } from './wan-maps.ts';

/** Maximum number of remembered synchronisations and checks. */
export const TASKS_MAX = 100;

/** A publisher as a task names it. */
interface NamedPublisher {
  readonly replication: string;
  readonly id: string;
  readonly options: WanPublisherOptions;
}

/** Throws GridError WAN_MAP_UNKNOWN unless the map has a reference to the publisher's replication. */
export function checkMap(
  { replication }: Pick<NamedPublisher, 'replication'>,
  map: Buffer,
  action: string,
  ref: WanMapRef | undefined,
): void {
  if (!isReservedMap(map) && ref !== undefined) return;
  throw new GridError('WAN_MAP_UNKNOWN', { action, map: String(map), replication });
}

/** Throws GridError WAN_CHECK_OFF unless publisher and map have checks. */
export function checkComparable(
  { replication, id, options }: NamedPublisher,
  map: Buffer,
  { isOn }: MapTree,
): void {
  if (options.consistencyCheckStrategy === 'NONE') {
    const path = `wan-replication.${replication}.batch-publisher.${id}`;
    const setting = `${path}.sync.consistency-check-strategy is NONE`;
    throw new GridError('WAN_CHECK_OFF', { map: String(map), setting });
  }
  if (isOn) return;
  const setting = `map.${map}.merkle-tree.enabled is false`;
  throw new GridError('WAN_CHECK_OFF', { map: String(map), setting });
}

/** Returns the error for a task while another one is in progress. */
export function taskUnderWay(
  action: string,
  { isCheck, uuid }: { readonly isCheck: boolean; readonly uuid: string },
): GridError {
  const other = isCheck ? 'check' : 'synchronisation';
  return new GridError('WAN_TASK_UNDER_WAY', { action, other, uuid });
}

export function logFinished(log: WanLog, fields: object, what: string, notTaken: number): void {
  if (notTaken === 0) return log.info(fields, `${what} finished`);
  const entries = counted(notTaken, 'entry', 'entries');
  const text = `the target did not take ${entries}, as its policy kept its own`;
  log.warn({ ...fields, entriesNotTaken: notTaken }, `${what} finished: ${text}`);
}
