import { runGroup } from './groups.ts';

runGroup('commands');
