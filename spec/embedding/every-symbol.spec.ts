/** Covers src/index.ts. A program that uses every public symbol runs, and leaves none out. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as library from '../../src/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { EVERY_SYMBOL, everySymbol } from './every-symbol.ts';

const PROGRAM = readFileSync(join(import.meta.dirname, 'every-symbol.ts'), 'utf8');
const INDEX = readFileSync(join(import.meta.dirname, '../../src/index.ts'), 'utf8');

test('a program uses every export of the library, and each more than once', () => {
  const exported = [...INDEX.matchAll(/\{([^}]+)\}/g)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.replace(/\btype\b/, '').trim()),
  );
  const names = exported.filter((name) => name !== '');
  for (const name of Object.keys(library)) assert.ok(names.includes(name), name);
  const unused = names.filter((name) => PROGRAM.split(new RegExp(`\\b${name}\\b`)).length < 3);
  assert.deepEqual(unused, []);
});

test('the program gets what its calls promise, and uses every public method', async () => {
  const folder = temporaryFolder();
  const seen = await everySymbol(join(folder, 'data'), join(folder, 'backups'));
  assert.deepEqual(seen, EVERY_SYMBOL);
  const member = await library.startMember({ listen: false, maxMemory: '64m' });
  const objects = [member, member.map('m'), member.queue('q'), await member.lock('l')];
  await member.close();
  const names = objects.flatMap((each) => Object.getOwnPropertyNames(Object.getPrototypeOf(each)));
  const unused = names.filter((name) => !PROGRAM.includes(`.${name}`));
  assert.deepEqual(unused, []);
});
