import { runGroup } from './groups.ts';

runGroup('persistence-recovery');
