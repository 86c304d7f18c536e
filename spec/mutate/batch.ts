/** Runs the spec files of the command line in this process, as a group does. */
import { runFiles } from '../groups/groups.ts';

runFiles(process.argv.slice(2).map((file) => file.replace(/^spec\//, '')));
