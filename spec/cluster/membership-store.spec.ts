/** The in-memory store, which the specs of the cluster use, keeps the contract. */
import { FakeClock } from '../fake-clock.ts';
import { describeMemberStore } from './membership-store.case.ts';
import { MemoryMembershipStore } from './memory-membership-store.ts';

describeMemberStore('in memory', async () => {
  const clock = new FakeClock();
  return {
    store: new MemoryMembershipStore(() => clock.wall()),
    pass: async (ms) => clock.advance(ms),
    close: async () => {},
  };
});
