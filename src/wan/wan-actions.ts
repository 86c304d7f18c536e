/**
 * WAN replication (group WAN): control of one or all publishers, added publishers, and messages
 * from other members. If servers store the data, no member sees all changes, so every call is
 * refused.
 */
import { GridError } from '../base/errors.ts';
import { Span } from '../base/span.ts';
import { fileText } from '../config/file-text.ts';
import { lineOf } from '../config/finding.ts';
import { FindingList } from '../config/finding-list.ts';
import { pathOf } from '../config/settings.ts';
import { INDEPENDENT } from '../http/response-delay.ts';
import { readBasicField } from '../security/access-control.ts';
import { type AdministrativeCall, refusalOf, type Work } from '../surface/administrative-call.ts';
import { respondJson } from '../surface/json.ts';
import { RETRY_LATER } from '../surface/outcome-response.ts';
import type { Action, Call } from '../surface/route.ts';
import type { WanCalls } from '../surface/services.ts';
import { auditedUser } from '../telemetry/audit.ts';
import type { PublisherStatus, ReceiveResult, WanPublisherControl } from './wan-service.ts';

/**
 * Bytes that a message may have beyond `body-bytes-max`, for the fields around a value of that
 * length.
 */
export const MESSAGE_BYTES_FURTHER = 1_048_576;
/** Maximum length of the name of a replication or publisher, in bytes. */
export const NAME_BYTES_MAX = 65_536;

export const pause = publisherWork('WAN publisher paused', (publisher) => publisher.pause());
export const resume = publisherWork('WAN publisher resumed', (publisher) => publisher.resume());
export const stop = publisherWork('WAN publisher stopped', (publisher) => publisher.stop());
export const clear = wanWork((wan, call) => {
  attempt(call, () => {
    call.await(wan.clear(textOf(call, 2), textOf(call, 3)), (error) => {
      if (error !== undefined) call.fail(error);
      else call.succeed({ message: 'WAN replication queues are cleared.' });
    });
  });
});
export const remove = wanWork((wan, call) => {
  attempt(call, () => {
    call.await(wan.remove(textOf(call, 2), textOf(call, 3)), (failed) => {
      if (failed === undefined) call.succeed({ message: 'WAN publisher removed.' });
      else refuse(call, failed);
    });
  });
});
export const add = wanWork(addConfig);
export const syncMap = taskWork('Sync initiated', (wan, call) =>
  wan.synchronise(textOf(call, 2), textOf(call, 3), call.parameter(4)),
);
export const syncAllMaps = taskWork('Sync initiated', (wan, call) =>
  wan.synchronise(textOf(call, 2), textOf(call, 3), undefined),
);
export const checkMap = taskWork('Consistency check initiated', (wan, call) =>
  wan.check(textOf(call, 2), textOf(call, 3), call.parameter(4)),
);

/** Responds with the progress of the synchronisation or check with the uuid in the path. */
export function progress(call: Call): void {
  const { exchange, services } = call;
  const { wan, dialect } = services;
  const uuid = call.name.toBuffer().toString();
  const status = wan?.progressOf(uuid);
  if (status !== undefined) {
    const { entriesNotTaken, ...original } = status;
    const result = dialect.reportsEntriesNotTaken ? status : original;
    return respondJson(call, { status: 'success', result });
  }
  const refusal =
    wan === undefined
      ? withoutWan(call.describe())
      : new GridError('WAN_TASK_UNKNOWN', { uuid: uuid.slice(0, UUID_LENGTH_SHOWN) });
  exchange.refuseWith(refusal.code, refusal.message, dialect.statusOf(refusal));
}

export function publishers(call: Call): void {
  const { wan } = call.services;
  if (wan === undefined) return refuseWithoutWan(call);
  respondJson(call, { publishers: wan.publishers().map(inOrder) });
}

/**
 * Receives a message from another member, in any cluster state but PASSIVE. The audit log gets a
 * line for the connection's first message, unless the connection's login has one, and for every
 * failure. The statuses do not depend on the dialect, because only members read them.
 */
export const receive: Action = (call) => {
  const { exchange, services } = call;
  const { wan, cluster } = services;
  if (wan === undefined) {
    auditFailure(call, 409);
    return refuseWithoutWan(call);
  }
  if (!cluster.acceptsWrites) {
    auditFailure(call, 503);
    const action = call.describe();
    return exchange.refuse('CLUSTER_PASSIVE', { action }, RETRY_LATER, 503);
  }
  call.await(wan.receive(exchange.request.body), (answer) => respondTo(call, wan, answer));
};

