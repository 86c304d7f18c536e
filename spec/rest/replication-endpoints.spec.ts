/** The calls of WAN replication, in both dialects, with a fake that only records the calls. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GridError } from '../../src/base/errors.ts';
import { LocalRecord } from '../../src/cluster/shared-record.ts';
import { StandaloneCluster } from '../../src/cluster/standalone.ts';
import { ENDPOINT_GROUP_NAMES } from '../../src/config/endpoint-group.ts';
import type { HttpLimits } from '../../src/http/limits.ts';
import { DIALECTS } from '../../src/rest/dialect.ts';
import type { WanCalls } from '../../src/rest/services.ts';
import { AccessControl } from '../../src/security/access-control.ts';
import { Authenticator } from '../../src/security/authenticator.ts';
import type { PublisherStatus, ReceiveResult, TaskStatus } from '../../src/wan/wan-service.ts';
import { FakeClock } from '../fake-clock.ts';
import { FakeSocket } from '../http/fake-socket.ts';
import { readResponses } from '../http/response-reader.ts';
import { createTestServer, type ServiceParts } from '../http/test-server.ts';

type Name = keyof typeof DIALECTS;

const STATUS: PublisherStatus = {
  ...{ lastError: null, lagMillis: 7, eventsRejected: 6, eventsDropped: 5, eventsSent: 4 },
  ...{ queueBytes: 3, queueCapacity: 2, queueSize: 1, state: 'PAUSED' },
  ...{ clusterName: 'dev', wanPublisherId: 'p', wanReplicationName: 'w' },
};

const SYNC_UUID = '3c3b9f0e-8a52-4d37-9a6e-0f4d4f4c7a11';
const CHECK_UUID = '3c3b9f0e-8a52-4d37-9a6e-0f4d4f4c7a12';
const FAILED_UUID = '3c3b9f0e-8a52-4d37-9a6e-0f4d4f4c7a13';
const IN_PROGRESS: TaskStatus = {
  ...{ stage: 'IN_PROGRESS', progress: 7, wanReplicationName: 'w', wanPublisherId: 'p' },
  creationTime: 1_700_000_000_000,
};
const FIGURES = {
  ...{ checkedPartitions: 271, differentPartitions: 1, checkedLeaves: 138_752 },
  ...{ differentLeaves: 2, entriesToSync: 3 },
};
const TASKS: ReadonlyMap<string, TaskStatus> = new Map([
  [SYNC_UUID, { ...IN_PROGRESS, entriesNotTaken: 4 }],
  [CHECK_UUID, { ...IN_PROGRESS, stage: 'FINISHED', progress: 100, ...FIGURES }],
  [FAILED_UUID, { ...IN_PROGRESS, stage: 'FAILED', message: 'the target is away' }],
]);

/**
 * Records its calls. It has the publisher "p" of "w", and several publishers of "two", so that a
 * call for "two" needs an id.
 */
