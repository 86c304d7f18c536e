/** Lines of a stream that is cut at any byte. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LINE_BYTES_MAX, LineBlocks } from '../../src/cli/line-blocks.ts';

async function* cut(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Reads all blocks, and long lines in parts. */
async function read(bytes: Buffer, size: number): Promise<string[]> {
  const blocks = new LineBlocks(cut(bytes, size));
  const lines: string[] = [];
  for (;;) {
    const block = await blocks.next();
    if (block === undefined) return lines;
    if (block.length > 0) {
      assert.equal(block.at(-1), 0x0a);
      lines.push(...block.toString().slice(0, -1).split('\n'));
      continue;
    }
    assert.ok(blocks.longLine.length > LINE_BYTES_MAX);
    const parts: Buffer[] = [];
    for await (const part of blocks.parts()) parts.push(Buffer.from(part));
    lines.push(Buffer.concat(parts).toString());
  }
}

test('LineBlocks returns whole lines, however the stream is cut', async () => {
  const text = 'one\n\ntwo é\nthree';
  for (let size = 1; size < 20; size++) {
    assert.deepEqual(await read(Buffer.from(text), size), text.split('\n'));
    assert.deepEqual(await read(Buffer.from(`${text}\n`), size), text.split('\n'));
  }
  assert.deepEqual(await read(Buffer.of(), 1), []);
  assert.deepEqual(await read(Buffer.from('\n'), 1), ['']);
});

test('LineBlocks returns long lines in parts', async () => {
  const long = 'x'.repeat(3 * LINE_BYTES_MAX);
  const lines = ['before', long, 'between', long];
  for (const size of [65_536, 1_000_001, LINE_BYTES_MAX + 10]) {
    assert.deepEqual(await read(Buffer.from(lines.join('\n')), size), lines);
  }
  const limit = 'x'.repeat(LINE_BYTES_MAX);
  assert.deepEqual(await read(Buffer.from(`${limit}\nafter\n`), 65_536), [limit, 'after']);
});

test('LineBlocks closes a stream that is not read to its end', async () => {
  let isClosed = false;
  async function* endless(): AsyncGenerator<Buffer> {
    try {
      for (;;) yield Buffer.from('line\n');
    } finally {
      isClosed = true;
    }
  }
  const blocks = new LineBlocks(endless());
  await blocks.next();
  await blocks.close();
  assert.ok(isClosed);
});
