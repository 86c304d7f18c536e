import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { TicketTable } from '../../src/base/ticket-table.ts';

describe('TicketTable', () => {
  it('indexOf returns the index of a ticket', () => {
    const table = new TicketTable();
    const places = Array.from({ length: 1000 }, () => table.allocate());
    assert.equal(new Set(places).size, 1000);
    for (const place of places) assert.equal(table.indexOf(table.ticketOf(place)), place);
    assert.equal(table.count, 1000);
    assert.ok(Math.max(...places) < table.capacity);
  });

  it('a ticket is invalid once its index is freed, even if the index is reused', () => {
    const table = new TicketTable();
    const place = table.allocate();
    const ticket = table.ticketOf(place);
    table.free(place);
    assert.equal(table.indexOf(ticket), 0);
    assert.equal(table.allocate(), place);
    assert.equal(table.indexOf(ticket), 0);
    assert.notEqual(table.ticketOf(place), ticket);
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
    const taken: number[] = [];
    for (let step = 0; step < 2000; step++) {
      const grows = step % 500 < 250;
      if (taken.length === 0 || random.below(10) < (grows ? 8 : 2)) taken.push(table.allocate());
      else table.free(taken.splice(random.below(taken.length), 1)[0]!);
      assert.equal(table.count, taken.length);
      table.invariants();
    }
    assert.equal(new Set(taken).size, taken.length);
  });
});
