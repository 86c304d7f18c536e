/** Files of the project, and queries for the specs of its structure. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

export const ROOT = dirname(import.meta.dirname);
const SKIPPED = new Set(['node_modules', 'dist', 'bench-results', '.git']);

export interface Import {
  /** Path from the project's root. */
  readonly path: string;
  readonly typesOnly: boolean;
  /** Names that are imported. */
  readonly names: readonly string[];
}

export const files: readonly string[] = walk('.');
const texts = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
const imports = new Map<string, Import[]>();
export const sources = files.filter((file) => /^(bin|src)\/.*\.ts$/.test(file));
export const code = files.filter((file) => /^(bin|src|bench|spec)\/.*\.ts$/.test(file));

export function textOf(file: string): string {
  return texts.get(file) ?? '';
}

export function importsOf(file: string): readonly Import[] {
  const known = imports.get(file);
  if (known !== undefined) return known;
  const text = textOf(file);
  const found: Import[] = [];
  imports.set(file, found);
  const statements = /^(?:import|export)\b([^;'"]*?)\bfrom '(\.[^']+)'/gm;
  for (const [, clause = '', path = ''] of text.matchAll(statements)) {
    const names = namesIn(clause, text);
    found.push({ path: join(dirname(file), path), typesOnly: isTypesOnly(clause), names });
  }
  for (const [, path = ''] of text.matchAll(/\bimport(?:\(| )'(\.[^']+)'/g)) {
    // For a module that is imported lazily, every word of the file counts as a name.
    const names = [...new Set(text.match(/\w+/g))];
    found.push({ path: join(dirname(file), path), typesOnly: false, names });
  }
  return found;
}

/** The spec that tests a source file: the one that its header names, or the one of its name. */
export function specOf(file: string): string {
  const text = textOf(file);
  const header = text.slice(0, text.indexOf('*/'));
  const [, name] = /\bTested by (\S+)\.\s+$/.exec(header) ?? [];
  if (name === undefined) return ownSpecOf(file);
  const near = join(dirname(ownSpecOf(file)), name);
  return texts.has(near) ? near : join('spec', name);
}

/** The path of a spec of the name of a source file, in the folder that mirrors its own. */
export function ownSpecOf(file: string): string {
  return join('spec', file.replace(/^src\//, '').replace(/\.ts$/, '.spec.ts'));
}

/**
 * Returns the names between `import` and `from`; for `* as each`, the names that follow `each.` in
 * the text.
 */
function namesIn(clause: string, text: string): string[] {
  const [, all] = /\* as (\w+)/.exec(clause) ?? [];
  if (all === undefined) {
    return [...clause.matchAll(/(?:^|[{,])\s*(?:type )?(\w+)/g)].map(([, name = '']) => name);
  }
  return [...text.matchAll(new RegExp(`\\b${all}\\.(\\w+)`, 'g'))].map(([, name = '']) => name);
}

/** Whether the import clause is `type { A }` or `{ type A, type B }`. */
function isTypesOnly(clause: string): boolean {
  if (/^\s*type\b/.test(clause)) return true;
  const names = clause
    .replace(/[{}]/g, '')
    .split(',')
    .filter((name) => name.trim() !== '');
  return names.length > 0 && names.every((name) => /^\s*type\b/.test(name));
}

/** Returns the paths of all project files under the folder, relative to the root. */
function walk(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter((entry) => !SKIPPED.has(entry.name) && !entry.name.endsWith('.log'))
    .flatMap((entry) => {
      const path = relative(ROOT, join(ROOT, folder, entry.name));
      return entry.isDirectory() ? walk(path) : [path];
    });
}
