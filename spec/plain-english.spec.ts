/**
 * Comments, messages and pages avoid phrases that a native reader has to translate. Covers src, bin, docs and
 * the pages at the root. Each rule has a better wording.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PAGES } from './docs/pages.ts';
import { sources, textOf } from './project-files.ts';

interface Rule {
  readonly phrase: RegExp;
  readonly better: string;
  /** Whether the rule applies only to comments, in which a sentence can open with a fragment. */
  readonly commentsOnly?: true;
}

const RULES: readonly Rule[] = [
  {
    phrase: /(?:^|[.:] )What (?!is\b.*\?|are\b.*\?|does\b.*\?)/,
    better: 'a noun',
    commentsOnly: true,
  },
  { phrase: /(?:^|\. )Of (?!two|several)/, better: 'the subject first', commentsOnly: true },
  { phrase: /(?:^|\. )Where /, better: 'If or When', commentsOnly: true },
  { phrase: /(?:^|\. )Behind /, better: 'After', commentsOnly: true },
  {
    phrase: /(?:^|\. )The same(?:[.:;,]| (?:as|at|by|for|from|in|of|on|to|where|with|without)\b)/,
    better: 'the subject itself',
    commentsOnly: true,
  },
  { phrase: /\btold\b/, better: 'reported, notified' },
  { phrase: /\btells\b/, better: 'reports, returns, shows' },
  { phrase: /\bso many\b/, better: 'this many' },
  { phrase: /\bso long\b(?! as)/, better: 'this long' },
  { phrase: /\bof late\b/, better: 'recently, or the time' },
  { phrase: /\blikewise\b/i, better: 'also' },
  { phrase: /(?<!there )\b(?:is|are) none\b/, better: 'invalid, not a …, does not exist' },
  { phrase: /\beach (?:second|minute|hour|day|week|\d+ m?s\b)/, better: 'every' },
  { phrase: /, too[,.;:)]|, also,/, better: 'also, before the verb' },
  { phrase: /\balone\b/, better: 'only, before its word' },
  { phrase: /\bha(?:s|ve) what\b/, better: 'lists, describes, contains' },
];

interface Text {
  readonly where: string;
  readonly text: string;
  readonly isComment: boolean;
}

test('Comments, messages and pages use plain English', () => {
  const texts = [...sources.flatMap(textsOf), ...pageTexts()];
  const found = texts.flatMap(({ where, text, isComment }) =>
    RULES.filter(
      ({ phrase, commentsOnly }) => (isComment || !commentsOnly) && phrase.test(text),
    ).map(({ phrase, better }) => `${where}: ${phrase}: use ${better}: ${excerpt(text, phrase)}`),
  );
  assert.deepEqual(found, []);
});

/** Returns the comments of a source file, each as one line, and its strings of several words. */
function textsOf(file: string): Text[] {
  const found: Text[] = [];
  let comment: string[] = [];
  const lines = textOf(file).split('\n');
  for (const [index, line] of [...lines, ''].entries()) {
    const [, inComment] = /^\s*(?:\/\*\*?|\*\/?|\/\/)\s?(.*?)(?:\*\/)?\s*$/.exec(line) ?? [];
    if (inComment !== undefined) {
      comment.push(inComment.trim());
      continue;
    }
    const text = comment.filter((each) => each !== '').join(' ');
    if (text !== '') found.push({ where: `${file}:${index}`, text, isComment: true });
    comment = [];
    const strings = [...line.matchAll(/'((?:[^'\\]|\\.)+)'|`([^`]+)`/g)];
    for (const [, plain, template] of strings) {
      const message = plain ?? template ?? '';
      if (/[a-z]{2} [a-z]{2}/.test(message))
        found.push({ where: `${file}:${index + 1}`, text: message, isComment: false });
    }
  }
  return found;
}

function pageTexts(): Text[] {
  return PAGES.flatMap(({ path, lines }) =>
    lines
      .filter(({ kind }) => kind === 'prose' || kind === 'table')
      .map(({ text, number }) => ({ where: `${path}:${number}`, text, isComment: false })),
  );
}

function excerpt(text: string, phrase: RegExp): string {
  const at = text.search(phrase);
  return text.slice(Math.max(0, at - 30), at + 60);
}
