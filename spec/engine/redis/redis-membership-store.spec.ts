/**
 * The contract of a cluster's store, kept by the one on servers: src/engine/redis, with functions
 * that do the same as its scripts.
 */
import { describeMemberStore } from '../../cluster/membership-store.case.ts';
import { FakeServer } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import { fakeStore } from '../../world/world-engines.ts';

describeMemberStore('on a fake server', async () => {
  const world = new World();
  const { engine } = fakeStore(world, new FakeServer(world).url);
  await world.during(engine.open());
  return {
    store: engine.membershipStore,
    pass: (ms) => world.pass(ms),
    close: () => world.during(engine.close()),
  };
});
