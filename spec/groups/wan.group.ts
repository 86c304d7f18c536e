import { runGroup } from './groups.ts';

runGroup('wan');
