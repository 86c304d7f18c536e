import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { asUntimed, exchangeOf } from '../../src/http/traffic-meter.ts';
import { ROUTES } from '../../src/member/routes.ts';
import { History } from '../../src/monitoring/history.ts';
import { pathsOf } from '../../src/surface/resource.ts';
import { HttpTraffic } from '../../src/telemetry/http-traffic.ts';
import { FakeClock } from '../fake-clock.ts';

const GET = 1;

describe('History', () => {
  function recorded() {
    const clock = new FakeClock();
    const traffic = new HttpTraffic(pathsOf(ROUTES));
    const load = { connections: 3, memoryBytes: 100 };
    const history = new History({
      clock,
      traffic,
      connectionCount: () => load.connections,
      stored: load,
    });
    const respond = (count: number, ms: number, status = 200, mayWait = false) => {
      const exchange = exchangeOf(1, GET) | status;
      traffic.countResponses(mayWait ? asUntimed(exchange) : exchange, count, ms);
    };
    /** Lets the time pass, with work at the end, as a server reports it. */
    const work = (ms: number) => {
      clock.advance(ms);
      traffic.onSecond(clock.now());
    };
    return { clock, traffic, load, history, respond, work };
  }

  it('has 300 steps, the oldest first, without values before the start', () => {
    const { clock, history, load } = recorded();
    const { requests, connections, stepSeconds } = history.report;
    assert.deepEqual([requests, connections], [Array(300).fill(null), Array(300).fill(null)]);
    assert.equal(stepSeconds, 1);
    clock.advance(1000);
    assert.deepEqual(history.report.memoryBytes.slice(-2), [null, 100]);
    load.connections = 4;
    load.memoryBytes = 200;
    clock.advance(1000);
    const { requests: counts, connections: open, memoryBytes, endMs } = history.report;
    assert.deepEqual(counts.slice(-3), [null, 0, 0]);
    assert.deepEqual(open.slice(-3), [null, 3, 4]);
    assert.deepEqual(memoryBytes.slice(-3), [null, 100, 200]);
    assert.equal(endMs, clock.wall());
    clock.advance(400_400);
    assert(history.report.requests.every((count) => count === 0));
    assert.equal(history.report.endMs, clock.wall() - 400);
  });

  it('counts the requests and errors of each second, and the bounds of their durations', () => {
    const { history, respond, work } = recorded();
    respond(98, 0.2);
    respond(1, 3, 503);
    respond(1, 30_000, 500);
    work(1000);
    respond(1, 12_000);
    work(1000);
    work(1000);
    const { requests, errors, p50Ms, p99Ms } = history.report;
    assert.deepEqual(requests.slice(-3), [100, 1, 0]);
    assert.deepEqual(errors.slice(-3), [2, 0, 0]);
    assert.deepEqual(p50Ms.slice(-3), [0.25, 10_000, null]);
    assert.deepEqual(p99Ms.slice(-3), [5, 10_000, null]);
  });

  it('leaves requests that may wait out of the durations', () => {
    const { history, respond, work } = recorded();
    respond(1000, 30_000, 204, true);
    respond(10, 0.05);
    work(1000);
    const { requests, p99Ms } = history.report;
    assert.deepEqual([requests.at(-1), p99Ms.at(-1)], [1010, 0.1]);
  });

  it('has no requests in seconds without work, also in the middle of one', () => {
    const { history, respond, work } = recorded();
    work(1300);
    respond(5, 1);
    work(400);
    respond(2, 1);
    work(3800);
    respond(1, 1);
    assert.deepEqual(history.report.requests.slice(-6), [null, 0, 7, 0, 0, 0]);
    work(500);
    assert.deepEqual(history.report.requests.slice(-2), [0, 1]);
  });

  it('steps once a second although several servers report it, some ms early', () => {
    const { history, respond, work } = recorded();
    work(996);
    work(3);
    work(2);
    respond(3, 1);
    work(996);
    work(6);
    assert.deepEqual(history.report.requests.slice(-3), [null, 0, 3]);
  });

  it('has null for the memory if servers store the data', () => {
    const { clock, traffic } = recorded();
    const history = new History({ clock, traffic, connectionCount: () => 0, stored: undefined });
    clock.advance(1000);
    assert.deepEqual(history.report.memoryBytes.slice(-1), [null]);
    assert.deepEqual(history.report.connections.slice(-2), [null, 0]);
  });
});
