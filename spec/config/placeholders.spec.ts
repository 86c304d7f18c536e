/** The values that replace placeholders. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { missingVariable, replacePlaceholders } from '../../src/config/placeholders.ts';

test('replacePlaceholders uses a variable, its name in upper case, or the given default, in this order', () => {
  const environment = { one: '1', ONE: '2', TWO: '3' };
  const replaced = replacePlaceholders(
    '\u0024{one} \u0024{two:x} \u0024{three:x} \u0024{four} \u0024{} $one',
    environment,
  );
  assert.deepEqual(replaced, { text: '1 3 x \u0024{four} \u0024{} $one', unset: ['four'] });
});

test('replacePlaceholders does not use the properties of every JavaScript object as variables', () => {
  const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty'];
  const text = names.map((name) => `\u0024{${name}}`).join();
  for (const environment of [process.env, {}, Object.create(null)]) {
    assert.deepEqual(replacePlaceholders(text, environment), { text, unset: names });
  }
  const environment = { constructor: 'a' } as NodeJS.ProcessEnv;
  assert.equal(replacePlaceholders('\u0024{constructor}', environment)?.text, 'a');
});

test('replacePlaceholders reads dots and dashes of a name as "_", after the unchanged names', () => {
  const of = (environment: NodeJS.ProcessEnv) =>
    replacePlaceholders('\u0024{a.b-c}', environment)?.text;
  assert.equal(of({ A_B_C: '1' }), '1');
  assert.equal(of({ A_B_C: '1', 'A.B-C': '2' }), '2');
  assert.equal(of({ A_B_C: '1', 'A.B-C': '2', 'a.b-c': '3' }), '3');
  assert.equal(of({ a_b_c: '1' }), '\u0024{a.b-c}');
});

test('replacePlaceholders stops at the limit of characters', () => {
  const bomb = '\u0024{BIG}'.repeat(1000);
  const environment = { BIG: 'x'.repeat(1000) };
  assert.equal(replacePlaceholders(bomb, environment, 999_999), undefined);
  assert.equal(replacePlaceholders(bomb, environment, 1_000_000)?.text.length, 1_000_000);
});

test('missingVariable lists the variables that were looked up', () => {
  assert.equal(missingVariable('NAME'), 'no environment variable NAME');
  assert.equal(missingVariable('name'), 'no environment variable name or NAME');
  assert.equal(missingVariable('a.b'), 'no environment variable a.b, A.B or A_B');
});
