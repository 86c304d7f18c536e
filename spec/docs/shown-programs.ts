/** The programs that pages show of the library, of either form of modules and of TypeScript. */
import { PAGES } from './pages.ts';

export interface ShownProgram {
  readonly text: string;
  /** As in `docs/embedding.md:12`. */
  readonly where: string;
  /** With the ending that tells Node or the compiler its form. */
  readonly file: 'program.mjs' | 'program.cjs' | 'program.mts';
}

export const SHOWN_PROGRAMS: readonly ShownProgram[] = PAGES.flatMap(({ path, blocks }) =>
  blocks
    .filter(({ text }) => /(from |require\()'gridnode'/.test(text))
    .map(({ text, language, number }) => ({
      text,
      where: `${path}:${number}`,
      file: fileOf(language, text),
    })),
);

function fileOf(language: string, text: string): ShownProgram['file'] {
  if (language === 'ts') return 'program.mts';
  return text.includes('require(') ? 'program.cjs' : 'program.mjs';
}
