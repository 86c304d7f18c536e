/**
 * Covers src/persistence/segment.ts and src/persistence/framed-file.ts. Each field of the files of a
 * data directory lies where the description of the layout says.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { crc32 } from 'node:zlib';
import { Random } from '../../bench/harness.ts';
import { writeCheckedFile } from '../../src/persistence/checked-file.ts';
import { LOG_END, LogEndFile } from '../../src/persistence/log-end-file.ts';
import { MARKS, writeMarks } from '../../src/persistence/marks-file.ts';
import { LOG, SNAPSHOT, segmentHeader, segmentName } from '../../src/persistence/segment.ts';
import { queueFileName, writeQueueFile } from '../../src/persistence/wan-queue-file.ts';
import { FakeClock } from '../fake-clock.ts';
import { double, fields, framedBytes } from '../packed-fields.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { bytesOf } from './damaged-directory.ts';
import { oneLaneQueue } from './one-lane-queue.ts';
import { until } from './subject.ts';

const FORMAT = 4;

const text = (value: string): Buffer =>
  Buffer.concat([fields([2, value.length]), Buffer.from(value)]);

describe('the layout of', () => {
  it('the header of a segment', () => {
    const log = framedBytes('gridLOG\n', FORMAT, fields([4, 9], [4, 0], [4, 65_536]));
    assert.deepEqual(segmentHeader({ kind: LOG, number: 9, part: 0 }, 65_536), log);
    const part = framedBytes('gridSNAP', FORMAT, fields([4, 9], [4, 3], [4, 0]));
    assert.deepEqual(segmentHeader({ kind: SNAPSHOT, number: 9, part: 3 }, 0), part);
  });

  it('a checked file', async () => {
    const storage = new MemoryStorage(new Random(1));
    await until(writeCheckedFile(storage, 'member', { uuid: 'x' }), async () => storage.pump());
    const json = Buffer.from('{"uuid":"x","file":"member"}');
    assert.deepEqual(bytesOf(storage.files, 'member'), framedBytes('gridJSON', FORMAT, json));
  });

  it('the marks', async () => {
    const storage = new MemoryStorage(new Random(1));
    const marks = new Map([
      ['a', Float64Array.of(1, 2)],
      ['bc', Float64Array.of(2 ** 40, 0)],
    ]);
    await until(writeMarks(storage, 2, marks), async () => storage.pump());
    const first = Buffer.concat([text('a'), double(1), double(2)]);
    const second = Buffer.concat([text('bc'), double(2 ** 40), double(0)]);
    const content = Buffer.concat([fields([4, 2], [4, 2]), first, second]);
    assert.deepEqual(bytesOf(storage.files, MARKS), framedBytes('gridMARK', FORMAT, content));
  });

  it('the end of the log', async () => {
    const storage = new MemoryStorage(new Random(1), 'boot');
    const pump = async () => storage.pump();
    const name = segmentName({ kind: LOG, number: 7, part: 0 });
    storage.put(name, Buffer.alloc(64));
    const position = { segment: 7, offset: 48 };
    const file = await until(LogEndFile.open(storage, new FakeClock(), position), pump);
    const { device, inode } = (await until(storage.open(name), pump)).identityNow();
    const positions = Array(3).fill(fields([4, 7], [4, 48])) as Buffer[];
    const rest = Buffer.alloc(40 - 'boot'.length);
    const identity = fields([8, device], [8, inode]);
    const content = Buffer.concat([...positions, identity, text('boot'), rest]);
    assert.deepEqual(bytesOf(storage.files, LOG_END), framedBytes('gridEND\n', FORMAT, content));
    await until(file!.close(), pump);
  });

  it('the file of waiting events', async () => {
    const storage = new MemoryStorage(new Random(1));
    const lane = Buffer.from('events');
    const queues = oneLaneQueue(lane);
    const sequences = () => Float64Array.of(5);
    const parts = {
      storage,
      clock: new FakeClock(),
      queues,
      sequences,
      mayWrite: async () => true,
    };
    await until(writeQueueFile(parts, 3), async () => storage.pump());
    const header = framedBytes('gridWAIT', FORMAT, fields([4, 3], [4, 1]));
    const block = (number: number, type: number, content: Buffer): Buffer => {
      const own = Buffer.concat([fields([4, 10 + content.length], [1, type], [1, 0]), content]);
      const seed = Math.imul(3, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b);
      return Buffer.concat([fields([4, crc32(own, seed >>> 0)]), own]);
    };
    const blocks = [
      block(0, 1, Buffer.from('q')),
      block(1, 2, lane),
      block(2, 3, double(5)),
      block(3, 4, Buffer.alloc(0)),
    ];
    const file = bytesOf(storage.files, queueFileName(3));
    assert.deepEqual(file, Buffer.concat([header, ...blocks]));
  });
});
