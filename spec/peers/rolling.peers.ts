/**
 * Two members behind a load balancer are restarted one after the other while clients keep sending:
 * no request fails. haproxy polls each member's `health/ready`; the shutdown delay gives it the
 * time for this. nginx has no such checks: it uses the other member if a connection is refused, for
 * all requests but polls and deletes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { RestartedMember, sending } from '../integration/rolling.ts';
import { ExampleProxy } from './example-proxies.ts';

const STOPS = Number(process.env.SOAK_STOPS ?? 2);
const CLIENTS = 16;

for (const program of ['haproxy', 'nginx'] as const) {
  test(`${program} loses no request while members are restarted ${STOPS} times`, async (t) => {
    const members = [0, 1].map(() => new RestartedMember('--shutdown-delay-seconds', '1'));
    await Promise.all(members.map((member) => member.start()));
    const proxy = await ExampleProxy.start(program, members);
    t.after(async () => {
      await Promise.allSettled(members.map((member) => member.stop()));
      await proxy.stop();
    });
    const end = sending({ port: proxy.port, clients: CLIENTS, inFlight: 1 });
    for (let stop = 0; stop < STOPS; stop++) {
      await sleep(500);
      const member = members[stop % members.length] as RestartedMember;
      await member.stop();
      await member.start();
    }
    // The balancer may not yet use the member that was started last.
    await sleep(500);
    const { answered, lost, refused, others } = await end();
    t.diagnostic(`${answered} answered`);
    assert.deepEqual({ lost, refused, others }, { lost: 0, refused: 0, others: [] });
    assert(answered > 100, `${answered} answered`);
    await Promise.all(members.map((member) => member.stop()));
  });
}
