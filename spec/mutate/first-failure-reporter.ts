/** A reporter for node:test that prints the first failed test, and ends the process. */
import { writeSync } from 'node:fs';
import type { TestEvent } from 'node:test/reporters';

export default async function* firstFailure(events: AsyncIterable<TestEvent>) {
  for await (const { type, data } of events) {
    if (type !== 'test:fail' || (data.todo ?? false) !== false) continue;
    writeSync(1, `${data.name}\n`);
    process.exit(1);
  }
  yield '';
}
