import { runGroup } from './groups.ts';

runGroup('engine');
