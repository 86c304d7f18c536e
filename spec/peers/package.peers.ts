/** The package that `npm pack` makes: its files, its dependencies, its programs and its types. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXAMPLE_PROGRAMS } from '../docs/example-programs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { NODES, ROOT, runChecked, runProgram, toolFolder } from './tools.ts';

const TARBALL_BYTES_MAX = 700_000;
const UNPACKED_BYTES_MAX = 2_400_000;
const MANIFEST = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

const folder = temporaryFolder();
const globals = join(folder, 'global');
/** A project in which the package is installed. */
const project = join(folder, 'project');
let tarball = '';
let files: readonly string[] = [];
let unpackedBytes = 0;

before(async () => {
  const words = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const printed = await runChecked('npm', words);
  const [packed] = JSON.parse(printed.slice(printed.indexOf('[\n'), printed.lastIndexOf(']') + 1));
  tarball = join(folder, packed.filename);
  unpackedBytes = packed.unpackedSize;
  files = packed.files.map(({ path }: { path: string }) => path);
  const cache = ['--cache', join(folder, 'cache'), '--no-audit', '--no-fund'];
  const offline = ['install', '--offline', ...cache];
  await runChecked('npm', [...offline, '--global', '--prefix', globals, tarball]);
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{"private": true}');
  await runChecked('npm', [...offline, tarball], { cwd: project });
});

