import { runGroup } from './groups.ts';

runGroup('config');
