import { runGroup } from './groups.ts';

runGroup('persistence-disk-trouble');
