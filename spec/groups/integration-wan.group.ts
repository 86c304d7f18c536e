import { runGroup } from './groups.ts';

runGroup('integration-wan');
