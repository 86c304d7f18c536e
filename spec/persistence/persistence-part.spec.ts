/** The responses to clients while the disk is full or after it has failed. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import type { SyncMode } from '../../src/persistence/write-ahead-log.ts';
import { client as clientOf, get, poll, post } from '../http/test-client.ts';
import { storedMember } from '../stored-member.ts';
import { MemoryStorage } from '../world/memory-storage.ts';

/** Returns a member that serves, on a disk that fails on demand. */
async function open(mode: SyncMode, bytesMax = 8_000_000) {
  const memory = new MemoryStorage(new Random(1), 'boot', bytesMax);
  const member = storedMember(memory, [{ key: 'persistenceSync', text: mode }]);
  await member.serve();
  const health = (part: string): Promise<number> =>
    member.status(`GET /grid/health/${part} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  /** Makes the next call to the disk fail, after `passed` further ones. */
  const fail = (code: string, isLasting: boolean, passed = 0): void => {
    memory.failure = { at: memory.calls.length + 1 + passed, code, isLasting };
  };
  /** Makes the next call that creates a file fail. */
  const failToCreate = (code: string, isLasting: boolean): void => {
    memory.failure = { at: memory.calls.length + 1, code, isLasting, of: ['create'] };
  };
  /** Adds entries, BATCH at a time, until one is refused. Returns the number of entries. */
  const fill = async (): Promise<number> => {
    for (let count = 0; ; ) {
      const { socket, statuses } = clientOf(member.server);
      const keys = Array.from({ length: BATCH }, (_, index) => count + index);
      socket.receive(keys.map((key) => post(`maps/m/${key}`, VALUE)).join(''));
      await member.quiet();
      const stored = statuses().filter((each) => each === 200).length;
      count += stored;
      if (stored < BATCH) return count;
    }
  };
  return { ...member, health, fail, failToCreate, fill };
}

const BATCH = 20;
const VALUE = 'v'.repeat(900);

/** Number of calls to the disk that write a file atomically, except the last. */
const BEFORE_LAST = 5;
const STATE = post('management/cluster/changeState', 'dev&&passive');
const LICENSE = post('license', 'dev&&key');

describe('A member whose disk fails', () => {
  for (const mode of ['always', 'interval', 'never'] as const) {
    it(`with sync ${mode}, ends pending requests with 503 and outcome unknown, and hides their changes`, async () => {
      const { server, clock, lines, ask, status, health, fail, quiet } = await open(mode);
      assert.equal(await status(post('maps/m/k', 'old')), 200);
      assert.equal(await status(post('queues/q', 'item')), 200);
      clock.advance(1000);
      await quiet();
      fail('EIO', false);
      const writer = clientOf(server);
      writer.socket.receive(post('maps/m/k', 'new') + get('maps/m/k'));
      await quiet();
      assert.deepEqual(
        writer.responses().map((each) => [each.status, each.fields.get('grid-outcome')]),
        [
          [503, 'unknown'],
          [503, 'unknown'],
        ],
      );
      const read = await ask(get('maps/m/k'));
      assert.equal(read.status, 503);
      assert.equal(read.fields.get('grid-outcome'), 'unknown');
      assert.match(read.body.toString(), /must be restarted/);
      assert.equal(await status(post('maps/m/l', 'more')), 503);
      assert.equal(await status(poll('q', 0)), 503);
      const others = Array.from({ length: 20 }, (_, key) => status(get(`maps/m/${key}`)));
      const statuses = new Set(await Promise.all(others));
      assert.deepEqual([...statuses].sort(), [204, 503], 'only some partitions refuse reads');
      assert.deepEqual([await health('cluster-safe'), await health('ready')], [503, 200]);
      const fatal = lines.filter(({ level }) => level === 'fatal');
      assert.deepEqual(
        fatal.map(({ msg }) => msg),
        ['the disk has failed: this member must be restarted'],
      );
    });
  }

  it('with sync always, also does so for a waiting poll if a sync fails', async () => {
    const { server, ask, status, fail, quiet } = await open('always');
    assert.equal(await status(post('queues/q', 'item')), 200);
    const poller = clientOf(server);
    poller.socket.receive(poll('q', 0));
    fail('EIO', true, 1);
    await quiet();
    assert.equal(poller.responses()[0]?.status, 503);
    assert.equal(poller.responses()[0]?.fields.get('grid-outcome'), 'unknown');
    assert.equal((await ask(poll('q', 0))).status, 503);
    assert.equal((await ask(get('queues/q/size'))).fields.get('grid-outcome'), 'unknown');
  });
});

describe('A member whose disk is full', () => {
  it('refuses writes with a message, serves reads, reports it in health, and recovers with space', async () => {
    const member = await open('interval', 3_000_000);
    const { clock, memory, lines, ask, status, health, quiet } = member;
    const count = await member.fill();
    assert.ok(count > 500, `${count} entries`);
    const refused = await ask(post('maps/m/more', VALUE));
    assert.equal(refused.status, 503);
    assert.equal(refused.fields.get('grid-outcome'), undefined);
    assert.match(refused.body.toString(), /"Cannot write to \\"m\\": the disk is full"/);
    assert.equal(await status(get('maps/m/more')), 204, 'the refused change was applied');
    assert.equal(await status(get('maps/m/0')), 200);
    assert.deepEqual([await health('cluster-safe'), await health('ready')], [503, 200]);
    memory.bytesMax = 100_000_000;
    for (let second = 0; second < 3; second++) {
      clock.advance(1000);
      await quiet();
    }
    assert.equal(await health('cluster-safe'), 200);
    assert.equal(await status(post('maps/m/more', VALUE)), 200);
    const logged = lines.filter(({ msg }) => msg.startsWith('the disk'));
    assert.deepEqual(
      logged.map(({ level, msg }) => `${level}: ${msg}`),
      [
        'error: the disk is full: writes are refused, reads go on',
        'info: the disk has space again: writes are accepted',
      ],
    );
  });

  it('reports an unknown outcome for a change that a crash may or may not undo', async () => {
    const { ask, fail } = await open('interval');
    for (const request of [LICENSE, STATE]) {
      fail('EIO', false, BEFORE_LAST);
      const response = await ask(request);
      assert.equal(response.status, 503);
      assert.equal(response.fields.get('grid-outcome'), 'unknown', request);
    }
    fail('EIO', false, BEFORE_LAST - 1);
    const response = await ask(LICENSE);
    assert.deepEqual([response.status, response.fields.get('grid-outcome')], [503, undefined]);
  });

  it('reports and logs an error other than a full disk while a segment is created', async () => {
    const { ask, failToCreate, fill, lines, quiet, clock, persistence } = await open('interval');
    failToCreate('EIO', true);
    await fill();
    const refused = await ask(post('maps/m/more', VALUE));
    assert.equal(refused.status, 503);
    assert.match(refused.body.toString(), /freeing disk space failed; see the log/);
    await quiet();
    const logged = lines.find(({ msg }) => msg.startsWith('no segment of the log can be made'));
    assert.equal(logged?.level, 'error');
    assert.match(JSON.stringify(logged), /EIO/);
    failToCreate('EIO', false);
    clock.advance(1000);
    await quiet();
    assert.equal(persistence.sink.refusesWrites, false);
  });

  it('keeps no license that could not be stored', async () => {
    const { ask, fail } = await open('interval');
    fail('ENOSPC', true);
    const response = await ask(LICENSE);
    assert.equal(response.status, 503);
    assert.match(response.body.toString(), /Cannot set the license: ENOSPC/);
    assert.equal((await ask(get('license'))).body.toString(), '{"licenseInfo":null}');
  });
});
