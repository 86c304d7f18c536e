/**
 * WAN replication over HTTP: control of one or all publishers, added publishers, and messages from
 * other members.
 */
import { GridError } from '../base/errors.ts';
import { NO_PARTITION } from '../base/partition-number.ts';
import { Span } from '../base/span.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { AUTHORIZATION } from '../http/header-fields.ts';
import { readBasicField } from '../security/access-control.ts';
import type { Actions, Call, Work } from '../surface/action.ts';
import {
  type AdministrativeCall,
  type RefusedConfig,
  refusalOf,
} from '../surface/administrative-call.ts';
import type { Dialect } from '../surface/dialect.ts';
import { RETRY_LATER, respondJson } from '../surface/responses.ts';
import { auditedUser, type CountingAudit } from '../telemetry/audit.ts';
import type { WanPublisher } from './publisher.ts';
import type { WanReceiver } from './wan-receiver.ts';
import type { WanReplications } from './wan-replications.ts';
import type { WAN_ROUTES } from './wan-routes.ts';
import type { ReceiveResult } from './wan-status.ts';

/** The running replication as its calls use it. */
interface RunningWan extends Pick<WanReplications, 'publishers' | 'progressOf'> {
  /** See WanReplications. The members of a cluster on servers begin a task in common, so later. */
  synchronise(...sync: Parameters<WanReplications['synchronise']>): string | Promise<string>;
  check(...check: Parameters<WanReplications['check']>): string | Promise<string>;
  publisherOf(
    replication: string,
    publisherId: string,
  ): Pick<WanPublisher, 'pause' | 'resume' | 'stop'>;
}

/** Receives messages; loads the replication code if necessary. */
export type WanMessages = Pick<WanReceiver, 'receive'>;

/** WAN replication as its calls use it. */
export interface WanCalls {
  /** Undefined until the first publisher, or the first message of another member. */
  readonly running: RunningWan | undefined;
  /** Returns the running replication. Throws GridError WAN_UNKNOWN if there is no publisher at all. */
  runningOf(replication: string, publisherId: string): RunningWan;
  /** Adds the new publishers of a replication given as JSON. */
  add(text: string): Promise<
    | {
        readonly addedPublisherIds: readonly string[];
        readonly ignoredPublisherIds: readonly string[];
      }
    | RefusedConfig
  >;
  /**
   * Drops all events that are queued for a publisher; events in flight may still arrive. If the
   * queue outlives the process, resolves once a crash cannot restore them. Rejects with a GridError:
   * those of publisherOf, or WAN_CLEAR_NOT_KEPT and an unchanged queue.
   */
  clear(replication: string, publisherId: string): Promise<void>;
  /**
   * Removes an added publisher and its queue. Resolves like `add` if that fails. Rejects with the
   * errors of publisherOf.
   */
  remove(replication: string, publisherId: string): Promise<RefusedConfig | undefined>;
}

interface WanActionParts {
  readonly wan: WanCalls & WanMessages;
  readonly cluster: Pick<Cluster, 'acceptsWrites'>;
  readonly dialect: Dialect;
  readonly audit: Pick<CountingAudit, 'write'>;
  /** Whether other members log in with HTTP Basic. */
  readonly hasMemberLogin: boolean;
}

export function wanActions(parts: WanActionParts): Actions<typeof WAN_ROUTES> {
  const syncAllMaps = taskWork(parts, 'Sync initiated', (running, publisher) =>
    running.synchronise(...publisher, undefined),
  );
  return {
    pausePublisher: publisherWork(parts, 'WAN publisher paused', (each) => each.pause()),
    resumePublisher: publisherWork(parts, 'WAN publisher resumed', (each) => each.resume()),
    stopPublisher: publisherWork(parts, 'WAN publisher stopped', (each) => each.stop()),
    clearPublisher: wanWork(parts, (wan, call) => {
      call.awaitOrFail(wan.clear(...publisherOf(call)), () =>
        call.succeed({ message: 'WAN replication queues are cleared.' }),
      );
    }),
    removePublisher: wanWork(parts, (wan, call) => {
      call.awaitOrFail(wan.remove(...publisherOf(call)), (failed) => {
        if (failed === undefined) call.succeed({ message: 'WAN publisher removed.' });
        else refuse(call, failed);
      });
    }),
    addPublishers: wanWork(parts, addConfig),
    syncMap: taskWork(parts, 'Sync initiated', (running, publisher, call) =>
      running.synchronise(...publisher, call.parameter(4)),
    ),
    syncAllMaps,
    syncAllMapsToo: syncAllMaps,
    checkMap: taskWork(parts, 'Consistency check initiated', (running, publisher, call) =>
      running.check(...publisher, call.parameter(4)),
    ),
    taskProgress: (call) => respondProgress(parts, call),
    publishers(call) {
      respondJson(call, { publishers: parts.wan.running?.publishers() ?? [] });
    },
    receiveMessage: { run: (call) => receive(parts, call), waits: () => true },
  };
}

