/** The texts that replace placeholders. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { replacePlaceholders } from '../../src/config/placeholders.ts';

test('replacePlaceholders takes a variable, its name in upper case, the text given, in this order', () => {
  const environment = { one: '1', ONE: '2', TWO: '3' };
  const { text, unset } = replacePlaceholders(
    '\u0024{one} \u0024{two:x} \u0024{three:x} \u0024{four} \u0024{} $one',
    environment,
  );
  assert.deepEqual([text, unset], ['1 3 x \u0024{four} \u0024{} $one', ['four']]);
});

test('replacePlaceholders takes no property that every JavaScript object has for a variable', () => {
  const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty'];
  const text = names.map((name) => `\u0024{${name}}`).join();
  for (const environment of [process.env, {}, Object.create(null)]) {
    assert.deepEqual(replacePlaceholders(text, environment), { text, unset: names });
  }
  const environment = { constructor: 'a' } as NodeJS.ProcessEnv;
  assert.equal(replacePlaceholders('\u0024{constructor}', environment).text, 'a');
});
