/**
 * `gridnode wan sync`, `check` and `progress`: start tasks in the member, and show their progress.
 * Tested by integration/wan-sync.spec.ts.
 */

import { setTimeout as passed } from 'node:timers/promises';
import { counted } from '../base/quantities.ts';
import { ROUTES } from '../member/routes.ts';
import type { Route } from '../surface/route.ts';
import type { TaskStatus } from '../wan/wan-status.ts';
import type { Client } from './client.ts';
import { EXIT_CLEAN, EXIT_FAILED, type ExitCode } from './exit-code.ts';
import type { CallResponse } from './member-calls.ts';
import type { Streams } from './output.ts';
import { Progress } from './progress.ts';

/** Interval between two queries of the progress, in ms. */
const POLL_MS = 250;

export interface WaitOptions {
  /** Whether to wait for the end. */
  readonly wait?: true;
}

export interface TaskOptions extends WaitOptions {
  readonly replication?: string;
  readonly publisher?: string;
}

/** Sends the map, or all maps that refer to the replication. */
export async function sync(
  client: Client,
  streams: Streams,
  map: string | undefined,
  isAll: boolean,
  options: TaskOptions,
): Promise<ExitCode> {
  if (map === undefined && !isAll) throw new TypeError('Cannot sync nothing: name a map, or --all');
  if (map !== undefined && isAll) {
    throw new TypeError(`Cannot sync ${JSON.stringify(map)} and --all: give one of them`);
  }
  const row = isAll ? ROUTES.syncAllMaps : ROUTES.syncMap;
  return await begin(client, streams, row, map, options);
}

/** Prints the progress of a synchronisation or check. */
export async function progress(
  client: Client,
  streams: Streams,
  uuid: string,
  { wait }: WaitOptions,
): Promise<ExitCode> {
  if (wait) return await follow(client, streams, uuid);
  const show = (response: CallResponse) => lineOf(taskOf(response));
  return await client.callMember([ROUTES.taskProgress, show], uuid);
}

/** Begins a synchronisation or check. */
export async function begin(
  client: Client,
  streams: Streams,
  row: Route,
  map: string | undefined,
  { replication, publisher = '', wait }: TaskOptions,
): Promise<ExitCode> {
  const name = replication ?? (await onlyReplication(client));
  if (typeof name === 'number') return name;
  const parameters = [name, publisher, ...(map === undefined ? [] : [map])];
  const show = ({ message = 'done', uuid = '' }: CallResponse) => `${message} ${uuid}`;
  if (!wait) return await client.callMember([row, show], ...parameters);
  const response = await client.responseTo(row, ...parameters);
  if (typeof response === 'number') return response;
  return await follow(client, streams, response.uuid ?? '');
}

/** The name of the only replication of the member, or the exit code of a refusal. */
async function onlyReplication(client: Client): Promise<string | ExitCode> {
  const response = await client.responseTo(ROUTES.publishers);
  if (typeof response === 'number') return response;
  const all = (response.publishers ?? []).map(({ wanReplicationName }) => wanReplicationName);
  const names = [...new Set(all)];
  if (names.length === 1) return names[0]!;
  const hint = names.length === 0 ? 'the member has none' : `give one of ${names.join(', ')}`;
  throw new TypeError(`Cannot choose a WAN replication without --replication: ${hint}`);
}

/** Waits for the end; returns 1 if the task failed, or a check found a difference. */
async function follow(client: Client, streams: Streams, uuid: string): Promise<ExitCode> {
  const display = new Progress(streams, uuid);
  try {
    for (;;) {
      const response = await client.responseTo(ROUTES.taskProgress, uuid);
      if (typeof response === 'number') return response;
      const status = taskOf(response);
      if (status.stage === 'FINISHED' || status.stage === 'FAILED') {
        display.end();
        await client.printResult(lineOf(status), response);
        const isClean = status.stage === 'FINISHED' && (status.differentLeaves ?? 0) === 0;
        return isClean ? EXIT_CLEAN : EXIT_FAILED;
      }
      display.show(`${status.stage} ${status.progress} %`);
      await passed(POLL_MS);
    }
  } finally {
    display.end();
  }
}

function taskOf({ result }: CallResponse): TaskStatus {
  return result as unknown as TaskStatus;
}

function lineOf(status: TaskStatus): string {
  const { stage, progress: percent, wanReplicationName, wanPublisherId, message } = status;
  const { checkedPartitions, differentPartitions, checkedLeaves, differentLeaves } = status;
  const notTaken = status.entriesNotTaken ?? 0;
  const isCompared = checkedPartitions !== undefined && checkedPartitions >= 0;
  return [
    `${stage} ${percent} %`,
    `${wanReplicationName} ${wanPublisherId}`,
    ...(isCompared
      ? [
          `${differentPartitions} of ${counted(checkedPartitions, 'partition')} differ`,
          `${differentLeaves} of ${counted(checkedLeaves ?? 0, 'leaf', 'leaves')}`,
          counted(status.entriesToSync ?? 0, 'entry to sync', 'entries to sync'),
        ]
      : []),
    ...(notTaken > 0 ? [counted(notTaken, 'entry not taken', 'entries not taken')] : []),
    ...(message === undefined ? [] : [message]),
  ].join('  ');
}
