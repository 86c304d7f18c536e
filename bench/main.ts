/**
 * Runs the benches named on the command line, or all benches in this folder.
 *
 *     node dist/bench/main.js [--small] [NAME...]
 */
import { readdirSync } from 'node:fs';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Bench, Harness } from './harness.ts';

/** `.ts` in the tests, `.js` once compiled. */
const extension = extname(import.meta.filename);
const shared = new Set([`harness${extension}`, `main${extension}`]);

/**
 * Returns all benches of this folder by name. Throws if a file exports no `bench` of its own name.
 */
export async function loadBenches(): Promise<Bench[]> {
  const files = readdirSync(import.meta.dirname, { withFileTypes: true })
    .filter((entry) => entry.isFile() && extname(entry.name) === extension)
    .map((entry) => entry.name)
    .filter((name) => !name.endsWith('.d.ts') && !shared.has(name))
    .sort();
  const benches: Bench[] = [];
  for (const file of files) {
    const { bench } = (await import(`./${file}`)) as { bench?: Bench };
    if (bench === undefined || `${bench.name}${extension}` !== file) {
      throw new TypeError(`Cannot run "${file}": it exports no bench of that name`);
    }
    benches.push(bench);
  }
  return benches;
}

async function main(words: readonly string[]): Promise<void> {
  const size = words.includes('--small') ? 'small' : 'full';
  const names = words.filter((word) => word !== '--small');
  const benches = await loadBenches();
  const unknown = names.find((name) => !benches.some((bench) => bench.name === name));
  if (unknown !== undefined) {
    const known = benches.map((bench) => bench.name).join(', ');
    throw new RangeError(`Cannot run bench "${unknown}": expected one of ${known}`);
  }
  const harness = new Harness(size, (line) => console.log(line));
  for (const bench of benches) {
    if (names.length > 0 && !names.includes(bench.name)) continue;
    harness.print(`\n${bench.name}: ${bench.about}`);
    await bench.run(harness);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  main(process.argv.slice(2)).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
}
