/**
 * Maps and queues over HTTP: set, get, delete, clear, offer, poll with a time limit, size (seed
 * section 4). Tested by surface/dialect.spec.ts.
 */
import { NO_PARTITION } from '../base/partition-number.ts';
import type { Waiter } from '../cluster/cluster.ts';
import type { Engine } from '../engine/engine.ts';
import { CONTENT_TYPE } from '../http/header-fields.ts';
import type { Action, Actions, Call, WaitingAction } from '../surface/action.ts';
import type { Dialect } from '../surface/dialect.ts';
import { TEXT_PLAIN } from '../surface/responses.ts';
import { type DATA_ROUTES, POLL_SECONDS_MAX } from './data-routes.ts';
import type { MapLifetimes } from './map-lifetimes.ts';
import { QueuePoll } from './queue-poll.ts';

interface DataActionParts {
  readonly engine: Engine;
  /** Lifetimes of the maps' entries. */
  readonly lifetimes: MapLifetimes;
  /** Waiting polls. */
  readonly waiting: Set<Waiter>;
  readonly dialect: Pick<Dialect, 'badValueStatus'>;
}

export function dataActions(parts: DataActionParts): Actions<typeof DATA_ROUTES> {
  const { engine, lifetimes, waiting, dialect } = parts;

  /** Offers the last part of the path as an item without a content type. */
  const offerFromPath: Action = (call) => engine.offer(call.name, call.key, TEXT_PLAIN, call);

  /** Succeeds without the engine. */
  const succeed: Action = ({ request }) => request.respondEmpty(200, NO_PARTITION, 0);

  /**
   * Polls the queue. The last part of the path is the time to wait, in seconds; zero or less means
   * no wait.
   */
  const poll: WaitingAction = {
    waits({ request, keyStart, keyEnd }) {
      const { bytes, start } = request.head.target;
      return keyEnd !== keyStart + 1 || bytes[start + keyStart] !== DIGIT_0;
    },
    run(call) {
      const { request } = call;
      const text = call.key.toBuffer().toString('latin1');
      const seconds = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
      if (!(seconds <= POLL_SECONDS_MAX)) {
        const seen = JSON.stringify(text);
        const values = { seen, most: POLL_SECONDS_MAX };
        request.refuse('POLL_TIME_INVALID', values, undefined, dialect.badValueStatus);
      } else if (request.session.hasInputEnded) request.respondEmpty(204, NO_PARTITION, 0);
      else pollOf(call).begin(call.name, seconds > 0 && request.mayWait ? seconds * 1000 : 0);
    },
  };

  /** Returns the poll of the call's request object; its first call that polls creates it. */
  const pollOf = (call: Call): QueuePoll => {
    if (call.wait instanceof QueuePoll) return call.wait;
    const created = new QueuePoll(call, engine, waiting);
    call.wait = created;
    return created;
  };

  return {
    getEntry: (call) => engine.get(call.name, call.key, call),
    setEntry(call) {
      const { name, key, request } = call;
      const type = request.head.field(CONTENT_TYPE);
      engine.set(name, key, request.content, type, lifetimes.of(name), undefined, call);
    },
    deleteEntry: (call) => engine.delete(call.name, call.key, undefined, call),
    clearMap: (call) => engine.clear(call.name, call),
    offer(call) {
      const { request } = call;
      engine.offer(call.name, request.content, request.head.field(CONTENT_TYPE), call);
    },
    queueSize: (call) => engine.queueSize(call.name, call),
    poll,
    pollWithGet: poll,
    offerFromPath,
    offerSize: offerFromPath,
    clearUnnamedMap: succeed,
    headOfMaps: succeed,
    headOfQueues: succeed,
  };
}

const DIGIT_0 = 0x30;
