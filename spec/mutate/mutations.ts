/**
 * The single changes that can be made to source files: an operator, a bound, a constant or a branch
 * is replaced. Assertions, types and the arguments of errors are not changed, because specs do not
 * need to notice them.
 */
import {
  type Expression,
  isBinaryExpression,
  isBlock,
  isCallExpression,
  isConditionalExpression,
  isForStatement,
  isIfStatement,
  isImportDeclaration,
  isInterfaceDeclaration,
  isMethodDeclaration,
  isPostfixUnaryExpression,
  isPrefixUnaryExpression,
  isThrowStatement,
  isTypeNode,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { createVirtualFileSystem } from 'typescript/unstable/fs';
import { API } from 'typescript/unstable/sync';
import type { Random } from '../../bench/harness.ts';

const KINDS = ['operator', 'bound', 'constant', 'branch'] as const;

export interface Mutation {
  /** Path from the project's root. */
  readonly file: string;
  readonly kind: (typeof KINDS)[number];
  /** First and last index of the replaced text, the last excluded. */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** Index of the first character in the innermost block, or 0. */
  readonly block: number;
}

/** Replacements of binary and unary operators. */
const OPERATORS: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '&': '|',
  '|': '&',
  '^': '&',
  '<<': '>>',
  '>>': '<<',
  '>>>': '<<',
  '+=': '-=',
  '-=': '+=',
  '|=': '&=',
  '&=': '|=',
  '++': '--',
  '--': '++',
};
const BOUNDS: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };

/** Returns all mutations of the files, given by path and text, in the order of files and places. */
export function mutationsOf(texts: Readonly<Record<string, string>>): Mutation[] {
  const inRoot = Object.entries(texts).map(([file, text]) => [`/${file}`, text] as const);
  const fs = createVirtualFileSystem({
    ...Object.fromEntries(inRoot),
    '/tsconfig.json': JSON.stringify({ compilerOptions: { noLib: true, types: [] } }),
  });
  const api = new API({ cwd: '/', fs });
  try {
    const snapshot = api.updateSnapshot({ openProject: '/tsconfig.json' });
    const [project] = snapshot.getProjects();
    return Object.entries(texts).flatMap(([file, text]) => {
      const source = project?.program.getSourceFile(`/${file}`);
      if (source === undefined) throw new Error(`Cannot parse ${file}`);
      const found: Mutation[] = [];
      let block = 0;
      const add: Add = (kind, start, end, replacement) =>
        found.push({ file, kind, start, end, replacement, block });
      const visitAll = (node: Node): void => {
        const outer = block;
        if (isBlock(node)) block = placeOf(node, text)[0] + 1;
        visit(node, text, add, visitAll);
        block = outer;
      };
      source.forEachChild(visitAll);
      return found;
    });
  } finally {
    api.close();
  }
}

/** Chooses different mutations at random, the same number of each kind if there are enough. */
export function chosenFrom(all: readonly Mutation[], count: number, random: Random): Mutation[] {
  const stocks = KINDS.map((kind) => all.filter((mutation) => mutation.kind === kind));
  const chosen: Mutation[] = [];
  while (chosen.length < Math.min(count, all.length)) {
    const stock = stocks[chosen.length % KINDS.length] ?? [];
    const left = stock.length > 0 ? stock : stocks.flat();
    const [next] = left.splice(random.below(left.length), 1);
    if (next === undefined) break;
    chosen.push(next);
  }
  return chosen;
}

/** Returns the text of the file after the mutation. */
export function mutated(text: string, { start, end, replacement }: Mutation): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

/** Returns the text with others inserted, each at an index. */
export function withInsertions(text: string, all: readonly (readonly [number, string])[]): string {
  const sorted = [...all].sort(([one], [other]) => one - other);
  const starts = sorted.map(([at]) => at);
  const pieces = sorted.map(
    ([at, inserted], index) => inserted + text.slice(at, starts[index + 1]),
  );
  return text.slice(0, starts[0]) + pieces.join('');
}

type Add = (kind: Mutation['kind'], start: number, end: number, replacement: string) => void;

