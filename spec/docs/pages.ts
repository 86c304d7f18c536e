/**
 * The pages that users read: README and the other pages at the root, docs/, and the page of the
 * examples. Each line has its kind, so that the specs can distinguish prose from code, tables and
 * link definitions.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

const AT_ROOT = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'];
const EXAMPLES = 'examples/README.md';

export type Kind = 'prose' | 'code' | 'table' | 'definition' | 'comment';

export interface Line {
  readonly text: string;
  readonly kind: Kind;
  /** Line number, from 1. */
  readonly number: number;
}

/** Fenced code, with the HTML comment that marks it. */
export interface Block {
  /** The word after the fence, such as `console`. */
  readonly language: string;
  /** Text of the HTML comment on the line above, or empty. */
  readonly mark: string;
  readonly text: string;
  /** Line of the fence, from 1. */
  readonly number: number;
}

export interface Page {
  /** Path from the project's root, such as `docs/faq.md`. */
  readonly path: string;
  readonly lines: readonly Line[];
  readonly blocks: readonly Block[];
  /** Names that links may have after `#`: the anchors that the code host derives from headings. */
  readonly anchors: ReadonlySet<string>;
}

export const PAGES: readonly Page[] = [
  ...AT_ROOT,
  EXAMPLES,
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].map((path) => readPage(path, readFileSync(join(ROOT, path), 'utf8')));

export function pageOf(path: string): Page {
  const found = PAGES.find((page) => page.path === path);
  if (found === undefined) throw new Error(`There is no page ${path}`);
  return found;
}

export function readPage(path: string, text: string): Page {
  const texts = text.replace(/\n$/, '').split('\n');
  const lines: Line[] = [];
  const blocks: Block[] = [];
  let fence: number | undefined;
  for (const [index, line] of texts.entries()) {
    const isFence = /^```/.test(line);
    lines.push({
      text: line,
      kind: fence !== undefined || isFence ? 'code' : kindOf(line),
      number: index + 1,
    });
    if (!isFence) continue;
    if (fence !== undefined) {
      const mark = /^<!-- ?(.*?) ?-->$/.exec(texts[fence - 1] ?? '')?.[1] ?? '';
      const language = (texts[fence] ?? '').slice(3);
      const inside = texts.slice(fence + 1, index).map((each) => `${each}\n`);
      blocks.push({ language, mark, text: inside.join(''), number: fence + 1 });
    }
    fence = fence === undefined ? index : undefined;
  }
  return { path, lines, blocks, anchors: anchorsOf(lines) };
}

function kindOf(line: string): Kind {
  if (/^\s*\|/.test(line)) return 'table';
  if (/^\[[^\]]+\]: /.test(line)) return 'definition';
  return /^<!--.*-->$/.test(line) ? 'comment' : 'prose';
}

function anchorsOf(lines: readonly Line[]): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const { text, kind } of lines) {
    const heading = kind === 'prose' ? /^#{1,6} (.*)$/.exec(text)?.[1] : undefined;
    if (heading === undefined) continue;
    const stem = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
      .replaceAll(' ', '-');
    let anchor = stem;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${stem}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

export interface Link {
  /** The target as written. */
  readonly target: string;
  /** Page and line, such as `docs/faq.md:12`. */
  readonly where: string;
}

/** Links of the page to other pages and files, without those in code. */
export function linksOf(page: Page): readonly Link[] {
  return page.lines
    .filter(({ kind }) => kind !== 'code' && kind !== 'comment')
    .flatMap(({ text, number }) => {
      const prose = text.replace(/`[^`]*`/g, '``');
      const targets = [
        ...[...prose.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? ''),
        ...[...prose.matchAll(/^\[[^\]]+\]: (\S+)/g)].map((match) => match[1] ?? ''),
      ];
      return targets
        .filter((target) => !/^[a-z]+:/.test(target))
        .map((target) => ({ target, where: `${page.path}:${number}` }));
    });
}

export interface Span {
  /** The text between the back quotes. */
  readonly text: string;
  readonly where: string;
}

/** Code spans in prose and tables. */
export function spansOf(page: Page): readonly Span[] {
  return page.lines
    .filter(({ kind }) => kind === 'prose' || kind === 'table')
    .flatMap(({ text, number }) =>
      [...text.matchAll(/`([^`]+)`/g)].map((match) => ({
        text: match[1] ?? '',
        where: `${page.path}:${number}`,
      })),
    );
}
