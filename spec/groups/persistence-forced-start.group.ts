import { runGroup } from './groups.ts';

runGroup('persistence-forced-start');
