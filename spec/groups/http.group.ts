import { runGroup } from './groups.ts';

runGroup('http');
