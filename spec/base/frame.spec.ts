/** A frame: its layout, and the fault of each kind of wrong file, in the same words. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { viewed } from '../../src/base/copy-bytes.ts';
import { FRAME_BYTES, frameFault, writeFrame } from '../../src/base/frame.ts';

const MAGIC = 'gridTEST';

function framedText(text: string): Buffer {
  const bytes = Buffer.concat([Buffer.alloc(FRAME_BYTES), Buffer.from(text)]);
  writeFrame(viewed(bytes), bytes.length, MAGIC, 7);
  return bytes;
}

function faultOf(bytes: Buffer, length = bytes.length): string {
  const fault = frameFault(viewed(bytes), bytes.length, MAGIC, length);
  return fault === undefined ? '' : `${fault.offset}: ${fault.what}`;
}

test('a frame has its magic, checksum, format and length where the description says', () => {
  const bytes = framedText('content');
  assert.equal(bytes.toString('latin1', 0, 8), MAGIC);
  assert.equal(bytes.readUInt32LE(8), crc32(bytes.subarray(12)));
  assert.equal(bytes.readUInt32LE(12), 7);
  assert.equal(bytes.readUInt32LE(16), 27);
  assert.equal(bytes.toString('latin1', 20), 'content');
  assert.equal(faultOf(bytes), '');
});

test('a file that is cut off at any byte is called that', () => {
  const bytes = framedText('content');
  for (let end = 0; end < bytes.length; end++) {
    assert.equal(faultOf(bytes.subarray(0, end)), `${end}: is cut off`);
  }
});

test('a file that is too long continues after its end', () => {
  const bytes = framedText('content');
  assert.equal(faultOf(Buffer.concat([bytes, bytes])), '27: continues after its end');
});

test('a header may be followed by anything', () => {
  const bytes = framedText('content');
  const fault = frameFault(viewed(Buffer.concat([bytes, bytes])), 27, MAGIC, 27);
  assert.equal(fault, undefined);
});

test('a foreign file does not begin with the magic', () => {
  const bytes = Buffer.from('a file of another program');
  assert.equal(faultOf(bytes), '0: does not begin with "gridTEST"');
});

test('a flipped bit is a fault, wherever it is', () => {
  const bytes = framedText('content');
  const faults = new Set<string>();
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const damaged = Buffer.from(bytes);
    damaged[bit >> 3]! ^= 1 << (bit & 7);
    faults.add(faultOf(damaged).replace(/^\d+: /, ''));
    if (bit >= 160 || (bit >= 64 && bit < 128)) {
      assert.equal(faultOf(damaged), '8: has a wrong checksum');
    }
  }
  assert.ok(!faults.has(''));
});
