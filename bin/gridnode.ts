/**
 * Runs the program from its sources. runCli does all the work; this file ends the process with its
 * exit code. Tested by integration/process.spec.ts.
 */
import '../src/cli/node-version.ts';
import '../src/cli/v8-flags.ts';
import { runCli } from '../src/cli/main.ts';

runCli(process.argv.slice(2)).then((exitCode) => process.exit(exitCode));
