import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Llhttp, llhttp } from '../../src/http/llhttp.ts';
import { enlargeMemory, isCheckedModule, readModule } from '../../src/http/llhttp-module.ts';
import { OK, type ParserListener } from '../../src/http/parser-listener.ts';

describe('Llhttp', () => {
  it('is the checked module, whose fields are at the offsets that are read', () => {
    assert(
      llhttp().isChecked,
      'another module: if its fields have the same offsets, update the digest',
    );
    llhttp().checkLayout();
  });

  it('refuses a layout with a field at another offset, and names the field', (context) => {
    const wrong: readonly (readonly [keyof Llhttp, number, RegExp])[] = [
      ['execute', OK, /: a callback does not pause it after a head$/],
      ['resume', 0, /: byte 20 does not hold its position$/],
      ['expectedBytes', 5, /: byte 32 does not hold its content length$/],
      ['method', 7, /: byte 41 does not hold its method$/],
      ['version', 11, /: bytes 42 and 43 do not hold its version$/],
      ['flags', 0, /: byte 50 does not hold its flags$/],
    ];
    for (const [name, value, message] of wrong) {
      const { mock } = context.mock.method(llhttp(), name as 'method', () => value);
      assert.throws(() => llhttp().checkLayout(), { code: 'PARSER_UNUSABLE', message });
      mock.restore();
    }
    llhttp().checkLayout();
  });

  it('refuses a module with another memory, and names the difference', () => {
    const whole = readModule();
    assert.ok(isCheckedModule(whole));
    const memory = whole.indexOf(Buffer.from([5, 3, 1, 0, 2]));
    assert.ok(memory > 0, 'the module has no memory section');
    const wrong: readonly (readonly [number, number, RegExp])[] = [
      [memory + 2, 2, /: it does not have one memory without a maximum$/],
      [memory + 3, 1, /: it does not have one memory without a maximum$/],
      [memory + 4, 3, /: its initial memory has 3 pages instead of 2$/],
      [memory, 77, /: it does not define a memory$/],
    ];
    for (const [at, byte, message] of wrong) {
      const module = Buffer.from(whole);
      module[at] = byte;
      assert.ok(!isCheckedModule(module));
      assert.throws(() => enlargeMemory(module), { code: 'PARSER_UNUSABLE', message });
    }
  });

  it('keeps its memory for 30,000 connections, and works with more', () => {
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

  it('continues after a callback has thrown', () => {
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
