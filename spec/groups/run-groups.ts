/**
 * Runs all groups, three at a time, and prints the output of the reporter `spec`, then the slowest
 * spec files and the slowest test, by the time that they took in this run.
 */
import { Readable } from 'node:stream';
import { run } from 'node:test';
import { spec, type TestEvent } from 'node:test/reporters';
import { GROUPS } from './groups.ts';

/** Number of processes: one mostly waits, and the others keep two processors busy. */
const PROCESSES = 3;
const FILES_MAX = 10;
/** The suite of a file has its path as its name (groups.ts). */
const FILE = /^spec\/.*\.spec\.ts$/;

interface Duration {
  readonly name: string;
  readonly ms: number;
}

const files: Duration[] = [];
let slowest: Duration = { name: '', ms: 0 };
/** Names of the suites and of the test that is reported. */
let path: string[] = [];

const groups = Object.keys(GROUPS).map((name) => `spec/groups/${name}.group.ts`);
const events = run({ files: groups, concurrency: PROCESSES });
for await (const text of Readable.from(recorded(events)).pipe(new spec()))
  process.stdout.write(text);
files.sort((one, other) => other.ms - one.ms);
const lines = files.slice(0, FILES_MAX).map(lineOf);
console.log(`\nslowest files:\n\n${lines.join('\n')}\n\nslowest test:\n\n${lineOf(slowest)}`);

/** Yields the events, and records the durations in them. */
async function* recorded(all: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  for await (const event of all) {
    const { type, data } = event;
    if (type === 'test:start') path = [...path.slice(0, data.nesting), data.name];
    if (type === 'test:fail') process.exitCode = 1;
    if (type === 'test:pass' || type === 'test:fail') {
      const { duration_ms: ms, type: kind } = data.details;
      const name = [...path.slice(0, data.nesting), data.name].join(' › ');
      if (FILE.test(data.name)) files.push({ name, ms });
      else if (kind !== 'suite' && ms > slowest.ms) slowest = { name, ms };
    }
    yield event;
  }
}

function lineOf({ name, ms }: Duration): string {
  return `${(ms / 1000).toFixed(1).padStart(7)} s  ${name}`;
}
