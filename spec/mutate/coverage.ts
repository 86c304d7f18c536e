/**
 * The blocks of source files that each spec reaches, and the time that it takes. One run of all
 * specs measures both; a file in the folder for temporary files keeps the result until a file of
 * the project changes.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { code, textOf } from '../project-files.ts';
import { blocksOf, type Place, type SpecRun } from './covering-specs.ts';
import { type Mutation, withInsertions } from './mutations.ts';
import type { WorkingCopy } from './working-copy.ts';

const REACHED = 'spec/mutate/reached.txt';
const MODULE = 'spec/mutate/reached-blocks.ts';
const SPEC_MS_MAX = 120_000;

/** `mutations` are all mutations of the project. */
export async function measure(
  mutations: readonly Mutation[],
  copies: readonly WorkingCopy[],
): Promise<SpecRun[]> {
  const hash = createHash('sha256');
  for (const file of code) hash.update(textOf(file));
  const path = join(tmpdir(), `gridnode-reached-${hash.digest('hex')}.json`);
  if (existsSync(path)) return JSON.parse(readFileSync(path, 'utf8'));
  const original = new Map(mutations.map(({ file }) => [file, textOf(file)]));
  for (const copy of copies) copy.write(withCalls(blocksOf(mutations)));
  const specs = code.filter((file) => file.endsWith('.spec.ts'));
  const runs: SpecRun[] = [];
  const work = async (copy: WorkingCopy): Promise<void> => {
    for (let spec = specs.pop(); spec !== undefined; spec = specs.pop()) {
      const startMs = performance.now();
      const { outcome, test } = await copy.run([spec], SPEC_MS_MAX);
      const ms = Math.round(performance.now() - startMs);
      const reached = [...new Set(copy.take(REACHED).trim().split('\n').map(Number))];
      if (outcome === 'passed') runs.push({ spec, ms, reached });
      else console.log(`left out: ${spec} ${test || outcome}`);
    }
  };
  await Promise.all(copies.map(work));
  for (const copy of copies) copy.write(original);
  writeFileSync(path, JSON.stringify(runs));
  return runs;
}

/** Returns the text of each file with a call at the beginning of each block. */
function withCalls(blocks: readonly Place[]): Map<string, string> {
  const insertions = new Map<string, [number, string][]>();
  for (const [index, { file, block }] of blocks.entries()) {
    const module = relative(dirname(file), MODULE);
    const first: [number, string] = [0, `import { reach as reachBlock } from '${module}';\n`];
    const ofFile = insertions.get(file) ?? [first];
    insertions.set(file, [...ofFile, [block, `reachBlock(${index});`]]);
  }
  return new Map([...insertions].map(([file, each]) => [file, withInsertions(textOf(file), each)]));
}
