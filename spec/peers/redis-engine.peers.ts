/** The engine's contract on a real Redis or Valkey server. */
import { engineSuite } from '../engine/engine.case.ts';
import { holdSuite } from '../engine/holds.case.ts';
import { withMarks } from '../engine/marked.ts';
import { serverForTests } from './engine-server.ts';
import { storeSubject } from './store-engines.ts';

const server = serverForTests();

const name = 'an engine on one server';
engineSuite(name, () => storeSubject(server.port), true);
holdSuite(name, () => storeSubject(server.port));
engineSuite(`${name} that marks all changes`, () => withMarks(storeSubject(server.port)), true);
