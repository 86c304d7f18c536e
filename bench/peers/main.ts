/**
 * Compares gridnode with alternative servers and prints the tables. It writes the tables to one
 * file and the figures of every round to another. Works are selected by the beginnings of their
 * names:
 *
 *     SIZE=1000000 SECONDS=3 ROUNDS=5 node dist/bench/peers/main.js [--to FOLDER] [WORK...]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compare, PEERS } from './comparison.ts';
import { canPin } from './processors.ts';
import { missingLines, rowsOf, rowsTable, workLines, worksTable } from './report.ts';
import type { Size } from './work.ts';
import { WORKS } from './works.ts';

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { to: { type: 'string', default: '.' } },
    allowPositionals: true,
  });
  const size: Size = {
    entries: numberFrom('SIZE', 1_000_000),
    seconds: numberFrom('SECONDS', 3),
    rounds: numberFrom('ROUNDS', 5),
  };
  const works = WORKS.filter(
    ({ name }) => positionals.length === 0 || positionals.some((word) => name.startsWith(word)),
  );
  const unknown = positionals.find((word) => !WORKS.some(({ name }) => name.startsWith(word)));
  if (unknown !== undefined) {
    const known = WORKS.map(({ name }) => name).join(', ');
    throw new RangeError(`Cannot run "${unknown}": expected one of ${known}`);
  }
  const about = [
    `${cpus().length} processors (${cpus()[0]?.model.trim()}), Node ${process.versions.node}; ` +
      `${size.entries} entries, rounds of ${size.seconds} s, ${size.rounds} of them`,
    ...(canPin ? [] : ['no process is pinned: pinning needs taskset and two processors']),
    ...missingLines(PEERS),
  ];
  console.log(about.join('\n'));
  const results = await compare(size, works, (result) => console.log(workLines(result).join('\n')));
  const rows = rowsOf(results);
  console.log(`\n${rowsTable(rows)}`);
  const date = new Date().toISOString();
  const base = join(values.to, `peers-${date.slice(0, 19).replaceAll(':', '')}`);
  mkdirSync(values.to, { recursive: true });
  writeFileSync(`${base}.json`, `${JSON.stringify({ date, about, size, rows, results })}\n`);
  const parts = [about.join('\n\n'), rowsTable(rows), worksTable(results)];
  writeFileSync(`${base}.md`, `${parts.join('\n\n')}\n`);
  console.log(`\nwritten: ${base}.md, ${base}.json`);
}

function numberFrom(name: string, usual: number): number {
  const text = process.env[name] ?? '';
  const value = text === '' ? usual : Number(text);
  if (!(value > 0)) throw new RangeError(`Cannot use ${name}="${text}": not a number above 0`);
  return value;
}

// When interrupted, this process exits, and its exit ends the servers.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
