/** Keys of an unexpected type: calls report whether they may have been applied. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type Outcome, UNKNOWN, UNREACHABLE } from '../../src/engine/engine.ts';
import { EXPIRIES, ITEMS, Layout, MAP, RETURNED } from '../../src/engine/redis/layout.ts';
import { Asker, span } from '../engine/results.ts';
import { EngineServer } from './engine-server.ts';
import { serverCommand } from './server-command.ts';
import { PARTITION_COUNT, storeEngine } from './store-engines.ts';

const LONG = { timeToLiveMs: 3_600_000, maxIdleSeconds: 0 };
const LAYOUT = new Layout('grid', PARTITION_COUNT);

let server: EngineServer;

before(async () => {
  server = await EngineServer.start();
});

after(() => server.stop());

/** Stores a string at the key of this kind in the partition of `text`. */
async function spoil(kind: Parameters<Layout['key']>[0], name: string, text = name): Promise<void> {
  const partition = LAYOUT.partitionOf(span(text));
  const key = LAYOUT.key(kind, partition, Buffer.from(name)).toString();
  await serverCommand(server.port, 'SET', key, 'a string');
}

it('a call on a key of a wrong type is not applied, or UNKNOWN if it has written another key', async () => {
  const faults: string[] = [];
  const engine = await storeEngine({ port: server.port, onFault: (text) => faults.push(text) });
  const asker = new Asker(engine);
  await spoil(MAP, 'm', 'k');
  await spoil(EXPIRIES, 'lives', 'k');
  await spoil(ITEMS, 'items');
  await spoil(RETURNED, 'returned');
  const cases: readonly (readonly [Promise<{ outcome: Outcome }>, Outcome])[] = [
    [asker.set('m', 'k', 'v'), UNREACHABLE],
    [asker.set('m', 'k', 'v', '', LONG), UNREACHABLE],
    [asker.delete('m', 'k'), UNREACHABLE],
    [asker.get('m', 'k'), UNREACHABLE],
    [asker.set('lives', 'k', 'v', '', LONG), UNKNOWN],
    [asker.offer('items', 'v'), UNKNOWN],
    [asker.peek('items'), UNREACHABLE],
    [asker.queueSize('items'), UNREACHABLE],
    [asker.poll('items'), UNREACHABLE],
    [asker.poll('returned'), UNREACHABLE],
  ];
  for (const [index, [call, outcome]] of cases.entries()) {
    assert.equal((await call).outcome, outcome, `${index}: ${faults.join('\n')}`);
  }
  assert.ok(faults.length > 0 && faults.every((text) => text.startsWith('WRONGTYPE')));
  assert.equal((await asker.get('lives', 'k')).value, 'v');
  await engine.close();
});
