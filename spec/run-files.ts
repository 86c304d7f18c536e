/**
 * Runs test files, PROCESSES at a time, in the order in which they are given, and prints the output
 * of the reporter `spec`, then the slowest suites (for a group: its files) and the slowest test, by
 * the time that they took in this run, and last the failures again, cut off, so that the end of a
 * long output has them. Usage: `run-files.ts PROCESSES [FILE...]`; without files it
 * runs the groups.
 */
import { Readable } from 'node:stream';
import { run } from 'node:test';
import { spec, type TestEvent } from 'node:test/reporters';
import { GROUPS } from './groups/groups.ts';

const SUITES_MAX = 10;
/** Time limit for a file: one that runs longer is ended and fails. */
const HUNG_MS = 1_200_000;

interface Duration {
  readonly name: string;
  readonly ms: number;
}

const FAILURES_MAX = 5;
const FAILURE_LINES_MAX = 15;

const suites: Duration[] = [];
const failures: string[] = [];
let slowest: Duration = { name: '', ms: 0 };
/** Names of the suites and of the test that is reported. */
let path: string[] = [];

const [processes, ...given] = process.argv.slice(2);
const groups = Object.keys(GROUPS).map((name) => `spec/groups/${name}.group.ts`);
const events = run({
  files: given.length > 0 ? given : groups,
  concurrency: Number(processes),
  timeout: HUNG_MS,
});
for await (const text of Readable.from(recorded(events)).pipe(new spec()))
  process.stdout.write(text);
suites.sort((one, other) => other.ms - one.ms);
const lines = suites.slice(0, SUITES_MAX).map(lineOf);
console.log(`\nslowest suites:\n\n${lines.join('\n')}\n\nslowest test:\n\n${lineOf(slowest)}`);
for (const text of failures.slice(0, FAILURES_MAX)) console.log(`\nfailed: ${text}`);

/** Yields the events, and records the durations in them. */
async function* recorded(all: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  for await (const event of all) {
    const { type, data } = event;
    if (type === 'test:start') path = [...path.slice(0, data.nesting), data.name];
    if (type === 'test:fail') process.exitCode = 1;
    if (type === 'test:pass' || type === 'test:fail') {
      const { duration_ms: ms, type: kind } = data.details;
      const name = [...path.slice(0, data.nesting), data.name].join(' › ');
      if (data.nesting === 0) suites.push({ name, ms });
      if (kind !== 'suite' && ms > slowest.ms) slowest = { name, ms };
      // That a test within it has failed is no failure of its own.
      if (type === 'test:fail' && !/subtests? failed/.test(data.details.error.message)) {
        failures.push(`${name}\n${reasonOf(data.details.error)}`);
      }
    }
    yield event;
  }
}

/** Returns the first lines of the error's message. */
function reasonOf({ cause, message }: Error): string {
  const text = cause instanceof Error ? cause.message : message;
  return text.split('\n').slice(0, FAILURE_LINES_MAX).join('\n');
}

function lineOf({ name, ms }: Duration): string {
  return `${(ms / 1000).toFixed(1).padStart(7)} s  ${name}`;
}