/** Responds with the progress of the synchronisation or check with the uuid in the path. */
function respondProgress({ wan, dialect }: WanActionParts, call: Call): void {
  const { request } = call;
  const uuid = call.name.toBuffer().toString();
  const status = wan.running?.progressOf(uuid);
  if (status !== undefined) {
    const { entriesNotTaken, ...original } = status;
    const result = dialect.reportsEntriesNotTaken ? status : original;
    return respondJson(call, { status: 'success', result });
  }
  const refusal = new GridError('WAN_TASK_UNKNOWN', { uuid: uuid.slice(0, UUID_LENGTH_SHOWN) });
  request.refuseWith(refusal.code, refusal.message, dialect.statusOf(refusal));
}

/**
 * Receives a message from another member, in any cluster state but PASSIVE. The audit log gets a
 * line for the connection's first message, unless the connection's login has one, and for every
 * failure. The statuses do not depend on the dialect, because only members read them.
 */
function receive(parts: WanActionParts, call: Call): void {
  const { request } = call;
  const { wan, cluster } = parts;
  if (!cluster.acceptsWrites) {
    request.session.isAudited = true;
    writeAudit(parts, call, 503);
    const action = call.describe();
    return request.refuse('CLUSTER_PASSIVE', { action }, RETRY_LATER, 503);
  }
  // The bytes are only valid during the call.
  const message = request.content.toBuffer();
  call.await(wan.receive(message), (answer) => respondTo(parts, call, answer));
}

function respondTo(parts: WanActionParts, call: Call, answer: ReceiveResult): void {
  const { request } = call;
  const { error } = answer;
  const isFirst = !request.session.isAudited;
  request.session.isAudited = true;
  if (error !== undefined) {
    writeAudit(parts, call, error.status);
    if (error.code === 'WAN_MESSAGE_TOO_LONG') {
      request.note(error.code, error.message);
      return request.respondEmpty(error.status, NO_PARTITION, 0);
    }
    const fields = error.status === 503 ? RETRY_LATER : undefined;
    return request.refuseWith(error.code, error.message, error.status, fields);
  }
  if (isFirst && !parts.hasMemberLogin) writeAudit(parts, call, 200);
  const { body, partition } = answer;
  const response = request.draft(200, partition);
  response.contentType = MESSAGE_TYPE;
  response.content = Span.of(body);
  request.send(response);
}

function writeAudit({ audit }: WanActionParts, call: Call, status: number): void {
  const { head, session } = call.request;
  const login = readBasicField(head.field(AUTHORIZATION));
  const user = login && auditedUser(login.user);
  audit.write({ user, address: session.peerAddress, action: call.describe(), status });
}

function publisherWork(
  parts: WanActionParts,
  message: string,
  run: (publisher: ReturnType<RunningWan['publisherOf']>) => void,
): Work {
  return wanWork(parts, (wan, call) => {
    const publisher = publisherOf(call);
    run(wan.runningOf(...publisher).publisherOf(...publisher));
    call.succeed({ message });
  });
}

/** Starts a background task and responds with its uuid. */
function taskWork(
  parts: WanActionParts,
  message: string,
  begin: (
    running: RunningWan,
    publisher: PublisherNames,
    call: AdministrativeCall,
  ) => string | Promise<string>,
): Work {
  return wanWork(parts, (wan, call) => {
    const publisher = publisherOf(call);
    const begun = begin(wan.runningOf(...publisher), publisher, call);
    if (typeof begun === 'string') call.succeed({ message, uuid: begun });
    else call.awaitOrFail(begun, (uuid) => call.succeed({ message, uuid }));
  });
}

/** Runs the work; if it throws a GridError, refuses the call with it. */
function wanWork(
  { wan }: WanActionParts,
  run: (wan: WanCalls, call: AdministrativeCall) => void,
): Work {
  return (call) => {
    try {
      run(wan, call);
    } catch (error) {
      call.fail(refusalOf(error));
    }
  };
}

type PublisherNames = readonly [replication: string, publisherId: string];

function publisherOf(call: AdministrativeCall): PublisherNames {
  return [call.parameter(2).toString(), call.parameter(3).toString()];
}

/** Adds publishers. The argument is JSON. */
function addConfig(wan: WanCalls, call: AdministrativeCall): void {
  const text = call.document();
  if (text === undefined) return;
  call.await(wan.add(text), (outcome) => {
    if ('faults' in outcome) return refuse(call, outcome);
    const { addedPublisherIds, ignoredPublisherIds } = outcome;
    const message = 'WAN configuration added.';
    call.succeed({ message, addedPublisherIds, ignoredPublisherIds });
  });
}

function refuse(call: AdministrativeCall, { faults, refusal }: RefusedConfig): void {
  if (refusal !== undefined) call.fail(refusal);
  else call.refuseConfig(faults);
}

/** Number of characters of an unknown uuid that the response repeats. */
const UUID_LENGTH_SHOWN = 100;
const MESSAGE_TYPE = Span.of('application/octet-stream');
