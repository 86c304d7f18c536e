/** The contract of engines, kept by the engine on servers: src/engine/redis, on a fake server. */
import { worldSubject } from '../../world/world-engines.ts';
import { engineSuite } from '../engine.case.ts';
import { holdSuite } from '../holds.case.ts';

const name = 'an engine on one fake server';
engineSuite(name, () => worldSubject());
holdSuite(name, () => worldSubject());
