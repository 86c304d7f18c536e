import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { llhttp, OK, type ParserListener } from '../../src/http/llhttp.ts';

describe('Llhttp', () => {
  it('is the module that is known, and has its fields where they are read', () => {
    assert(llhttp().isKnown, 'another module: with its fields where they were, its digest goes in');
    llhttp().checkLayout();
  });

  it('has its memory stay where it is for 30,000 connections, and goes on with more', () => {
    const parsers = llhttp();
    const { memory } = parsers;
    const pointers: number[] = [];
    for (let count = 0; count < 60_000; count++) pointers.push(parsers.allocate());
    assert.equal(parsers.memory, memory);
    for (let count = 0; count < 10_000; count++) pointers.push(parsers.allocate());
    assert.notEqual(parsers.memory, memory);
    assert.equal(new Set(pointers).size, pointers.length);
    for (const pointer of pointers) parsers.free(pointer);
    const before = parsers.memory;
    const known = new Set(pointers);
    for (const _ of pointers) assert.ok(known.has(parsers.allocate()));
    assert.equal(parsers.memory, before);
  });

  it('goes on after a callback has thrown', () => {
    const parsers = llhttp();
    const request = Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const targets: number[] = [];
    const listener: ParserListener = {
      onMessageBegin: () => OK,
      onTarget: (_, length) => {
        targets.push(length);
        return OK;
      },
      onFieldName: () => OK,
      onFieldValue: () => OK,
      onHeadersComplete: () => OK,
      onBody: () => OK,
      onMessageComplete: () => OK,
    };
    const broken: ParserListener = {
      ...listener,
      onTarget: () => {
        throw new Error('no memory');
      },
    };
    const execute = (by: ParserListener): number => {
      const pointer = parsers.allocate();
      parsers.load(undefined, request, 0, request.length);
      try {
        return parsers.execute(pointer, by, 0, request.length);
      } finally {
        parsers.free(pointer);
      }
    };
    assert.throws(() => execute(broken), /no memory/);
    assert.equal(execute(listener), OK);
    assert.deepEqual(targets, [1]);
  });
});
