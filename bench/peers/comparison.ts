/**
 * Runs works one after the other, with their sides in alternating rounds, and retains the figures
 * of each round. A side that fails is excluded from that work, with the reason; the others
 * continue.
 */
import { Harness, median } from '../harness.ts';
import { NGINX } from './nginx.ts';
import { BARE, GRIDNODE, NODE_HTTP } from './node-peers.ts';
import { ON_REDIS, ON_REDIS_CONFIRMED } from './on-redis.ts';
import { ORIGINAL } from './original.ts';
import type { Peer } from './peer.ts';
import { moveLoad } from './processors.ts';
import { REDIS, WEBDIS } from './redis.ts';
import { THREE_ON_REDIS, THREE_ORIGINALS } from './three-members.ts';
import { Arena, type FigureName, type Figures, type Side, type Size, type Work } from './work.ts';

export const PEERS: readonly Peer[] = [
  GRIDNODE,
  BARE,
  NODE_HTTP,
  NGINX,
  REDIS,
  WEBDIS,
  ON_REDIS,
  ON_REDIS_CONFIRMED,
  ORIGINAL,
  THREE_ON_REDIS,
  THREE_ORIGINALS,
];

export interface SideResult {
  readonly name: string;
  /** Figures of each round. */
  readonly rounds: readonly Figures[];
  /** The reason for a failure. */
  readonly failure?: string;
}

export interface WorkResult {
  readonly name: string;
  readonly about: string;
  readonly sides: readonly SideResult[];
}

/** A ratio of medians, with the lowest and the highest ratio of a round. */
export interface Ratio {
  readonly ratio: number;
  readonly least: number;
  readonly most: number;
}

/** Runs the works; `print` receives each result as soon as its work is done. */
export async function compare(
  size: Size,
  works: readonly Work[],
  print: (result: WorkResult) => void,
): Promise<WorkResult[]> {
  const arena = new Arena(
    size,
    PEERS.filter((peer) => peer.isInstalled()),
  );
  const results: WorkResult[] = [];
  try {
    for (const work of works) {
      if (work.isAlone) await arena.stopAll();
      moveLoad(work.placement);
      const result = { name: work.name, about: work.about, sides: await done(work, arena) };
      print(result);
      results.push(result);
    }
  } finally {
    await arena.stopAll();
    moveLoad('all');
  }
  return results;
}

async function done(work: Work, arena: Arena): Promise<SideResult[]> {
  const sides = work.sides(arena);
  const failures = new Map<string, string>();
  const tried = (side: Side, action: () => Promise<Figures>) => async () => {
    if (failures.has(side.name)) return {};
    try {
      return await action();
    } catch (error) {
      failures.set(side.name, reasonOf(error));
      return {};
    }
  };
  for (const side of sides) {
    await tried(side, async () => {
      await side.warm?.();
      return {};
    })();
  }
  const rounds = Math.min(arena.size.rounds, work.roundsMax ?? Number.POSITIVE_INFINITY);
  const results = await new Harness('full', () => {}).alternate(
    sides.map((side) => ({ name: side.name, round: tried(side, () => side.round()) })),
    rounds,
  );
  return sides.map(({ name }, index) => {
    const failure = failures.get(name);
    return { name, rounds: results[index] ?? [], ...(failure === undefined ? {} : { failure }) };
  });
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${reasonOf(error.cause)}`;
}

/** Returns the median of a figure over the rounds; NaN if no round has it. */
export function medianOf(side: SideResult, figure: FigureName): number {
  return median(valuesOf(side, figure).filter((value) => !Number.isNaN(value)));
}

/**
 * Returns the ratio of one side's figure to a figure, possibly a different one, of another side.
 */
export function ratioOf(
  side: SideResult,
  other: SideResult,
  figure: FigureName,
  otherFigure = figure,
): Ratio {
  const others = valuesOf(other, otherFigure);
  const each = valuesOf(side, figure).map((value, round) => value / (others[round] ?? Number.NaN));
  const ratio = medianOf(side, figure) / medianOf(other, otherFigure);
  return { ratio, least: Math.min(...each), most: Math.max(...each) };
}

function valuesOf(side: SideResult, figure: FigureName): number[] {
  return side.rounds.map((round) => round[figure] ?? Number.NaN);
}
