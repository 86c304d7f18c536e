/** The specs that can notice a mutation, those first that are likely to and take little time. */
import { dirname } from 'node:path';
import { specOf } from '../project-files.ts';
import type { Mutation } from './mutations.ts';

/** Specs of the file's own folder are this many times as likely to notice a mutation. */
const SAME_FOLDER = 5;

/** A spec that passes without a mutation. */
export interface SpecRun {
  readonly spec: string;
  readonly ms: number;
  /** Indexes of the blocks that it reaches. */
  readonly reached: readonly number[];
}

export type Place = Pick<Mutation, 'file' | 'block'>;

/** Returns the different blocks of mutations; their indexes are those in a SpecRun. */
export function blocksOf(mutations: readonly Mutation[]): Place[] {
  return [...new Map(mutations.map((each) => [`${each.file} ${each.block}`, each])).values()];
}

/**
 * Returns the runs of specs that reach the block, in the order in which the specs should run: first
 * the one that tests the file, then those that take the least time for each block of the file.
 */
export function coveringSpecs(
  { file, block }: Place,
  blocks: readonly Place[],
  runs: readonly SpecRun[],
): SpecRun[] {
  const index = blocks.findIndex((each) => each.file === file && each.block === block);
  const ofFile = new Set(blocks.flatMap((each, at) => (each.file === file ? [at] : [])));
  const costs = new Map<SpecRun, number>();
  for (const run of runs.filter(({ reached }) => reached.includes(index))) {
    const { spec, ms, reached } = run;
    const isNear = dirname(spec) === dirname(file).replace(/^src/, 'spec');
    const count = reached.filter((each) => ofFile.has(each)).length * (isNear ? SAME_FOLDER : 1);
    costs.set(run, spec === specOf(file) ? 0 : ms / count);
  }
  return [...costs].sort(([, one], [, other]) => one - other).map(([run]) => run);
}
