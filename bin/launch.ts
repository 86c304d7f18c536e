#!/usr/bin/env sh
/**
 * The executable `gridnode`: runs the program from its compiled code, and keeps that code if there is
 * none yet. A shell reads the second line, which Makefile adds and which starts Node with a flag. Node
 * maps stack traces to source lines only in modules that it loads itself, so with --enable-source-maps
 * Node loads the program. Tested by peers/build-output.peers.ts.
 */
import '../src/cli/node-version.ts';
import '../src/cli/v8-flags.ts';
import nodeModule from 'node:module';
import { join } from 'node:path';
import { compileProgram } from './compiled-program.ts';
import type { runCli } from './program.ts';

/** Time after which a member has started, and its code is kept (about 15 ms, once), in ms. */
const STARTED_MS = 5000;

const file = join(import.meta.dirname, 'program.js');
const words = process.argv.slice(2);
const isMember = words[0] === 'serve';
const compiled = process.sourceMapsEnabled
  ? undefined
  : compileProgram(file, isMember ? 'serve' : 'command');
const program = (compiled?.run() ?? nodeModule.createRequire(file)(file)) as {
  readonly runCli: typeof runCli;
};
if (isMember) setTimeout(() => compiled?.keep(), STARTED_MS).unref();
program.runCli(words).then((exitCode) => {
  if (!isMember) compiled?.keep();
  process.exit(exitCode);
});
