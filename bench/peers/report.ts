/** The report of a comparison, in Markdown: the targets, then every work. */
import { count } from '../harness.ts';
import { BARS, type Bar } from './bars.ts';
import { medianOf, type Ratio, ratioOf, type SideResult, type WorkResult } from './comparison.ts';
import type { Peer } from './peer.ts';
import { FIGURES, type FigureName } from './work.ts';

/** A bar and the measured figures. */
export interface Row extends Bar {
  readonly value: number;
  readonly other?: number;
  /** Ratio of the value to the other side's; NaN while one of them is unknown. */
  readonly measured?: Ratio;
  readonly holds: boolean;
}

const names = Object.keys(FIGURES) as FigureName[];

/** Returns the bars of the works that were run; a bar whose peer is missing has NaN. */
export function rowsOf(results: readonly WorkResult[]): Row[] {
  return BARS.flatMap((bar) => {
    const sides = results.find(({ name }) => name === bar.work)?.sides;
    const side = sides?.find(({ name }) => name === (bar.of ?? 'gridnode'));
    if (sides === undefined || side === undefined) return [];
    const value = medianOf(side, bar.figure);
    if (bar.against === undefined) return [{ ...bar, value, holds: isWithin(bar, value) }];
    const against = sides.find(({ name }) => name === bar.against) ?? { name: '', rounds: [] };
    const otherFigure = bar.againstFigure ?? bar.figure;
    const measured = ratioOf(side, against, bar.figure, otherFigure);
    const other = medianOf(against, otherFigure);
    return [{ ...bar, value, other, measured, holds: isWithin(bar, measured.ratio) }];
  });
}

export function rowsTable(rows: readonly Row[]): string {
  return [
    '| Work | beside | gridnode | it | ratio (rounds) | bar | |',
    '|---|---|---|---|---|---|---|',
    ...rows.map((row) => {
      const { about, against = '-', figure, againstFigure = figure, value, other, measured } = row;
      const it = other === undefined ? '-' : numberOf(againstFigure, other);
      const ratio = measured === undefined ? '-' : ratioText(measured);
      const cells = [about, against, withUnit(figure, value), it, ratio, barText(row)];
      return `| ${[...cells, verdict(row)].join(' | ')} |`;
    }),
  ].join('\n');
}

export function worksTable(results: readonly WorkResult[]): string {
  return ['| Work | server | medians | gridnode to it |', '|---|---|---|---|']
    .concat(results.flatMap(workLines))
    .join('\n');
}

/** Returns one line per side. */
export function workLines({ about, sides }: WorkResult): string[] {
  const own = sides.find(({ name }) => name === 'gridnode');
  return sides.map((side) => {
    const known = names.filter((figure) => !Number.isNaN(medianOf(side, figure)));
    const figures = known.map((figure) => withUnit(figure, medianOf(side, figure))).join(', ');
    const ratios = side === own || own === undefined ? '' : ratiosText(own, side, known);
    return `| ${about} | ${side.name} | ${side.failure ?? figures} | ${ratios} |`;
  });
}

/** Returns a line for each peer that is not installed, with the command that installs it. */
export function missingLines(peers: readonly Peer[]): string[] {
  return peers
    .filter((peer) => !peer.isInstalled())
    .map((peer) => `not installed: ${peer.name}; install it with: ${peer.install}`);
}

function isWithin(bar: Bar, value: number): boolean {
  return value >= (bar.atLeast ?? 0) && value <= (bar.atMost ?? Number.POSITIVE_INFINITY);
}

function verdict({ holds, value, measured }: Row): string {
  if (Number.isNaN(measured === undefined ? value : measured.ratio)) return 'not measured';
  return holds ? 'holds' : 'falls short';
}

function barText({ atLeast, atMost = Number.NaN }: Bar): string {
  if (atLeast !== undefined) return `at least ${atLeast}`;
  return `at most ${Number(atMost.toFixed(3))}`;
}

function ratioText({ ratio, least, most }: Ratio): string {
  return `${ratio.toFixed(2)} (${least.toFixed(2)}-${most.toFixed(2)})`;
}

/** Returns the ratio of the first figure, which is the subject of the work. */
function ratiosText(own: SideResult, side: SideResult, known: readonly FigureName[]): string {
  const [first] = known;
  return first === undefined ? '' : ratioText(ratioOf(own, side, first));
}

function withUnit(figure: FigureName, value: number): string {
  const { unit } = FIGURES[figure];
  return `${numberOf(figure, value)}${unit.startsWith('/') ? '' : ' '}${unit}`;
}

function numberOf(figure: FigureName, value: number): string {
  const { digits } = FIGURES[figure];
  if (Number.isNaN(value)) return '-';
  return digits === 0 ? count(value) : value.toFixed(digits);
}
