import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TicketTable } from '../../src/base/ticket-table.ts';

describe('TicketTable', () => {
  it('place finds the place of a ticket', () => {
    const table = new TicketTable();
    const places = Array.from({ length: 1000 }, () => table.take());
    assert.equal(new Set(places).size, 1000);
    for (const place of places) assert.equal(table.place(table.ticket(place)), place);
    assert.equal(table.count, 1000);
    assert.ok(Math.max(...places) < table.capacity);
  });

  it('a ticket has no place once its place is free, also when that is used again', () => {
    const table = new TicketTable();
    const place = table.take();
    const ticket = table.ticket(place);
    table.free(place);
    assert.equal(table.place(ticket), 0);
    assert.equal(table.take(), place);
    assert.equal(table.place(ticket), 0);
    assert.notEqual(table.ticket(place), ticket);
  });

  it('numbers that are no tickets have no place', () => {
    const table = new TicketTable();
    table.take();
    for (const number of [0, -1, 17, 1e9, 2 ** 52, Number.NaN])
      assert.equal(table.place(number), 0);
  });
});
