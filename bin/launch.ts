#!/usr/bin/env sh
/**
 * The executable `gridnode`: runs the program from its compiled code. A shell reads the second
 * line, which Makefile adds and which starts Node with a flag. Node maps stack traces to source
 * lines only in modules that it loads itself, so with --enable-source-maps Node loads the program.
 * Tested by peers/build-output.peers.ts.
 */
import '../src/cli/node-version.ts';
import '../src/cli/v8-flags.ts';
import nodeModule from 'node:module';
import { join } from 'node:path';
import { compileProgram } from './compiled-program.ts';
import type { runCli } from './program.ts';

const file = join(import.meta.dirname, 'program.js');
const program = (
  process.sourceMapsEnabled ? nodeModule.createRequire(file)(file) : compileProgram(file).run()
) as { readonly runCli: typeof runCli };
program.runCli(process.argv.slice(2)).then((exitCode) => process.exit(exitCode));
