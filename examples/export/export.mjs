/**
 * Exports a map to a file of lines of JSON. Run: node export.mjs
 *
 * The list is one response, which is read as it arrives: the map may be larger than the memory. It
 * ends with a line with the cursor, which is null at the end of the list. Without that line, the
 * response was cut off: then the export begins anew, or use `limit` and `cursor`, as export.sh does.
 * `gridnode map import` sets the entries of such a file.
 *
 * GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
 */
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const MAP = `${process.env.GRIDNODE_URL ?? 'http://127.0.0.1:5701/grid'}/v1/maps/example-export`;

/** Sends a request; ends the program unless the response has the expected status. */
async function call(step, expected, path, options = {}) {
  const response = await fetch(MAP + path, options).catch(({ cause, message }) =>
    fail(step, `no response: ${cause?.message ?? message}`),
  );
  if (response.status !== expected) {
    fail(step, `status ${response.status}, expected ${expected}: ${await response.text()}`);
  }
  return response;
}

function fail(step, message) {
  console.error(`${step}: ${message}`);
  process.exit(1);
}

const longKeys = [];

/** Yields the lines of the list, and then those of the values that are too long for it. */
async function* exportedLines() {
  const response = await call('list', 200, '/entries');
  let cursor;
  for await (const line of createInterface({ input: Readable.fromWeb(response.body) })) {
    const entry = JSON.parse(line);
    if (entry.cursor !== undefined) {
      cursor = entry.cursor;
      continue;
    }
    // A line has up to 1 MiB: a list contains the key of a longer value, and its length.
    if (entry.value === undefined && entry.valueBase64 === undefined) longKeys.push(entry.key);
    else yield `${line}\n`;
  }
  if (cursor !== null) fail('list', 'the response was cut off');
  for (const key of longKeys) {
    const long = await call('get', 200, `/entries/${encodeURIComponent(key)}`);
    const value = Buffer.from(await long.arrayBuffer());
    yield `${JSON.stringify({ key, length: value.length, valueBase64: value.toString('base64') })}\n`;
  }
}

await call('clear', 204, '', { method: 'DELETE' });
const changes = Array.from({ length: 2500 }, (_, index) => {
  const number = index + 1;
  const entry = { key: `key-${number}`, value: `value ${number}`, timeToLiveSeconds: 600 };
  return `${JSON.stringify({ op: 'set', ...entry })}\n`;
});
await call('bulk', 200, '/bulk', { method: 'POST', body: changes.join('') });
await call('put', 201, '/entries/key-long', { method: 'PUT', body: Buffer.alloc(2_000_000) });

const folder = mkdtempSync(join(tmpdir(), 'export-'));
const file = join(folder, 'export.ndjson');
await pipeline(exportedLines, createWriteStream(file));
const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
rmSync(folder, { recursive: true });

console.log(`entries: ${lines.length}`);
console.log(`with a time to live: ${lines.filter((line) => line.includes('timeToLive')).length}`);
console.log(`keys of long values: ${longKeys.join(' ')}`);
await call('clear', 204, '', { method: 'DELETE' });
