import { runGroup } from './groups.ts';

runGroup('persistence-disk-faults');
