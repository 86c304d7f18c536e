/** A file that is written as a whole, with each call to the storage failing once. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { OutcomeUnknown } from '../../src/base/errors.ts';
import { writeAtomically } from '../../src/persistence/atomic-file.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { until } from './subject.ts';

/** Number of calls: create, write, sync, close, rename, sync of the directory. */
const CALLS = 6;

async function write(failAt: number) {
  const memory = new MemoryStorage(new Random(1));
  memory.put('file', Buffer.from('old'));
  memory.failure = { at: failAt, code: 'EIO', isLasting: false };
  const writing = writeAtomically(memory, 'file', (file) =>
    file.write(Buffer.from('new'), 0, 3, 0),
  );
  const error = await until(writing, async () => memory.pump()).then(
    () => undefined,
    (failure: Error) => failure,
  );
  return { memory, error };
}

describe('writeAtomically', () => {
  it('leaves only the old file, and no handle, if any call before the last fails', async () => {
    for (let at = 1; at < CALLS; at++) {
      const { memory, error } = await write(at);
      assert.equal((error as NodeJS.ErrnoException).code, 'EIO', `call ${at}`);
      assert.ok(!(error instanceof OutcomeUnknown));
      // The removal of the temporary file follows the failed call, and does not fail.
      assert.equal(memory.bytes('file').toString(), 'old');
      assert.throws(() => memory.bytes('file.tmp'), { code: 'ENOENT' });
      assert.deepEqual(memory.openNames, [], `call ${at}`);
    }
  });

  it('reports that the outcome is unknown if only the last one fails', async () => {
    const { memory, error } = await write(CALLS);
    assert.ok(error instanceof OutcomeUnknown && error.code === 'EIO');
    assert.equal(memory.bytes('file').toString(), 'new');
    assert.deepEqual(memory.openNames, []);
    const { error: none } = await write(CALLS + 1);
    assert.equal(none, undefined);
  });
});
