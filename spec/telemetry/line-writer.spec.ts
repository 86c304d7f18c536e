import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LineWriter } from '../../src/telemetry/line-writer.ts';
import { FakeClock } from '../fake-clock.ts';

const WAITING_BYTES_MAX = 1_048_576;

/** Returns a descriptor that accepts `room` bytes, and its writer. */
function written(room = Number.POSITIVE_INFINITY) {
  const clock = new FakeClock();
  const errors: string[] = [];
  const descriptor = { room, error: '', text: '', calls: 0, sizes: [] as number[] };
  const writer = new LineWriter(
    (bytes, start) => {
      descriptor.calls++;
      const code = descriptor.error || (descriptor.room === 0 ? 'EAGAIN' : '');
      if (code !== '') throw Object.assign(new Error(code), { code });
      const count = Math.min(descriptor.room, bytes.length - start);
      descriptor.room -= count;
      descriptor.text += bytes.toString('utf8', start, start + count);
      descriptor.sizes.push(count);
      return count;
    },
    clock,
    (error) => errors.push(error.message),
  );
  return { clock, errors, descriptor, writer };
}

test('LineWriter writes the first line of a turn at once, and the others together at its end', () => {
  const { clock, descriptor, writer } = written();
  writer.write('one\n');
  assert.equal(descriptor.text, 'one\n');
  writer.write('two\n');
  writer.write('three\n');
  assert.equal(descriptor.text, 'one\n');
  clock.endTurn();
  assert.equal(descriptor.text, 'one\ntwo\nthree\n');
  assert.equal(descriptor.calls, 2);
  clock.settle();
  writer.write('four\n');
  clock.settle();
  assert.equal(descriptor.calls, 3);
  assert.equal(clock.timerCount, 0);
});

test('LineWriter writes all lines of the turn if the log requires it', () => {
  const { descriptor, writer } = written();
  writer.write('one\n');
  writer.write('the reason\n');
  writer.flushSync();
  assert.equal(descriptor.text, 'one\nthe reason\n');
});

test('LineWriter keeps lines in order while the reader pauses, and retries once per turn', () => {
  const { clock, descriptor, writer } = written(6);
  const lines = ['éins\n', 'zwei\n', 'drei\n', 'vier\n'];
  for (const line of lines) {
    writer.write(line);
    clock.advance(5);
    const { calls } = descriptor;
    writer.write('');
    clock.endTurn();
    assert.ok(descriptor.calls - calls <= 1, `${descriptor.calls - calls}`);
  }
  descriptor.room = 4;
  clock.advance(10_000);
  assert.equal(Buffer.byteLength(descriptor.text), 10);
  descriptor.room = Number.POSITIVE_INFINITY;
  clock.advance(1000);
  assert.equal(descriptor.text, lines.join(''));
  assert.equal(clock.timerCount, 0);
});

test('LineWriter retries at most every 2 ms with lines, and every second without', () => {
  const { clock, descriptor, writer } = written(0);
  for (let turn = 0; turn < 1000; turn++) {
    writer.write('line\n');
    clock.endTurn();
  }
  assert.equal(descriptor.calls, 1);
  clock.advance(60_000);
  assert.ok(descriptor.calls < 70, `${descriptor.calls}`);
  descriptor.room = Number.POSITIVE_INFINITY;
  clock.advance(1000);
  assert.equal(descriptor.text.length, 5000);
});

test('LineWriter continues within 10 ms after the reader continues', () => {
  const { clock, descriptor, writer } = written(0);
  for (let index = 0; index < 100; index++) writer.write('line\n');
  clock.settle();
  clock.advance(60_000);
  descriptor.room = 5;
  while (descriptor.text === '') clock.advance(10);
  for (let index = 1; index < 100; index++) {
    descriptor.room = 5;
    clock.advance(10);
    assert.equal(descriptor.text.length, 5 * (index + 1));
  }
});

test('LineWriter buffers 1 MiB; the next line reports the number of lost lines', () => {
  const { clock, descriptor, writer } = written(0);
  const line = `${'x'.repeat(1023)}\n`;
  const count = WAITING_BYTES_MAX / 1024;
  for (let index = 0; index < count; index++) writer.write(line);
  assert.deepEqual(writer.nextFields(), {});
  writer.write('beyond\n');
  assert.deepEqual(writer.nextFields(), { linesLost: 1 });
  writer.write('beyond\n');
  descriptor.room = Number.POSITIVE_INFINITY;
  clock.settle();
  clock.advance(1000);
  assert.equal(descriptor.text, line.repeat(count));
  assert.deepEqual(writer.nextFields(), { linesLost: 2 });
  writer.write('next\n');
  assert.deepEqual(writer.nextFields(), {});
  assert.equal(descriptor.text, `${line.repeat(count)}next\n`);
});

test('LineWriter reports an error once, retains lines and continues when the error has ended', () => {
  const { clock, errors, descriptor, writer } = written();
  descriptor.error = 'ENOSPC';
  writer.write('one\n');
  clock.settle();
  clock.advance(5000);
  writer.write('two\n');
  clock.settle();
  assert.deepEqual(errors, ['ENOSPC']);
  descriptor.error = '';
  clock.advance(1000);
  assert.equal(descriptor.text, 'one\ntwo\n');
});

test('LineWriter.end waits at most a second for a reader, and not for one that has ended', () => {
  const { clock, descriptor, writer } = written(0);
  writer.write('one\n');
  let sleeps = 0;
  const sleep = (ms: number) => {
    sleeps++;
    clock.advance(ms);
  };
  writer.end(sleep);
  assert.equal(clock.now(), 1000);
  writer.end((ms) => {
    descriptor.room += 2;
    sleep(ms);
  });
  assert.equal(descriptor.text, 'one\n');
  sleeps = 0;
  writer.end(sleep);
  descriptor.error = 'EPIPE';
  clock.settle();
  writer.write('two\n');
  writer.end(sleep);
  assert.equal(sleeps, 0);
});