test(`the tarball has at most ${TARBALL_BYTES_MAX} bytes, and neither source maps nor unneeded files`, (t) => {
  const { size } = statSync(tarball);
  t.diagnostic(`${size} bytes, ${unpackedBytes} unpacked, ${files.length} files`);
  assert.ok(size <= TARBALL_BYTES_MAX, `${size} bytes`);
  assert.ok(unpackedBytes <= UNPACKED_BYTES_MAX, `${unpackedBytes} bytes unpacked`);
  assert.deepEqual(
    files.filter((file) => /\.(map|cache)$|\.meta\.json$|types\/(bin|src\/cli)\//.test(file)),
    [],
  );
  const tables = ['yaml', 'xml'].map((form) => `dist/bin/original-settings-${form}.txt`);
  for (const file of ['LICENSE', 'dist/licences.txt', 'dist/bin/llhttp.wasm', ...tables]) {
    assert.ok(files.includes(file), file);
  }
});

test('an installation needs no other package and no network', () => {
  assert.equal(MANIFEST.dependencies, undefined);
  assert.deepEqual(readdirSync(join(project, 'node_modules')).filter(isPackage), ['gridnode']);
});

test('the package contains the licences of all bundled packages', () => {
  const text = readFileSync(join(project, 'node_modules/gridnode/dist/licences.txt'), 'utf8');
  const parts = text.split(`\n${'-'.repeat(80)}\n`).slice(1);
  for (const name of ['commander', 'pino', 'pino-pretty', 'saxes', 'undici', 'yaml']) {
    assert.ok(
      parts.some((part) => part.trim().startsWith(`${name} `)),
      name,
    );
  }
  for (const part of parts) assert.match(part, /permission|redistribution/i);
});

test('package.json has keywords, and no address of a repository or home page', () => {
  assert.ok(MANIFEST.keywords.length > 0);
  for (const name of ['repository', 'homepage', 'bugs']) assert.ok(!(name in MANIFEST), name);
});

test('the installed program reads YAML and XML files', async () => {
  const yaml = join(folder, 'grid.yaml');
  writeFileSync(yaml, 'grid:\n  cluster-name: of-yaml\n');
  const xml = join(folder, 'grid.xml');
  writeFileSync(xml, '<grid><cluster-name>of-xml</cluster-name></grid>');
  const program = join(globals, 'bin/gridnode');
  assert.equal((await runChecked(program, ['--version'])).trim(), MANIFEST.version);
  for (const [file, name] of [
    [yaml, 'of-yaml'],
    [xml, 'of-xml'],
  ] as const) {
    assert.match(await runChecked(program, ['config', '--config', file]), new RegExp(name));
  }
});

test('a member keeps its compiled code some seconds after its start, and other commands at their end', async () => {
  const folder = join(project, 'node_modules/gridnode/dist/bin');
  const kept = (kind: string) =>
    join(folder, `program-${process.version}-${process.arch}-${kind}.cache`);
  const program = join(project, 'node_modules/.bin/gridnode');
  for (const _ of [1, 2]) {
    await runChecked(program, ['--version']);
    assert.ok(existsSync(kept('command')));
  }
  const member = spawn(program, ['serve', '--port', '0'], { stdio: 'ignore' });
  while (!existsSync(kept('serve'))) await sleep(100);
  member.kill('SIGTERM');
  assert.deepEqual(await once(member, 'exit'), [0, null]);
});

const START = `
  const member = await startMember({ port: 0, groups: ['CLUSTER_WRITE'] });
  const url = 'http://127.0.0.1:' + member.port + '/grid/rest/config/update';
  const response = await fetch(url, { method: 'POST', body: 'dev&&grid: {queue: {q: {max-size: 1}}}' });
  console.log(await response.text());
  await member.drain();`;
const NAMES = '{ startMember }';
const PROGRAMS = {
  'esm.mjs': `import ${NAMES} from 'gridnode';${START}`,
  'commonjs.cjs': `const ${NAMES} = require('gridnode');(async () => {${START}})();`,
};

for (const { version, program } of [{ version: 20, program: process.execPath }, ...NODES]) {
  for (const [name, text] of Object.entries(PROGRAMS)) {
    test(`Node ${version} runs ${name}, which starts a member, adds a configuration and stops`, async () => {
      writeFileSync(join(project, name), text);
      const printed = await runChecked(program, [name], { cwd: project, node: program });
      assert.match(printed, /"addedConfigs":\[\{"sectionName":"queue","configName":"q"\}\]/);
    });
  }
}

test('import and require return the same library', async () => {
  const text =
    "import { createRequire } from 'node:module';\nimport * as one from 'gridnode';\n" +
    "const other = createRequire(import.meta.url)('gridnode');\n" +
    'console.log(Object.keys(other).every((name) => other[name] === one[name]));';
  writeFileSync(join(project, 'both.mjs'), text);
  assert.equal(await runChecked(process.execPath, ['both.mjs'], { cwd: project }), 'true\n');
});

const RESOLUTIONS = {
  node10: { module: 'commonjs', moduleResolution: 'node10', ignoreDeprecations: '6.0' },
  node16: { module: 'node16', moduleResolution: 'node16' },
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
};

for (const [name, options] of Object.entries(RESOLUTIONS)) {
  test(`the types resolve with ${name}, without the types of other packages`, async () => {
    const text =
      "import { type EmbeddedMember, startMember } from 'gridnode';\n" +
      'export const ports = async (...given: Parameters<typeof startMember>): Promise<number> => {\n' +
      '  const member: EmbeddedMember = await startMember(...given);\n' +
      '  // @ts-expect-error a port is a number\n  const text: string = member.port;\n' +
      '  return text === "" ? 0 : member.port;\n};\n';
    const from = join(project, name);
    mkdirSync(from);
    for (const file of ['one.mts', 'other.cts']) writeFileSync(join(from, file), text);
    const compilerOptions = {
      ...options,
      ...{ target: 'es2022', lib: ['es2022'], types: [], strict: true, noEmit: true },
    };
    const config = { compilerOptions, include: ['*.mts', '*.cts'] };
    writeFileSync(join(from, 'tsconfig.json'), JSON.stringify(config));
    await runChecked(join(toolFolder('typescript'), 'bin/tsc'), ['-p', from]);
  });
}

/** The program that uses every public symbol, importing the package. */
const EVERY_SYMBOL = readFileSync(join(ROOT, 'spec/embedding/every-symbol.ts'), 'utf8').replace(
  "'../../src/index.ts'",
  "'gridnode'",
);
const RUN_EVERY_SYMBOL = `
  const [data, backups] = ['data', 'backups'].map((name) => process.argv[2] + '/' + name);
  everySymbol(data, backups).then((seen) => {
    console.log(JSON.stringify(seen) === JSON.stringify(EVERY_SYMBOL));
  });`;

for (const [name, options] of Object.entries(RESOLUTIONS)) {
  for (const types of [[], ['node']]) {
    const given = types.length === 0 ? 'without' : 'with';
    test(`a program that uses every symbol compiles with ${name}, ${given} the types of Node`, async () => {
      const from = join(project, `every-${name}-${given}`);
      mkdirSync(from);
      for (const file of ['every.mts', 'every.cts']) writeFileSync(join(from, file), EVERY_SYMBOL);
      const compilerOptions = {
        ...{ ...options, types, typeRoots: [join(ROOT, 'node_modules/@types')] },
        ...{ target: 'es2022', lib: ['es2022'], strict: true },
        ...{ rootDir: from, outDir: join(from, 'out') },
        ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
      };
      const config = { compilerOptions, include: ['*.mts', '*.cts'] };
      writeFileSync(join(from, 'tsconfig.json'), JSON.stringify(config));
      await runChecked(join(toolFolder('typescript'), 'bin/tsc'), ['-p', from]);
      if (name !== 'nodenext' || types.length === 0) return;
      const names = '{ everySymbol, EVERY_SYMBOL }';
      const programs = {
        'run.mjs': `import ${names} from './every.mjs';${RUN_EVERY_SYMBOL}`,
        'run.cjs': `const ${names} = require('./every.cjs');${RUN_EVERY_SYMBOL}`,
      };
      for (const [file, text] of Object.entries(programs)) {
        writeFileSync(join(from, 'out', file), text);
        for (const { version, program } of [{ version: 20, program: process.execPath }, ...NODES]) {
          const words = [file, join(from, `${version}-${file}`)];
          const cwd = join(from, 'out');
          const printed = await runChecked(program, words, { cwd, node: program });
          assert.equal(printed, 'true\n', `${version} ${file}`);
        }
      }
    });
  }
}

for (const { text, where, file } of EXAMPLE_PROGRAMS) {
  test(`the program at ${where} compiles, if it is TypeScript, and ends without an error`, async () => {
    writeFileSync(join(project, file), text);
    if (file.endsWith('.mts')) {
      const words = ['--module', 'nodenext', '--strict', '--types', 'node', '--outDir', '.', file];
      const types = ['--typeRoots', join(ROOT, 'node_modules/@types')];
      await runChecked(join(toolFolder('typescript'), 'bin/tsc'), [...types, ...words], {
        cwd: project,
      });
    }
    await runChecked(process.execPath, [file.replace('.mts', '.mjs')], { cwd: project });
  });
}

test('are-the-types-wrong and publint report no problem', async () => {
  const attw = toolFolder('@arethetypeswrong/cli');
  await runChecked(process.execPath, [join(attw, 'dist/index.js'), tarball]);
  const publint = toolFolder('publint');
  await runChecked(process.execPath, [join(publint, 'src/cli.js'), 'run', tarball, '--strict']);
});

test('TypeDoc documents the public types without a warning, and each has a comment', async () => {
  const typedoc = join(toolFolder('typedoc'), 'bin/typedoc');
  const entry = join(ROOT, 'dist/types/src/index.d.ts');
  const compilerOptions = { module: 'nodenext', lib: ['es2022'], types: [], strict: true };
  const tsconfig = join(folder, 'tsconfig.json');
  writeFileSync(tsconfig, JSON.stringify({ compilerOptions, files: [entry] }));
  const words = [
    '--tsconfig',
    tsconfig,
    '--out',
    join(folder, 'pages'),
    '--readme',
    'none',
    '--validation.notDocumented',
    // A checkout may have no remote.
    '--disableSources',
  ];
  const { code, output } = await runProgram(process.execPath, [typedoc, ...words, entry]);
  assert.equal(code, 0, output);
  // A comment of a table or of a type is also one of the parts that its type is made of.
  const warnings = output.split('\n').filter((line) => line.includes('[warning]'));
  const isPart = /\b(ERRORS|ENDPOINT_GROUPS|LockSignal|StoredBytes)\.__type\b/;
  assert.deepEqual(
    warnings.filter((line) => !isPart.test(line) && !/Found 0 errors/.test(line)),
    [],
  );
});

function isPackage(name: string): boolean {
  return !name.startsWith('.');
}
