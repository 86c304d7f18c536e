import { runGroup } from './groups.ts';

runGroup('member');
