/** The membership store on a real Redis or Valkey server: its contract, and members that use it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describeMemberStore } from '../cluster/membership-store.case.ts';
import { describeMembers } from '../engine/redis/members.case.ts';
import { serverForTests } from './engine-server.ts';
import { startFaultyServer, storeEngine } from './store-engines.ts';

const server = serverForTests();
let clusterCount = 0;

describeMemberStore('on one server', async () => {
  const { port } = server;
  const engine = await storeEngine({ port, clusterName: `store ${clusterCount++}` });
  return { store: engine.membershipStore, pass: sleep, close: () => engine.close() };
});

describeMembers('on a real server', startFaultyServer);
