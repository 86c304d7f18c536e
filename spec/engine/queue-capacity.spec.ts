import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { queueCapacity } from '../../src/engine/queue-capacity.ts';

function capacityOf(maxSizes: Record<string, number>, queue: string | Buffer): number {
  return queueCapacity(new Map(Object.entries(maxSizes)))(Buffer.from(queue as string));
}

test('queueCapacity is unlimited for a queue without a setting, and for 0', () => {
  assert.equal(capacityOf({}, 'q'), Number.POSITIVE_INFINITY);
  assert.equal(capacityOf({ other: 5 }, 'q'), Number.POSITIVE_INFINITY);
  assert.equal(capacityOf({ q: 0, '*': 5 }, 'q'), Number.POSITIVE_INFINITY);
});

test('queueCapacity prefers the exact name, then the most literal pattern, then the last', () => {
  const maxSizes = { '*': 1, 'orders-*': 2, 'orders-*-eu': 3, 'orders-1-eu': 4, '*-1-*': 5 };
  assert.equal(capacityOf(maxSizes, 'x'), 1);
  assert.equal(capacityOf(maxSizes, 'orders-1'), 2);
  assert.equal(capacityOf(maxSizes, 'orders-2-eu'), 3);
  assert.equal(capacityOf(maxSizes, 'orders-1-eu'), 4);
  assert.equal(capacityOf({ 'a*': 1, '*b': 2 }, 'ab'), 2);
  assert.equal(capacityOf({ '*b': 2, 'a*': 1 }, 'ab'), 1);
});

test('queueCapacity uses the value of "default" for names that no other name or pattern fits', () => {
  assert.equal(capacityOf({ default: 3, 'a*': 5 }, 'x'), 3);
  assert.equal(capacityOf({ default: 3, 'a*': 5 }, 'ab'), 5);
  assert.equal(capacityOf({ default: 3, a: 0 }, 'a'), Number.POSITIVE_INFINITY);
});

test('queueCapacity matches each byte of a name to only one part of a pattern', () => {
  assert.equal(capacityOf({ 'ab*ba': 1 }, 'aba'), Number.POSITIVE_INFINITY);
  assert.equal(capacityOf({ 'ab*ba': 1 }, 'abba'), 1);
  assert.equal(capacityOf({ 'a*b*b': 1 }, 'ab'), Number.POSITIVE_INFINITY);
  assert.equal(capacityOf({ 'a*b*b': 1 }, 'abb'), 1);
});

test('queueCapacity is unlimited for the empty name, which no setting has', () => {
  for (const maxSizes of [{ '*': 1 }, { default: 1 }, { '': 1 }, { '': 1, '*': 1, default: 1 }]) {
    assert.equal(capacityOf(maxSizes, ''), Number.POSITIVE_INFINITY);
  }
});

test('queueCapacity compares the bytes of names, including names that are not UTF-8', () => {
  assert.equal(capacityOf({ é: 1 }, Buffer.from([0xc3, 0xa9])), 1);
  assert.equal(capacityOf({ é: 1 }, Buffer.from([0xe9])), Number.POSITIVE_INFINITY);
  assert.equal(capacityOf({ 'a*': 1 }, Buffer.from([0x61, 0xff, 0])), 1);
});

test('queueCapacity matches a name exactly when the equivalent regular expression does', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
  fc.assert(
    fc.property(text, text, (pattern, letters) => {
      const name = `${letters.replaceAll('*', '')}a`;
      const expected = new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(name);
      assert.equal(capacityOf({ [pattern]: 7 }, name) === 7, expected);
    }),
  );
});
