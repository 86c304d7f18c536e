/** Random steps of the cluster's store, on a fake server and on a real one. */
import assert from 'node:assert/strict';
import type { Random } from '../../bench/harness.ts';
import {
  CHANGE,
  FORGET,
  HEARTBEAT,
  JOIN,
  LEASE,
  LEAVE,
  STOP_ALL,
} from '../../src/engine/redis/member-scripts.ts';
import type { Script } from '../../src/engine/redis/scripts.ts';
import { shaOf } from '../world/fake-scripts.ts';
import type { FakeServer } from '../world/fake-server.ts';
import { CommandPair, type PlainReply } from './command-pair.ts';

const MEMBERS = 5;
const LEASE_MS = 3_600_000;
/** Numbers above it are times, which differ between the servers. */
const TIME_MIN = 1_000_000_000_000;
/** The places of a lease's rest, and of the revision and of the rest of a limit in a view. */
const LEASE_LEFT = 1;
const REVISION = 3;
const LEFT = 7;
/** Steps until the record is removed. */
const STEPS = 200;

/** Returns the number of steps. */
export async function memberRound(
  fake: FakeServer,
  port: number,
  random: Random,
  count: number,
): Promise<number> {
  const pair = new CommandPair(fake, port);
  const numbers = new Map<string, number>();
  let revisions: readonly [string, string] = ['0', '0'];
  const chosen = <Item>(...items: readonly Item[]): Item => items[random.below(items.length)]!;
  const step = ({ source }: Script, words: (revision: string) => readonly (string | number)[]) =>
    revisions.map((revision) => [
      ...['EVALSHA', shaOf(source), '1', '{0}record', 'channel'],
      ...words(revision).map(String),
    ]) as [string[], string[]];
  const next = (): [string[], string[]] => {
    const uuid = `uuid ${random.below(MEMBERS)}`;
    const address = `host ${random.below(MEMBERS)}`;
    const number = numbers.get(uuid) ?? 0;
    const leaseMs = chosen(LEASE_MS, LEASE_MS, LEASE_MS, 0);
    const version = chosen('5.7', '5.7', '5.7', '5.8');
    const stopsUpTo = random.below(50) === 0 ? number : 0;
    const isKnown = chosen(true, false);
    const isApplied = chosen(true, true, false);
    const admits = chosen(0, 0, 1);
    const limitMs = chosen(-1, 0, LEASE_MS);
    const join = () => [
      chosen('1', '1', '1', '2'),
      uuid,
      address,
      '1.2.3',
      chosen('', '1'),
      version,
      leaseMs,
      chosen('', '', '', '{"a":"\xc3\xa4"}'),
    ];
    const joined = join();
    switch (random.below(8)) {
      case 0:
      case 1:
        return step(JOIN, () => joined);
      case 2:
      case 3:
      case 4:
        return step(HEARTBEAT, (revision) => {
          const known = isKnown ? revision : 0;
          return [uuid, number, stopsUpTo, leaseMs, known, known, isApplied ? known : 0];
        });
      case 5:
        return step(CHANGE, (revision) => {
          return [uuid, number, isKnown ? revision : 1, '{"text":"\xc3\xa4"}', admits, limitMs];
        });
      case 6:
        return chosen(
          step(LEASE, (revision) => [uuid, number, isKnown ? revision : 0]),
          step(LEAVE, () => [uuid, number, stopsUpTo]),
          step(FORGET, () => [`${uuid}:${number}`]),
        );
      default:
        return random.below(20) === 0
          ? step(STOP_ALL, () => [uuid, number])
          : step(FORGET, () => [`${uuid}:${number - 1}`]);
    }
  };
  try {
    for (const { source } of [JOIN, HEARTBEAT, LEASE, LEAVE, CHANGE, STOP_ALL, FORGET]) {
      await pair.send(['SCRIPT', 'LOAD', source]);
    }
    for (let left = count; left > 0; left--) {
      if (left % STEPS === 0) await pair.send(['UNLINK', '{0}record']);
      const [own, real] = next();
      const replies = await pair.send(own, real);
      assert.deepEqual(masked(replies[0]), masked(replies[1]), JSON.stringify(own.slice(2)));
      const [kind, second, third] = Array.isArray(replies[0]) ? replies[0] : [];
      if (kind !== 'VIEW') continue;
      // A join returns the place before the view.
      const isJoin = own[1] === shaOf(JOIN.source);
      if (isJoin) numbers.set(own[6]!, Number(third));
      const at = REVISION + (isJoin ? 1 : 0);
      revisions = replies.map((reply) => `${(reply as PlainReply[])[at]}`) as [string, string];
      assert(second !== undefined);
    }
  } finally {
    pair.end();
  }
  return pair.count;
}

/** Replaces the times. */
function masked(reply: PlainReply): PlainReply {
  if (!Array.isArray(reply)) return reply;
  return reply.map((each, at) => {
    if (typeof each !== 'number') return each;
    if ([LEASE_LEFT, LEFT, LEFT + 1].includes(at) && each > 1000) return 'left';
    if (at === LEASE_LEFT && each <= 0) return 'over';
    return each > TIME_MIN ? 'time' : each;
  });
}
