/**
 * The images of README as SVG: the recording of its tour in a terminal, and badges. Each line of
 * text has a given width, so that any font fits.
 */
import type { Step } from './console-blocks.ts';

const COLUMN_PX = 8;
const LINE_PX = 17;
const MARGIN_PX = 14;
const TITLE_BAR_PX = 26;
const KEY_MS = 35;
/** Time between the end of a command and its output, and between the output and the next prompt. */
const RESPONSE_MS = 250;
const READING_MS = 700;

interface Row {
  readonly text: string;
  readonly isCommand: boolean;
  /** Time at which it appears, in ms. */
  readonly atMs: number;
}

/**
 * Returns an SVG that shows the commands being typed and their output, once. Without animations
 * (`prefers-reduced-motion`, or a viewer that has none) it shows everything at once.
 */
export function recordingOf(steps: readonly Step[], title: string): string {
  const rows = rowsOf(steps);
  const columns = Math.max(...rows.map(({ text }) => text.length));
  const width = columns * COLUMN_PX + 2 * MARGIN_PX;
  const height = TITLE_BAR_PX + rows.length * LINE_PX + MARGIN_PX;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">
<style>
  text { font: 13px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #c9d1d9; white-space: pre }
  .command { fill: #7ee787 }
  .cover { fill: #0d1117; opacity: 0 }
  @media (prefers-reduced-motion: no-preference) {
    .row { animation: absent 1ms step-end }
    .cover { animation: typed 1ms linear backwards }
  }
  @keyframes absent { from { opacity: 0 } to { opacity: 0 } }
  @keyframes typed { from { opacity: 1; transform: none } to { opacity: 1; transform: translateX(${width}px) } }
</style>
<rect width="${width}" height="${height}" rx="6" fill="#0d1117"/>
${['#ff5f57', '#febc2e', '#28c840'].map((colour, index) => `<circle cx="${16 + index * 16}" cy="13" r="5" fill="${colour}"/>`).join('')}
${rows.map((row, index) => rowElement(row, index, width)).join('\n')}
</svg>
`;
}

function rowsOf(steps: readonly Step[]): readonly Row[] {
  const rows: Row[] = [];
  let atMs = READING_MS;
  for (const { command, printed } of steps) {
    rows.push({ text: `$ ${command}`, isCommand: true, atMs });
    atMs += command.length * KEY_MS + RESPONSE_MS;
    const lines = printed === '' ? [] : printed.replace(/\n+$/, '').split('\n');
    for (const text of lines) rows.push({ text, isCommand: false, atMs });
    atMs += READING_MS;
  }
  return rows;
}

function rowElement({ text, isCommand, atMs }: Row, index: number, width: number): string {
  const y = TITLE_BAR_PX + (index + 1) * LINE_PX - 4;
  if (text === '') return '';
  const size = `textLength="${text.length * COLUMN_PX}" lengthAdjust="spacingAndGlyphs"`;
  const words = `<text class="row${isCommand ? ' command' : ''}" style="animation-duration: ${atMs}ms" x="${MARGIN_PX}" y="${y}" ${size}>${escaped(text)}</text>`;
  if (!isCommand) return words;
  const typedMs = (text.length - 2) * KEY_MS;
  // It moves by the width of the image in steps of a column, and uncovers the text from the left.
  const timing = `animation-delay: ${atMs}ms; animation-duration: ${Math.round((typedMs * width) / ((text.length - 2) * COLUMN_PX))}ms; animation-timing-function: steps(${Math.round(width / COLUMN_PX)})`;
  const x = MARGIN_PX + 2 * COLUMN_PX;
  return `${words}<rect class="cover" style="${timing}" x="${x}" y="${y - 13}" width="${width - x}" height="${LINE_PX}"/>`;
}

/** Returns a badge: a label and its value. */
export function badgeOf(label: string, value: string): string {
  const LETTER_PX = 6.6;
  const PADDING_PX = 6;
  const labelPx = Math.ceil(label.length * LETTER_PX) + 2 * PADDING_PX;
  const valuePx = Math.ceil(value.length * LETTER_PX) + 2 * PADDING_PX;
  const words = (text: string, x: number, px: number): string =>
    `<text x="${x + PADDING_PX}" y="14" textLength="${px - 2 * PADDING_PX}" lengthAdjust="spacingAndGlyphs">${escaped(text)}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${labelPx + valuePx}" height="20" role="img" aria-label="${escaped(`${label}: ${value}`)}">
<style>text { font: 11px Verdana, 'DejaVu Sans', sans-serif; fill: #fff }</style>
<clipPath id="round"><rect width="${labelPx + valuePx}" height="20" rx="3"/></clipPath>
<g clip-path="url(#round)"><rect width="${labelPx}" height="20" fill="#555"/><rect x="${labelPx}" width="${valuePx}" height="20" fill="#0969da"/></g>
${words(label, 0, labelPx)}${words(value, labelPx, valuePx)}
</svg>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
