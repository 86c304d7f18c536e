import { runGroup } from './groups.ts';

runGroup('bench');
