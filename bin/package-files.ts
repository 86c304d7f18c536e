/**
 * A step of `make build`: writes the package's files, in addition to its bundles, into the given
 * folder. They are the library's entries for both module systems, which list the exports of
 * src/index.ts; its types, selected from those that the compiler wrote to `types/`; the program of
 * the thread; llhttp as undici includes it; and the licences of the bundled packages.
 * Tested by peers/package.peers.ts.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { LLHTTP_FILE, readModule } from '../src/http/llhttp-module.ts';
import * as library from '../src/index.ts';

const LICENCE_FILE = /^(licen[cs]e|copying|notice)/i;
const COLLECTED = 'packaging/licences';
const COMMONJS = '{ "type": "commonjs" }\n';

const folder = process.argv[2] ?? '';
writeEntries(Object.keys(library).sort());
keepTypes('src/index.d.ts');
writeFileSync(join(folder, 'bin', LLHTTP_FILE), readModule());
writeFileSync(
  join(folder, 'licences.txt'),
  licencesOf([...bundledPackages(), 'node_modules/undici']),
);

/**
 * Writes the entries. Both module systems load the same library: the ES module imports the CommonJS
 * one.
 */
function writeEntries(names: readonly string[]): void {
  const entries = {
    'index.cjs': [
      "'use strict';",
      "const program = require('./bin/program.js');",
      ...names.map((name) => `exports.${name} = program.${name};`),
    ],
    'index.mjs': [`export { ${names.join(', ')} } from './index.cjs';`],
    'index.d.cts': ["export * from './types/src/index.js';"],
    'index.d.mts': ["export * from './index.cjs';"],
    'bin/reading-thread-program.js': ["require('./program.js').answerReadings();"],
  };
  for (const [name, lines] of Object.entries(entries)) {
    writeFileSync(join(folder, name), `${lines.join('\n')}\n`);
  }
  for (const name of ['bin', 'types']) writeFileSync(join(folder, name, 'package.json'), COMMONJS);
}

/**
 * Removes the types that `entry` does not need. Throws if it needs types of a package, because no
 * package with types is installed with this one.
 */
function keepTypes(entry: string): void {
  const types = join(folder, 'types');
  const kept = new Set<string>();
  const open = [entry];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (kept.has(file)) continue;
    kept.add(file);
    for (const [, path = ''] of readFileSync(join(types, file), 'utf8').matchAll(
      /(?:\bfrom |\bimport\(|^import )'([^']+)'/gm,
    )) {
      if (!path.startsWith('.')) throw new Error(`Cannot keep ${file}: it needs types of ${path}`);
      open.push(join(dirname(file), path.replace(/\.[jt]s$/, '.d.ts')));
    }
  }
  for (const entry of readdirSync(types, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && path.endsWith('.ts') && !kept.has(relative(types, path))) rmSync(path);
  }
}

/**
 * Returns the folders of the bundled packages, from the metadata that esbuild writes for each
 * bundle.
 */
function bundledPackages(): string[] {
  const bundles = readdirSync(folder).filter((name) => name.endsWith('.meta.json'));
  const packages = bundles.flatMap((name) => {
    const { inputs } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { inputs: object };
    return Object.keys(inputs).flatMap((path) => {
      const [found] = /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path) ?? [];
      return found === undefined ? [] : [found];
    });
  });
  return [...new Set(packages)].sort();
}

/**
 * Returns the licence texts of the packages. packaging/licences contains the texts of packages that
 * come without one. Throws if a package has no licence text.
 */
function licencesOf(packages: readonly string[]): string {
  const parts = packages.map((path) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(path, 'package.json'), 'utf8'),
    ) as Record<string, string>;
    const own = readdirSync(path).filter((file) => LICENCE_FILE.test(file));
    const files =
      own.length > 0 ? own.map((file) => join(path, file)) : [join(COLLECTED, `${name}.txt`)];
    const texts = files.map((file) => readFileSync(file, 'utf8').trim());
    return [`${name} ${version}: ${license}`, ...texts].join('\n\n');
  });
  const about = 'The program contains these packages, each under the licence shown:';
  return `${[about, ...parts].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}
