import { runGroup } from './groups.ts';

runGroup('redis');
