/**
 * `make mutate`: changes one operator, bound, constant or branch of a hot file at a time, runs the
 * specs that reach it until one fails, and lists the changes that no spec has noticed.
 *
 * SEED repeats a run; COUNT is the number of changes, JOBS the number of processes at a time, LIMIT
 * the time limit of one change, in s; FILES, a part of a path, selects files.
 */

import { Random } from '../../bench/harness.ts';
import { sources, textOf } from '../project-files.ts';
import { measure } from './coverage.ts';
import { blocksOf, coveringSpecs, type SpecRun } from './covering-specs.ts';
import { chosenFrom, type Mutation, mutated, mutationsOf } from './mutations.ts';
import { WorkingCopy } from './working-copy.ts';

const HOT = /^src\/(http|rest|engine|persistence|wan)\/.*\.ts$/;
/** Files that contain only assertions. */
const ASSERTIONS = ['src/engine/embedded/engine-invariants.ts'];

/** A spec that takes this many times as long as without a change, and more, has noticed it. */
const LATE = 4;
const LATE_MS = 10_000;
/** Number of specs that run alone, and that then run in one process. */
const ALONE = 3;
const BATCH = 8;

const seed = Number(process.env.SEED || Math.floor(Math.random() * 1_000_000_000));
const count = Number(process.env.COUNT || 100);
const jobs = Number(process.env.JOBS || 2);
const limitMs = Number(process.env.LIMIT || 60) * 1000;
const part = process.env.FILES ?? '';

const hot = sources.filter((file) => HOT.test(file) && !ASSERTIONS.includes(file));
const all = mutationsOf(Object.fromEntries(hot.map((file) => [file, textOf(file)])));
const blocks = blocksOf(all);
const possible = all.filter(({ file }) => file.includes(part));
const queue = chosenFrom(possible, count, new Random(seed));
console.log(`SEED=${seed} COUNT=${queue.length}: of ${possible.length} changes`);

const unnoticed: string[] = [];
let doneCount = 0;

const copies = Array.from({ length: jobs }, () => new WorkingCopy());
try {
  const runs = await measure(all, copies);
  await Promise.all(copies.map((copy) => runQueue(copy, runs)));
} finally {
  for (const copy of copies) copy.remove();
}
const noticedCount = doneCount - unnoticed.length;
console.log(`\n${noticedCount} of ${doneCount} changes were noticed; not noticed:`);
for (const text of unnoticed.sort()) console.log(`\n${text}`);

async function runQueue(copy: WorkingCopy, runs: readonly SpecRun[]): Promise<void> {
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const startMs = performance.now();
    const text = textOf(next.file);
    copy.write([[next.file, mutated(text, next)]]);
    const { isNoticed, reason } = await judge(coveringSpecs(next, blocks, runs), copy);
    copy.write([[next.file, text]]);
    if (!isNoticed) unnoticed.push(`${description(next)}\n  ${reason}`);
    doneCount++;
    const seconds = ((performance.now() - startMs) / 1000).toFixed(0);
    const word = isNoticed ? 'noticed' : 'NOT NOTICED';
    console.log(`${word} ${placeOf(next)}: ${reason}, ${seconds} s`);
  }
}

/**
 * Runs the covering specs until one fails or takes many times as long, or the time is over: the
 * first ones alone, the others several in one process, and alone if it fails.
 */
async function judge(specs: readonly SpecRun[], copy: WorkingCopy) {
  const endMs = performance.now() + limitMs;
  for (let at = 0; at < specs.length; ) {
    if (performance.now() > endMs) {
      return { isNoticed: false, reason: `passed ${at} of ${specs.length} specs` };
    }
    const batch = specs.slice(at, at < ALONE ? at + 1 : at + BATCH);
    const failed = batch.length > 1 && !(await resultOf(batch, copy)) ? [] : batch;
    for (const run of failed) {
      const reason = await resultOf([run], copy);
      if (reason !== undefined) return { isNoticed: true, reason };
    }
    at += batch.length;
  }
  return { isNoticed: false, reason: `passed all of ${specs.length} specs` };
}

/** Returns the failure; undefined if the specs pass. */
async function resultOf(runs: readonly SpecRun[], copy: WorkingCopy): Promise<string | undefined> {
  const specs = runs.map(({ spec }) => spec);
  const ms = runs.reduce((sum, run) => sum + run.ms, 0);
  const { outcome, test } = await copy.run(specs, LATE_MS + ms * LATE);
  return outcome === 'passed' ? undefined : `${specs[0]} ${test || outcome}`;
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
