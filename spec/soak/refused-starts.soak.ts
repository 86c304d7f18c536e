/**
 * SOAK_REFUSALS starts of each kind that a data directory refuses, while health is asked for every 10 ms:
 * each ends with exit code 3 and its reason, and the files are unchanged byte for byte.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { start } from '../cli/gridnode-process.ts';
import {
  changed,
  type Files,
  flipped,
  recordsOf,
  wholeDirectory,
} from '../persistence/damaged-directory.ts';
import { inFormat } from '../persistence/other-format.ts';
import { PARTITION_COUNT } from '../persistence/subject.ts';

const REFUSALS = Number(process.env.SOAK_REFUSALS ?? Number(process.env.SOAK_SIZE ?? 1000) / 50);
const HEALTH_MS = 10;

const { files } = await wholeDirectory();
const logs = [...files.keys()].filter((name) => name.startsWith('log-0')).sort();

function damaged(name: string): Files {
  const bytes = files.get(name) ?? Buffer.alloc(0);
  const records = recordsOf(files, name);
  const at = records[records.length >> 1]?.at ?? bytes.length >> 1;
  return changed(files, name, flipped(bytes, at * 8 + 100));
}

const used = logs.filter((name) => recordsOf(files, name).length > 2);
const [firstLog = '', lastLog = ''] = [used[0], used.at(-1)];
const KINDS: readonly (readonly [string, Files, string, string])[] = [
  ['manifest', damaged('manifest'), `${PARTITION_COUNT}`, 'DATA_DAMAGED'],
  ['member', damaged('member'), `${PARTITION_COUNT}`, 'DATA_DAMAGED'],
  ['first segment', damaged(firstLog), `${PARTITION_COUNT}`, 'DATA_DAMAGED'],
  ['missing segment', changed(files, lastLog, undefined), `${PARTITION_COUNT}`, 'DATA_DAMAGED'],
  ['partition count', files, `${PARTITION_COUNT + 1}`, 'PARTITION_COUNT_CHANGED'],
  ['format', inFormat(files, 2), `${PARTITION_COUNT}`, 'DATA_FORMAT_OLDER'],
];

function read(directory: string): Files {
  const names = readdirSync(directory).filter((name) => name !== 'lock');
  return new Map(names.sort().map((name) => [name, readFileSync(join(directory, name))]));
}

/** Asks for health until the member has ended. */
async function askHealth(port: number, hasEnded: () => boolean): Promise<number> {
  let answers = 0;
  for (; !hasEnded(); await sleep(HEALTH_MS)) {
    const asked = get({ port, host: '127.0.0.1', path: '/hazelcast/health' }, (response) => {
      answers++;
      response.resume();
    });
    asked.on('error', () => {});
  }
  return answers;
}

for (const [kind, content, partitionCount, reason] of KINDS) {
  test(`${REFUSALS} starts are refused for ${kind}`, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'gridnode-refused-'));
    const data = join(directory, 'data');
    mkdirSync(data);
    for (const [name, bytes] of content) writeFileSync(join(data, name), bytes);
    const before = read(data);
    let answers = 0;
    try {
      for (let count = 0; count < REFUSALS; count++) {
        const flags = ['--port', '0', '--data-dir', data, '--partition-count', partitionCount];
        const child = start(['serve', ...flags]);
        const lines: { readonly code?: string; readonly port?: number }[] = [];
        let errors = '';
        child.stderr?.on('data', (chunk) => {
          errors += chunk;
        });
        let asking: Promise<number> | undefined;
        createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (text) => {
          lines.push(JSON.parse(text));
          const port = lines.at(-1)?.port;
          if (port !== undefined) asking ??= askHealth(port, () => child.exitCode !== null);
        });
        const [code] = (await once(child, 'close')) as [number | null];
        assert.deepEqual([code, lines.at(-1)?.code], [3, reason], `${count}: ${errors}`);
        answers += (await asking) ?? 0;
        assert.deepEqual(read(data), before);
      }
      console.log(`${kind}: ${REFUSALS} refusals, ${answers} answers of health`);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
}
