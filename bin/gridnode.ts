#!/usr/bin/env node
/** The executable. Everything is behind runCli; this ends the process with its exit code. */
import './v8-flags.ts';
import { runCli } from '../src/cli/main.ts';

process.exit(await runCli(process.argv.slice(2)));