/** Adds the mutations of the node itself, and calls `visitChild` for its children. */
function visit(node: Node, text: string, add: Add, visitChild: (child: Node) => void): void {
  if (isSkipped(node, text)) return;
  if (isBinaryExpression(node)) addOperator(node.operatorToken, node, text, add);
  else if (isPrefixUnaryExpression(node) || isPostfixUnaryExpression(node))
    addUnary(node, text, add);
  else if (isIfStatement(node)) {
    for (const outcome of ['true', 'false']) replace('branch', node.expression, outcome, text, add);
  } else if (isConditionalExpression(node)) {
    replace('branch', node.condition, `!(${textOf(node.condition, text)})`, text, add);
  } else if (node.kind === SyntaxKind.NumericLiteral) {
    replace('constant', node, `${Number(textOf(node, text).replaceAll('_', '')) + 1}`, text, add);
  } else if (node.kind === SyntaxKind.TrueKeyword) replace('constant', node, 'false', text, add);
  else if (node.kind === SyntaxKind.FalseKeyword) replace('constant', node, 'true', text, add);
  node.forEachChild((child) => {
    // A loop that counts in the other direction only costs time: it fails or never ends.
    if (!(isForStatement(node) && child === node.incrementor)) visitChild(child);
  });
}

function isSkipped(node: Node, text: string): boolean {
  if (isTypeNode(node) || isImportDeclaration(node) || isInterfaceDeclaration(node)) return true;
  if (isThrowStatement(node)) return true;
  if (isCallExpression(node)) return /^assert\b/.test(textOf(node, text));
  if (isIfStatement(node)) return isAssertion(node.thenStatement, text);
  return isMethodDeclaration(node) && textOf(node.name, text) === 'invariants';
}

/** Whether a statement, or the only one of a block, is a call of an assertion. */
function isAssertion(statement: Node, text: string): boolean {
  const inside = isBlock(statement) ? statement.statements : [statement];
  return inside.length === 1 && /^assert\b/.test(textOf(inside[0] as Node, text));
}

function addOperator(
  token: Node,
  { left, right }: { readonly left: Expression; readonly right: Expression },
  text: string,
  add: Add,
): void {
  const operator = textOf(token, text);
  const bound = BOUNDS[operator];
  const other = OPERATORS[operator];
  if (bound !== undefined) replace('bound', token, bound, text, add);
  else if (other !== undefined && !isText(left) && !isText(right)) {
    replace('operator', token, other, text, add);
  }
}

function addUnary(node: Node & { readonly operand: Expression }, text: string, add: Add): void {
  const [start, end] = placeOf(node, text);
  const [operandStart, operandEnd] = placeOf(node.operand, text);
  if (text[start] === '!') add('operator', start, operandStart, '');
  const isPrefix = operandStart > start;
  const operator = isPrefix ? text.slice(start, operandStart) : text.slice(operandEnd, end);
  const other = operator.length === 2 ? OPERATORS[operator] : undefined;
  if (other === undefined) return;
  if (isPrefix) add('operator', start, operandStart, other);
  else add('operator', operandEnd, end, other);
}

function isText(node: Node): boolean {
  if (isBinaryExpression(node)) return isText(node.left) || isText(node.right);
  return [
    SyntaxKind.StringLiteral,
    SyntaxKind.NoSubstitutionTemplateLiteral,
    SyntaxKind.TemplateExpression,
  ].includes(node.kind);
}

function replace(
  kind: Mutation['kind'],
  node: Node,
  replacement: string,
  text: string,
  add: Add,
): void {
  const [start, end] = placeOf(node, text);
  add(kind, start, end, replacement);
}

function textOf(node: Node, text: string): string {
  return text.slice(...placeOf(node, text));
}

function placeOf(node: Node, text: string): [start: number, end: number] {
  const full = text.slice(node.pos, node.end);
  const trivia = /^(\s|\/\/[^\n]*\n|\/\*[\s\S]*?\*\/)*/.exec(full)?.[0].length ?? 0;
  return [node.pos + trivia, node.end];
}
