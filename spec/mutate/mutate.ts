/**
 * `make mutate`: changes one operator, bound, constant or branch of a hot file at a time, runs the
 * specs that cover the file until one fails, and lists the changes that no spec has noticed.
 *
 * A spec that fails, or exceeds its time limit, counts only if it passes within half of that limit
 * without the change. SEED repeats a run; COUNT is the number of changes, JOBS the number of
 * processes at a time, LIMIT the time limit of one change, in s; FILES, a part of a path, selects
 * files.
 */

import { Random } from '../../bench/harness.ts';
import { files, importsOf, specOf, textOf } from '../project-files.ts';
import { coveringSpecs } from './covering-specs.ts';
import { chosenFrom, type Mutation, mutated, mutationsOf } from './mutations.ts';
import { WorkingCopy } from './working-copy.ts';

const HOT = /^src\/(http|rest|engine|persistence|wan)\/.*\.ts$/;
/** Files that contain only assertions. */
const ASSERTIONS = ['src/engine/embedded/engine-invariants.ts'];

const seed = Number(process.env.SEED || Math.floor(Math.random() * 1_000_000_000));
const count = Number(process.env.COUNT || 100);
const jobs = Number(process.env.JOBS || 2);
const limitMs = Number(process.env.LIMIT || 60) * 1000;
const part = process.env.FILES ?? '';

const hot = files.filter(
  (file) => HOT.test(file) && !ASSERTIONS.includes(file) && file.includes(part),
);
const all = mutationsOf(Object.fromEntries(hot.map((file) => [file, textOf(file)])));
const queue = chosenFrom(all, count, new Random(seed));
console.log(`SEED=${seed} COUNT=${queue.length}: of ${all.length} changes in ${hot.length} files`);

/** Whether a spec passes without a change, by its path. */
const passes = new Map<string, Promise<boolean>>();
const unnoticed: string[] = [];
let doneCount = 0;

await Promise.all(Array.from({ length: jobs }, runQueue));
const noticedCount = doneCount - unnoticed.length;
console.log(`\n${noticedCount} of ${doneCount} changes were noticed; not noticed:`);
for (const text of unnoticed.sort()) console.log(`\n${text}`);
for (const [spec, hasPassed] of passes) {
  if (!(await hasPassed)) console.log(`\nLeft out: ${spec} fails or is late without a change`);
}

async function runQueue(): Promise<void> {
  const copy = new WorkingCopy();
  try {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const startMs = performance.now();
      const { isNoticed, reason } = await judge(next, copy);
      if (!isNoticed) unnoticed.push(`${description(next)}\n  ${reason}`);
      doneCount++;
      const seconds = ((performance.now() - startMs) / 1000).toFixed(0);
      console.log(
        `${isNoticed ? 'noticed' : 'NOT NOTICED'} ${placeOf(next)}: ${reason}, ${seconds} s`,
      );
    }
  } finally {
    copy.remove();
  }
}

/** Runs the covering specs until one notices the mutation, or the time is over. */
async function judge(mutation: Mutation, copy: WorkingCopy) {
  const specs = coveringSpecs(mutation.file, specOf(mutation.file), files, importsOf);
  const endMs = performance.now() + limitMs;
  for (const [index, spec] of specs.entries()) {
    const leftMs = endMs - performance.now();
    if (leftMs <= 0)
      return { isNoticed: false, reason: `passed ${index} of ${specs.length} specs` };
    if ((await passes.get(spec)) === false) continue;
    const specMs = Math.min(leftMs, limitMs / 2);
    const { outcome, test } = await copy.with(mutation, () => copy.run(spec, specMs));
    if (outcome === 'passed' || (outcome === 'late' && specMs < limitMs / 2)) continue;
    if (!passes.has(spec)) passes.set(spec, isPassed(spec, copy));
    if (await passes.get(spec)) return { isNoticed: true, reason: `${spec} ${test || outcome}` };
  }
  return { isNoticed: false, reason: `passed all of ${specs.length} specs` };
}

async function isPassed(spec: string, copy: WorkingCopy): Promise<boolean> {
  return (await copy.run(spec, limitMs / 4)).outcome === 'passed';
}

function placeOf({ file, start }: Mutation): string {
  return `${file}:${textOf(file).slice(0, start).split('\n').length}`;
}

/** The lines of the change, before and after. */
function description(mutation: Mutation): string {
  const text = textOf(mutation.file);
  const first = text.lastIndexOf('\n', mutation.start - 1) + 1;
  const after = mutated(text, mutation);
  const last = text.indexOf('\n', mutation.end);
  const lastAfter = last + after.length - text.length;
  return `${placeOf(mutation)} (${mutation.kind})
  - ${text.slice(first, last).trim()}
  + ${after.slice(first, lastAfter).trim()}`;
}
