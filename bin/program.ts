/**
 * The content of the bundle, which contains every part of this package: the command line, the
 * library that other programs import, and the thread that reads a configuration. Loading it starts
 * nothing.
 */
export { runCli } from '../src/cli/main.ts';
export * from '../src/index.ts';
export { answerReadings } from '../src/member/reading-thread-worker.ts';