function recordingWan(
  answer: ReceiveResult = { status: 200, body: Buffer.from('a'), partition: -1 },
  unkept?: GridError,
) {
  const calls: string[] = [];
  const find = (replication: string, publisherId: string) => {
    if (replication === 'two' && publisherId === '') {
      throw new GridError('WAN_AMBIGUOUS', { replication, publisherIds: 'a, b' });
    }
    if (replication !== 'w') throw new GridError('WAN_UNKNOWN', { replication, publisherId });
  };
  const begin = (action: string, replication: string, map = 'all maps') => {
    if (map === '' || map === 'other') {
      throw new GridError('WAN_MAP_UNKNOWN', { action, map, replication });
    }
    if (map === 'busy') {
      const values = { action, other: 'check', uuid: SYNC_UUID };
      throw new GridError('WAN_TASK_UNDER_WAY', values);
    }
    if (map === 'off') {
      throw new GridError('WAN_CHECK_OFF', {
        map,
        setting: 'map.off.merkle-tree.enabled is false',
      });
    }
    calls.push(`${action} ${replication} ${map}`);
  };
  const wan: WanCalls = {
    synchronise(replication, publisherId, map) {
      find(replication, publisherId);
      begin('synchronise', replication, map?.toString());
      return SYNC_UUID;
    },
    check(replication, publisherId, map) {
      find(replication, publisherId);
      begin('check', replication, map.toString());
      return CHECK_UUID;
    },
    progressOf: (uuid) => TASKS.get(uuid),
    publisherOf(replication, publisherId) {
      find(replication, publisherId);
      const note = (what: string) => () => calls.push(`${what} ${replication} ${publisherId}`);
      const [pause, resume] = [note('pause'), note('resume')];
      return { pause, resume, stop: note('stop'), clear: note('clear') };
    },
    clear(replication, publisherId) {
      find(replication, publisherId);
      calls.push(`clear ${replication} ${publisherId}`);
      return Promise.resolve(unkept);
    },
    remove(replication, publisherId) {
      if (publisherId === 'own') {
        const refusal = new GridError('WAN_CONFIGURED', { replication, publisherId });
        return Promise.resolve({ faults: [], refusal });
      }
      find(replication, publisherId);
      calls.push(`remove ${replication} ${publisherId}`);
      return Promise.resolve(undefined);
    },
    publishers: () => [STATUS],
    async add(text) {
      calls.push(`add ${text}`);
      if (text === 'many') {
        const refusal = new GridError('WAN_PUBLISHERS_MAX', { replication: 'w', max: 64 });
        return { faults: [], refusal };
      }
      if (text === 'wrong') return { faults: ['Cannot use batchPublishers[0].batchSize 0'] };
      return { addedPublisherIds: ['p'], ignoredPublisherIds: [] };
    },
    async receive(message) {
      calls.push(`receive ${message.length}`);
      return answer;
    },
    senders: new WeakSet(),
  };
  return { calls, wan };
}

function member(name: Name, services: ServiceParts = {}, limits: Partial<HttpLimits> = {}) {
  const server = createTestServer(limits, { compatibility: name, services });
  server.groups.set(true, new Map(ENDPOINT_GROUP_NAMES.map((group) => [group, true])));
  const open = () => {
    const socket = new FakeSocket();
    server.connect(socket);
    let count = 0;
    const ask = async (method: string, path: string, body = '', fields = '') => {
      const target = `/${DIALECTS[name].pathSegment}/rest/${path}`;
      const length = `Content-Length: ${Buffer.byteLength(body)}`;
      socket.receive(
        `${method} ${target} HTTP/1.1\r\nHost: h\r\n${fields}${length}\r\n\r\n${body}`,
      );
      await turn();
      await turn();
      return readResponses(socket.text)[count++];
    };
    return { socket, ask };
  };
  const ask = async (method: string, path: string, body = '', fields = '') => {
    const response = await open().ask(method, path, body, fields);
    return `${response?.status} ${response?.body}`.trim();
  };
  const audited = () => server.audited.map(({ user, status }) => `${user} ${status}`);
  return { ...server, open, ask, auditLines: audited };
}

