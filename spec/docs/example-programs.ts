/** The programs in the pages that use the library: CommonJS, ES modules and TypeScript. */
import { PAGES } from './pages.ts';

export interface ExampleProgram {
  readonly text: string;
  /** Page and line, such as `docs/embedding.md:12`. */
  readonly where: string;
  /** A file name whose extension selects the module system. */
  readonly file: 'program.mjs' | 'program.cjs' | 'program.mts';
}

export const EXAMPLE_PROGRAMS: readonly ExampleProgram[] = PAGES.flatMap(({ path, blocks }) =>
  blocks
    .filter(({ text }) => /(from |require\()'gridnode'/.test(text))
    .map(({ text, language, number }) => ({
      text,
      where: `${path}:${number}`,
      file: fileOf(language, text),
    })),
);

function fileOf(language: string, text: string): ExampleProgram['file'] {
  if (language === 'ts') return 'program.mts';
  return text.includes('require(') ? 'program.cjs' : 'program.mjs';
}
