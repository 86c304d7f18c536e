/** Requests for hash trees are checked as a whole: an invalid one causes no work. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sealDeflated } from '../../src/wan/message-format.ts';
import { nodeOf, type TreeQuestion } from '../../src/wan/tree-messages.ts';
import {
  ComparedSide,
  hostileSide,
  REQUESTS,
  requestOf,
  resealed,
  sendWrongRequests,
} from './compared.ts';
import { headOf } from './messages.ts';

const roots = (count: number) => Array.from({ length: count }, (_, index) => nodeOf(index, 0));

describe('a request for hash trees', () => {
  it('gets as many sums as it requests, even if it is deflated', async () => {
    const side = hostileSide();
    for (const [index, sums] of [3, 16, 24].entries()) {
      const request = REQUESTS[index]!;
      const { status, body } = await side.receive(request);
      assert.equal(status, 200);
      assert.equal(body.length, 64 + sums * 8);
    }
    const many = new ComparedSide();
    const request = requestOf({ partitionCount: 271, nodes: roots(271) });
    const head = { ...headOf(1), kind: 5 } as const;
    const deflated = await sealDeflated(Buffer.from(request), head);
    assert.ok(deflated.length < request.length);
    assert.equal((await many.receive(deflated)).body.length, 64 + 271 * 8);
  });

  it('is refused if levels, nodes or their number are out of bounds', async () => {
    const side = new ComparedSide({ tree: { isOn: true, depth: 16 } });
    const own = { partitionCount: 271, depth: 16 };
    const wrong: Record<string, Partial<TreeQuestion>> = {
      'no depth': { depth: 0 },
      'a depth of 1': { depth: 1 },
      'a depth of 17': { depth: 17 },
      'a depth of 255': { depth: 255 },
      'a level that no leaf has': { level: 16 },
      'levels below the leaves': { level: 10, levels: 6 },
      'a level of 255': { level: 255 },
      'levels of 255': { levels: 255 },
      'no partitions': { partitionCount: 0 },
      'too many partitions': { partitionCount: 65_537 },
      'a partition that is not there': { nodes: [nodeOf(271, 0)] },
      'a node beyond its level': { level: 3, nodes: [nodeOf(0, 8)] },
      'no nodes': { nodes: [] },
      'a node twice': { nodes: [nodeOf(1, 0), nodeOf(1, 0)] },
      'nodes in another order': { nodes: [nodeOf(2, 0), nodeOf(1, 0)] },
      'too many sums': { levels: 15, nodes: [nodeOf(0, 0)] },
      'too many trees': { levels: 1, nodes: roots(32) },
    };
    for (const [name, question] of Object.entries(wrong)) {
      assert.equal((await side.receive(requestOf({ ...own, ...question }))).status, 400, name);
    }
    assert.equal((await side.receive(requestOf(own, ''))).status, 400);
    assert.equal((await side.receive(requestOf(own, 'map', 'other'))).status, 403);
    for (const more of [Buffer.alloc(1), Buffer.alloc(4)]) {
      const longer = resealed(Buffer.concat([requestOf(own), more]));
      assert.equal((await side.receive(longer)).status, 400);
    }
    assert.equal(side.receiver.cachedTreeBytes, 0);
    const most = requestOf({ ...own, levels: 8, nodes: roots(31) });
    const { status, body } = await side.receive(most);
    assert.equal(status, 200);
    assert.ok(body.length > 63_000 && body.length < 65_536, `${body.length}`);
  });

  it('is refused as a response', async () => {
    const side = hostileSide();
    const answer = Buffer.from(requestOf({}));
    answer[20] = 6;
    assert.equal((await side.receive(resealed(answer))).status, 400);
  });

  it('with an invalid payload changes nothing, gets a short response and leaves no memory in use', async () => {
    await sendWrongRequests(6000, 1);
  });
});
