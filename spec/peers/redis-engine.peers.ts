/** The engine's contract on a real Redis or Valkey server. */
import { after, before } from 'node:test';
import { engineSuite } from '../engine/engine.case.ts';
import { holdSuite } from '../engine/holds.case.ts';
import { EngineServer } from './engine-server.ts';
import { storeSubject } from './store-engines.ts';

let server: EngineServer;

before(async () => {
  server = await EngineServer.start();
});

after(() => server.stop());

const name = 'an engine on one server';
engineSuite(name, () => storeSubject(server.port));
holdSuite(name, () => storeSubject(server.port));