/** Resolves after the callbacks of settled promises. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const fail = (message: string) => JSON.stringify({ status: 'fail', message });
const UNKNOWN =
  "WAN Replication Config doesn't exist with WAN configuration name no and publisher ID";

for (const name of ['none', 'hazelcast'] as const) {
  const wrong = name === 'none' ? 400 : 500;
  const refused = name === 'none' ? 409 : 500;

  describe(`WAN calls with --compatibility ${name}`, () => {
    it('do not report a queue as cleared if that cannot be stored', async () => {
      const unkept = new GridError('WAN_CLEAR_NOT_KEPT', { reason: 'the disk is full' });
      const { calls, wan } = recordingWan(undefined, unkept);
      const { ask } = member(name, { wan });
      const answer = await ask('POST', 'wan/clearWanQueues', 'dev&&w&p');
      assert.match(
        answer,
        /Cannot clear the WAN queue, its changes remain queued: the disk is full/,
      );
      assert.ok(answer.startsWith(name === 'none' ? '503 ' : '500 '), answer);
      assert.deepEqual(calls, ['clear w p']);
    });

    it('do not remove a publisher of the configuration', async () => {
      const { wan } = recordingWan();
      const answer = await member(name, { wan }).ask('POST', 'wan/removeWanConfig', 'dev&&w&own');
      assert.match(
        answer,
        new RegExp(`^${refused} .*publisher own of WAN replication w: it is in the config`),
      );
    });

    it('pause, resume, stop, clear and remove a publisher, and report it', async () => {
      const { calls, wan } = recordingWan();
      const { ask, auditLines } = member(name, { wan });
      for (const [call, message] of [
        ['pausePublisher', 'WAN publisher paused'],
        ['resumePublisher', 'WAN publisher resumed'],
        ['stopPublisher', 'WAN publisher stopped'],
        ['clearWanQueues', 'WAN replication queues are cleared.'],
        ['removeWanConfig', 'WAN publisher removed.'],
      ]) {
        const success = JSON.stringify({ status: 'success', message });
        assert.equal(await ask('POST', `wan/${call}`, 'dev&&w&p'), `200 ${success}`);
        assert.equal(
          await ask('POST', `wan/${call}`, 'dev&&no&x'),
          `${wrong} ${fail(`${UNKNOWN} x`)}`,
        );
        assert.equal(
          await ask('POST', `wan/${call}`, 'dev&&no&'),
          `${wrong} ${fail(`${UNKNOWN} `)}`,
        );
        assert.match(await ask('POST', `wan/${call}`, 'dev&&two&'), new RegExp(`^${wrong} .*a, b`));
        assert.equal(
          await ask('POST', `wan/${call}`, 'dev&&w'),
          `400 ${fail('This endpoint expects at least 4 parameters')}`,
        );
        assert.equal(await ask('POST', `wan/${call}`, 'x&&w&p'), `403 ${fail('unauthenticated')}`);
        assert.match(await ask('POST', `wan/${call}`, 'dev&&w&%f'), /^400 .*parameter 4/);
        for (const method of ['GET', 'DELETE']) {
          assert.match(await ask(method, `wan/${call}`), /^405/);
        }
      }
      assert.deepEqual(calls, ['pause w p', 'resume w p', 'stop w p', 'clear w p', 'remove w p']);
      const lines = ['dev 200', `dev ${wrong}`, `dev ${wrong}`, `dev ${wrong}`];
      assert.deepEqual(auditLines().slice(0, 7), [...lines, 'dev 400', 'x 403', 'dev 400']);
    });

    it('start a synchronisation or a check, and respond with its uuid', async () => {
      const { calls, wan } = recordingWan();
      const { ask, auditLines } = member(name, { wan });
      for (const [call, rest, action, uuid] of [
        ['sync/map', '&m%26', 'Sync', SYNC_UUID],
        ['sync/allmaps', '', 'Sync', SYNC_UUID],
        ['sync/allMaps', '', 'Sync', SYNC_UUID],
        ['consistencyCheck/map', '&m', 'Consistency check', CHECK_UUID],
      ] as const) {
        const path = `wan/${call}`;
        const count = rest === '' ? 4 : 5;
        const success = { status: 'success', message: `${action} initiated`, uuid };
        assert.equal(await ask('POST', path, `dev&&w&p${rest}`), `200 ${JSON.stringify(success)}`);
        assert.equal(
          await ask('POST', path, `dev&&no&x${rest}`),
          `${wrong} ${fail(`${UNKNOWN} x`)}`,
        );
        assert.match(await ask('POST', path, `dev&&two&${rest}`), new RegExp(`^${wrong} .*a, b`));
        assert.equal(
          await ask('POST', path, rest === '' ? 'x&&w' : 'x&&w&p'),
          `400 ${fail(`This endpoint expects at least ${count} parameters`)}`,
        );
        assert.match(await ask('POST', path, `x&&w&p${rest}`), /^403/);
        assert.match(await ask('POST', path, `dev&&w&%f${rest}`), /^400 .*parameter 4/);
        for (const method of ['GET', 'DELETE']) {
          assert.match(await ask(method, path), /^405/);
        }
        if (rest === '') continue;
        for (const [map, status, reason] of [
          ['', wrong, 'wan-replication-ref to WAN replication w'],
          ['other', wrong, 'map \\\\"other'],
          ['busy', refused, SYNC_UUID],
          ['off', refused, 'merkle-tree'],
        ] as const) {
          assert.match(
            await ask('POST', path, `dev&&w&p&${map}`),
            new RegExp(`^${status} .*${reason}`),
          );
        }
      }
      const done = ['m&', 'all maps', 'all maps'].map((map) => `synchronise w ${map}`);
      assert.deepEqual(calls, [...done, 'check w m']);
      assert.deepEqual(auditLines().slice(0, 2), ['dev 200', `dev ${wrong}`]);
    });

    it('report the progress, with the fields in order', async () => {
      const { ask } = member(name, { wan: recordingWan().wan });
      const path = (uuid: string) => `wan/sync/progress/${uuid}`;
      const names = '"wanReplicationName":"w","wanPublisherId":"p","creationTime":1700000000000';
      const notTaken = name === 'hazelcast' ? '' : ',"entriesNotTaken":4';
      assert.equal(
        await ask('GET', path(SYNC_UUID)),
        `200 {"status":"success","result":{"stage":"IN_PROGRESS","progress":7,${names}${notTaken}}}`,
      );
      assert.equal(
        await ask('GET', path(CHECK_UUID)),
        `200 {"status":"success","result":{"stage":"FINISHED","progress":100,${names},` +
          '"checkedPartitions":271,"differentPartitions":1,"checkedLeaves":138752,' +
          '"differentLeaves":2,"entriesToSync":3}}',
      );
      assert.equal(
        await ask('GET', path(FAILED_UUID)),
        `200 {"status":"success","result":{"stage":"FAILED","progress":7,${names},` +
          '"message":"the target is away"}}',
      );
      const unknown = name === 'none' ? 404 : 200;
      for (const uuid of ['3c3b9f0e-8a52-4d37-9a6e-0f4d4f4c7a19', 'abc', 'a%26b']) {
        assert.equal(
          await ask('GET', path(uuid)),
          `${unknown} ${fail(`WAN synchronisation or check ${decodeURIComponent(uuid)} couldn't be found`)}`,
        );
      }
      assert.match(await ask('GET', path('x'.repeat(500))), /x{100} couldn't/);
      assert.match(await ask('POST', path(SYNC_UUID)), /^405/);
    });

    it('add either all publishers or none', async () => {
      const { calls, wan } = recordingWan();
      const { ask } = member(name, { wan });
      const body =
        '{"status":"success","message":"WAN configuration added.","addedPublisherIds":["p"],"ignoredPublisherIds":[]}';
      assert.equal(await ask('POST', 'wan/addWanConfig', 'dev&&{%22a%22:1}&b'), `200 ${body}`);
      assert.deepEqual(calls, ['add {"a":1}&b']);
      assert.match(
        await ask('POST', 'wan/addWanConfig', 'dev&&wrong'),
        new RegExp(`^${wrong} .*batchPublishers\\[0\\].batchSize`),
      );
      assert.match(
        await ask('POST', 'wan/addWanConfig', 'dev&&many'),
        new RegExp(`^${refused} .*64`),
      );
      assert.match(await ask('POST', 'wan/addWanConfig', 'dev&&%ff'), new RegExp(`^${wrong} `));
      assert.match(await ask('POST', 'wan/addWanConfig', 'dev&'), /^400 .*3 parameters/);
    });

    it('report the publishers, with the fields in order', async () => {
      const { ask } = member(name, { wan: recordingWan().wan });
      const body =
        '{"publishers":[{"wanReplicationName":"w","wanPublisherId":"p","clusterName":"dev",' +
        '"state":"PAUSED","queueSize":1,"queueCapacity":2,"queueBytes":3,"eventsSent":4,' +
        '"eventsDropped":5,"eventsRejected":6,"lagMillis":7,"lastError":null}]}';
      assert.equal(await ask('GET', 'wan/publishers'), `200 ${body}`);
      assert.match(await ask('POST', 'wan/publishers', 'dev&'), /^405/);
    });

    it('are not found at other paths', async () => {
      const { ask } = member(name);
      for (const path of [
        'wan',
        'wan/sync',
        'wan/sync/progress',
        'wan/sync/progress/',
        'wan/PausePublisher',
      ]) {
        assert.equal(await ask('GET', path), '404', path);
      }
    });

    it('are refused if servers store the data, after the checks of parameters and credentials', async () => {
      const { ask } = member(name, { wan: undefined });
      for (const [call, body] of [
        ['clearWanQueues', 'dev&&w&p'],
        ['pausePublisher', 'dev&&w&p'],
        ['resumePublisher', 'dev&&w&p'],
        ['stopPublisher', 'dev&&w&p'],
        ['removeWanConfig', 'dev&&w&p'],
        ['addWanConfig', 'dev&&{}'],
        ['sync/map', 'dev&&w&p&m'],
        ['sync/allmaps', 'dev&&w&p'],
        ['sync/allMaps', 'dev&&w&p'],
        ['consistencyCheck/map', 'dev&&w&p&m'],
      ] as const) {
        assert.match(
          await ask('POST', `wan/${call}`, body),
          new RegExp(`^${refused} .*engine.url`),
        );
        assert.match(await ask('POST', `wan/${call}`, 'dev&'), /^400/);
        assert.match(await ask('POST', `wan/${call}`, `x${body}`), /^403/);
      }
      const progress = 'wan/sync/progress/3c3b9f0e-8a52-4d37-9a6e-0f4d4f4c7a11';
      assert.match(await ask('GET', progress), new RegExp(`^${refused} .*engine.url`));
      assert.match(await ask('GET', 'wan/publishers'), /^409 .*engine.url/);
      assert.match(await ask('POST', 'wan/receive', 'x'), /^409 .*engine.url/);
    });

    it('accept a message, or report why it was not accepted', async () => {
      const { calls, wan } = recordingWan();
      const { ask, auditLines, open } = member(name, { wan });
      assert.equal(await ask('POST', 'wan/receive', 'message'), '200 a');
      const { ask: again } = open();
      for (let count = 0; count < 3; count++) await again('POST', 'wan/receive', 'm');
      assert.deepEqual(calls, ['receive 7', 'receive 1', 'receive 1', 'receive 1']);
      assert.deepEqual(auditLines(), ['undefined 200', 'undefined 200']);
      const errors: GridError[] = [
        new GridError('WAN_MESSAGE_INVALID', { reason: 'the checksum is wrong' }),
        new GridError('WAN_OTHER_CLUSTER', { expected: 'a' }),
        new GridError('WAN_OLDER_EPOCH', {}),
        new GridError('WAN_MESSAGE_TOO_LONG', { bytes: 3, bytesMax: 2 }),
        new GridError('MEMORY_FULL', { name: '"m"' }),
      ];
      for (const error of errors) {
        const failing = member(name, { wan: recordingWan({ error }).wan });
        const response = await failing.open().ask('POST', 'wan/receive', 'm');
        const body = error.status === 413 ? '' : fail(error.message);
        assert.deepEqual([response?.status, response?.body], [error.status, body]);
        assert.equal(response?.fields.has('retry-after'), error.status === 503);
        assert.deepEqual(failing.auditLines(), [`undefined ${error.status}`]);
      }
    });

    it('accept no message while the cluster is PASSIVE or the member is starting', async () => {
      const { calls, wan } = recordingWan();
      const { ask } = member(name, { wan });
      await ask('POST', 'management/cluster/changeState', 'dev&&passive');
      assert.match(await ask('POST', 'wan/receive', 'm'), /^503 .*PASSIVE/);
      const cluster = new StandaloneCluster('1.2.3', new LocalRecord('1.2'));
      assert.match(await member(name, { wan, cluster }).ask('POST', 'wan/receive', 'm'), /^503/);
      assert.deepEqual(calls, []);
    });

    it('accept only messages of members that log in, if security is on', async () => {
      const { calls, wan } = recordingWan();
      const authenticator = new Authenticator([{ name: 'ann', password: 'pw' }], new FakeClock());
      const rules = { authenticator, users: new Map(), permissions: [], prefersGrant: false };
      const memberLogin = new AccessControl({
        ...rules,
        permissions: undefined,
        coversHealth: false,
      });
      const { open, auditLines } = member(name, { wan, memberLogin });
      const basic = (text: string) =>
        `Authorization: Basic ${Buffer.from(text).toString('base64')}\r\n`;
      const { ask } = open();
      const none = await ask('POST', 'wan/receive', 'm');
      assert.deepEqual(
        [none?.status, none?.fields.get('www-authenticate')?.slice(0, 5)],
        [401, 'Basic'],
      );
      assert.equal((await ask('POST', 'wan/receive', 'm', basic('ann:no')))?.status, 401);
      assert.equal((await ask('POST', 'wan/receive', 'm', basic('ann:pw')))?.status, 200);
      assert.equal((await ask('POST', 'wan/receive', 'm', basic('ann:pw')))?.status, 200);
      // A client needs no login on this member.
      assert.equal((await ask('GET', 'wan/publishers'))?.status, 200);
      assert.deepEqual(auditLines(), ['ann 401', 'ann 200']);
      assert.equal(calls.length, 2);
      for (let count = 0; count < 4; count++) {
        await open().ask('POST', 'wan/receive', 'm', basic('ann:no'));
      }
      const throttled = await open().ask('POST', 'wan/receive', 'm', basic('ann:pw'));
      assert.equal(throttled?.status, 429);
      assert.ok(throttled?.fields.has('retry-after'));
    });
  });
}

describe('a message of another member', () => {
  it('may be at most one mebibyte longer than other content', async () => {
    const { calls, wan } = recordingWan();
    const { ask } = member('none', { wan });
    const most = 1000 + 1_048_576;
    assert.equal(await ask('POST', 'wan/receive', 'x'.repeat(most)), '200 a');
    assert.equal(await ask('POST', 'wan/receive', 'x'.repeat(most + 1)), '413');
    assert.equal(await ask('POST', 'maps/m/k', 'x'.repeat(1001)), '413');
    assert.deepEqual(calls, [`receive ${most}`]);
  });

  it('is accepted although in-flight-bytes-max is used up, if no other content is in flight', async () => {
    const { calls, wan } = recordingWan();
    const { open } = member('none', { wan }, { inFlightBytesMax: 2000 });
    const head = (path: string, length: number) =>
      `POST /grid/rest/${path} HTTP/1.1\r\nHost: h\r\nContent-Length: ${length}\r\n\r\n`;
    const [other, message, second] = [open().socket, open().socket, open().socket];
    other.receive(head('maps/m/k', 1000));
    message.receive(`${head('wan/receive', 5000)}x`);
    assert.match(message.text, /^HTTP\/1.1 503 /);
    other.receive('x'.repeat(1000));
    const alone = open().socket;
    alone.receive(`${head('wan/receive', 5000)}x`);
    assert.equal(alone.text, '');
    second.receive(`${head('wan/receive', 5000)}x`);
    assert.match(second.text, /^HTTP\/1.1 503 /);
    alone.receive('x'.repeat(4999));
    await turn();
    assert.match(alone.text, /^HTTP\/1.1 200 /);
    const next = open().socket;
    next.receive(`${head('wan/receive', 5000)}x`);
    next.receive('x'.repeat(4999));
    await turn();
    assert.match(next.text, /^HTTP\/1.1 200 /);
    assert.deepEqual(calls, ['receive 5000', 'receive 5000']);
  });
});
