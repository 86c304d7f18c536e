import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { TicketTable } from '../../src/base/ticket-table.ts';

describe('TicketTable', () => {
  it('indexOf returns the index of a ticket', () => {
    const table = new TicketTable();
    const indexes = Array.from({ length: 1000 }, () => table.allocate());
    assert.equal(new Set(indexes).size, 1000);
    for (const index of indexes) assert.equal(table.indexOf(table.ticketOf(index)), index);
    assert.equal(table.count, 1000);
    assert.ok(Math.max(...indexes) < table.capacity);
  });

  it('a ticket is invalid once its index is freed, even if the index is reused', () => {
    const table = new TicketTable();
    const index = table.allocate();
    const ticket = table.ticketOf(index);
    table.free(index);
    assert.equal(table.indexOf(ticket), 0);
    assert.equal(table.allocate(), index);
    assert.equal(table.indexOf(ticket), 0);
    assert.notEqual(table.ticketOf(index), ticket);
  });

  it('invalid tickets have no index', () => {
    const table = new TicketTable();
    table.allocate();
    for (const number of [0, -1, 17, 1e9, 2 ** 52, Number.NaN])
      assert.equal(table.indexOf(number), 0);
  });

  it('never confuses indexes, whatever is allocated and freed', () => {
    const random = new Random(3);
    const table = new TicketTable();
    const allocated: number[] = [];
    for (let step = 0; step < 2000; step++) {
      const grows = step % 500 < 250;
      if (allocated.length === 0 || random.below(10) < (grows ? 8 : 2))
        allocated.push(table.allocate());
      else table.free(allocated.splice(random.below(allocated.length), 1)[0]!);
      assert.equal(table.count, allocated.length);
      table.invariants();
    }
    assert.equal(new Set(allocated).size, allocated.length);
  });
});