function respondTo(call: Call, wan: WanCalls, answer: ReceiveResult): void {
  const { exchange, services } = call;
  const { error } = answer;
  if (error !== undefined) {
    auditFailure(call, error.status);
    if (error.code === 'WAN_MESSAGE_TOO_LONG') {
      exchange.note(error.code, error.message);
      return exchange.respondEmpty(error.status, INDEPENDENT, 0);
    }
    const fields = error.status === 503 ? RETRY_LATER : undefined;
    return exchange.refuseWith(error.code, error.message, error.status, fields);
  }
  const isFirst = !wan.senders.has(exchange.session);
  wan.senders.add(exchange.session);
  if (isFirst && services.access.memberLogin === undefined) writeAudit(call, 200);
  const { body, partition } = answer;
  exchange.respondBytes(MESSAGE_TYPE, new Span().set(body, 0, body.length), partition, 0);
}

function auditFailure(call: Call, status: number): void {
  call.services.wan?.senders.add(call.exchange.session);
  writeAudit(call, status);
}

function writeAudit(call: Call, status: number): void {
  const { exchange, services } = call;
  const login = readBasicField(exchange.request.authorization);
  const user = login && auditedUser(login.user);
  const address = exchange.session.peerAddress;
  services.telemetry.audit.write({ user, address, action: call.describe(), status });
}

function publisherWork(message: string, run: (publisher: WanPublisherControl) => void): Work {
  return wanWork((wan, call) => {
    attempt(call, () => {
      run(wan.publisherOf(textOf(call, 2), textOf(call, 3)));
      call.succeed({ message });
    });
  });
}

/** Runs the work; if it throws a GridError, refuses the call with it. */
function attempt(call: AdministrativeCall, work: () => void): void {
  try {
    work();
  } catch (error) {
    call.fail(refusalOf(error));
  }
}

/** Starts a background task and responds with its uuid. */
function taskWork(
  message: string,
  begin: (wan: WanCalls, call: AdministrativeCall) => string,
): Work {
  return wanWork((wan, call) => {
    attempt(call, () => call.succeed({ message, uuid: begin(wan, call) }));
  });
}

function textOf(call: AdministrativeCall, index: number): string {
  return call.parameter(index).toString();
}

/** Adds publishers. The argument is JSON of at most ADDED_TEXT_BYTES_MAX. */
function addConfig(wan: WanCalls, call: AdministrativeCall): void {
  const problems = new FindingList();
  const read = fileText('configuration', call.argument, problems);
  if (read === undefined) return refuseConfig(call, problems.listed.map(lineOf));
  call.await(wan.add(read.text), (outcome) => {
    if ('faults' in outcome) return refuse(call, outcome);
    const { addedPublisherIds, ignoredPublisherIds } = outcome;
    const message = 'WAN configuration added.';
    call.succeed({ message, addedPublisherIds, ignoredPublisherIds });
  });
}

function refuse(
  call: AdministrativeCall,
  { faults, refusal }: { readonly faults: readonly string[]; readonly refusal?: GridError },
): void {
  if (refusal !== undefined) call.fail(refusal);
  else refuseConfig(call, faults);
}

function refuseConfig(call: AdministrativeCall, faults: readonly string[]): void {
  const { badValueStatus } = call.services.dialect;
  call.refuse('CONFIG_INVALID', { faults: faults.join('; ') }, badValueStatus);
}

function wanWork(run: (wan: WanCalls, call: AdministrativeCall) => void): Work {
  return (call) => {
    const { wan } = call.services;
    if (wan === undefined) call.fail(withoutWan(call.action));
    else run(wan, call);
  };
}

function refuseWithoutWan(call: Call): void {
  call.exchange.refuse('WAN_ELSEWHERE', { action: call.describe(), setting: pathOf('engineUrl') });
}

function withoutWan(action: string): GridError {
  return new GridError('WAN_ELSEWHERE', { action, setting: pathOf('engineUrl') });
}

/** Returns the status with its fields in the order of the response. */
function inOrder(status: PublisherStatus): PublisherStatus {
  return {
    wanReplicationName: status.wanReplicationName,
    wanPublisherId: status.wanPublisherId,
    clusterName: status.clusterName,
    state: status.state,
    queueSize: status.queueSize,
    queueCapacity: status.queueCapacity,
    queueBytes: status.queueBytes,
    eventsSent: status.eventsSent,
    eventsDropped: status.eventsDropped,
    eventsRejected: status.eventsRejected,
    lagMillis: status.lagMillis,
    lastError: status.lastError,
  };
}

/** Number of characters of an unknown uuid that the response repeats. */
const UUID_LENGTH_SHOWN = 100;
const TYPE = Buffer.from('application/octet-stream');
const MESSAGE_TYPE = new Span().set(TYPE, 0, TYPE.length);
