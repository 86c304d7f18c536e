/** The calls of WAN replication, in both dialects, with a fake that only records the calls. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { GridError, OutcomeUnknown } from '../../src/base/errors.ts';
import { LocalRecord } from '../../src/cluster/shared-record.ts';
import { StandaloneCluster } from '../../src/cluster/standalone.ts';
import type { HttpLimits } from '../../src/http/limits.ts';
import { AccessControl } from '../../src/security/access-control.ts';
import { Authenticator } from '../../src/security/authenticator.ts';
import type { DIALECTS } from '../../src/surface/dialect.ts';
import type { WanCalls, WanMessages } from '../../src/wan/wan-actions.ts';
import type { PublisherStatus, ReceiveResult, TaskStatus } from '../../src/wan/wan-status.ts';
import { FakeClock } from '../fake-clock.ts';
import { postHead } from '../http/test-client.ts';
import type { ServiceParts } from '../http/test-server.ts';
import { failure, restMember } from '../surface/rest-member.ts';

type Name = keyof typeof DIALECTS;

const STATUS: PublisherStatus = {
  ...{ wanReplicationName: 'w', wanPublisherId: 'p', clusterName: 'dev' },
  ...{ state: 'PAUSED', queueSize: 1, queueCapacity: 2, queueBytes: 3 },
  ...{ eventsSent: 4, eventsDropped: 5, eventsRejected: 6, lagMillis: 7, lastError: null },
};

const SYNC_UUID = '3c3b9f0e-8a52-4d37-9a6e-0f4d4f4c7a11';
const CHECK_UUID = '3c3b9f0e-8a52-4d37-9a6e-0f4d4f4c7a12';
const FAILED_UUID = '3c3b9f0e-8a52-4d37-9a6e-0f4d4f4c7a13';
const OTHER_UUID = '3c3b9f0e-8a52-4d37-9a6e-0f4d4f4c7a19';
const RECEIVE = 'rest/wan/receive';
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
  const running: NonNullable<WanCalls['running']> = {
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
      return { pause, resume, stop: note('stop') };
    },
    publishers: () => [STATUS],
  };
  const wan: WanCalls & WanMessages = {
    async receive(message) {
      calls.push(`receive ${message.length}`);
      const text = message.toString();
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(message.toString(), text, 'the message has bytes of its own');
      return answer;
    },
    running,
    runningOf: () => running,
    async clear(replication, publisherId) {
      find(replication, publisherId);
      calls.push(`clear ${replication} ${publisherId}`);
      if (unkept !== undefined) throw unkept;
    },
    async remove(replication, publisherId) {
      if (publisherId === 'own') {
        const refusal = new GridError('WAN_CONFIGURED', { replication, publisherId });
        return { faults: [], refusal };
      }
      find(replication, publisherId);
      calls.push(`remove ${replication} ${publisherId}`);
      return undefined;
    },
    async add(text) {
      calls.push(`add ${text}`);
      if (text === 'many') {
        const refusal = new GridError('WAN_PUBLISHERS_MAX', { replication: 'w', max: 64 });
        return { faults: [], refusal };
      }
      if (text === 'wrong') return { faults: ['Cannot use batchPublishers[0].batchSize 0'] };
      return { addedPublisherIds: ['p'], ignoredPublisherIds: [] };
    },
  };
  return { calls, wan };
}

function member(compatibility: Name, services: ServiceParts = {}, limits?: Partial<HttpLimits>) {
  const member = restMember({ compatibility, services, limits });
  const auditLines = () => member.audited.map(({ user, status }) => `${user} ${status}`);
  return { ...member, auditLines };
}

/** The refusal of a call for the unknown replication "no". */
function unknownTo(publisherId: string): string {
  return failure(
    `WAN Replication Config doesn't exist with WAN configuration name no and publisher ID ${publisherId}`,
  );
}

for (const name of ['none', 'hazelcast'] as const) {
  const wrong = name === 'none' ? 400 : 500;
  const refused = name === 'none' ? 409 : 500;
  const unauthenticated = `403 ${failure('unauthenticated')}`;
  const few = (count: number) =>
    `400 ${failure(`This endpoint expects at least ${count} parameters`)}`;

  describe(`WAN calls with --compatibility ${name}`, () => {
    it('do not report a queue as cleared if that cannot be stored', async () => {
      const unkept = new GridError('WAN_CLEAR_NOT_KEPT', { reason: 'the disk is full' });
      const { calls, wan } = recordingWan(undefined, unkept);
      const message = 'Cannot clear the WAN queue, its changes remain queued: the disk is full';
      const answer = `${name === 'none' ? 503 : 500} {"status":"fail","message":"${message}…`;
      await member(name, { wan }).follow([['POST rest/wan/clearWanQueues dev&&w&p', answer]]);
      assert.deepEqual(calls, ['clear w p']);
    });

    it('pause, resume, stop, clear and remove a publisher, and report it', async () => {
      const { calls, wan } = recordingWan();
      const { follow, auditLines } = member(name, { wan });
      for (const [call, message] of [
        ['pausePublisher', 'WAN publisher paused'],
        ['resumePublisher', 'WAN publisher resumed'],
        ['stopPublisher', 'WAN publisher stopped'],
        ['clearWanQueues', 'WAN replication queues are cleared.'],
        ['removeWanConfig', 'WAN publisher removed.'],
      ]) {
        const path = `rest/wan/${call}`;
        await follow([
          [`POST ${path} dev&&w&p`, `200 ${JSON.stringify({ status: 'success', message })}`],
          [`POST ${path} dev&&no&x`, `${wrong} ${unknownTo('x')}`],
          [`POST ${path} dev&&no&`, `${wrong} ${unknownTo('')}`],
          [`POST ${path} dev&&two&`, `${wrong} …a, b…`],
          [`POST ${path} dev&&w`, few(4)],
          [`POST ${path} x&&w&p`, unauthenticated],
          [`POST ${path} dev&&w&%f`, '400 …parameter 4…'],
          [`GET ${path}`, '405…'],
          [`DELETE ${path}`, '405…'],
        ]);
      }
      await follow([
        [
          'POST rest/wan/removeWanConfig dev&&w&own',
          `${refused} …publisher own of WAN replication w: it is in the config…`,
        ],
      ]);
      assert.deepEqual(calls, ['pause w p', 'resume w p', 'stop w p', 'clear w p', 'remove w p']);
      const lines = ['dev 200', `dev ${wrong}`, `dev ${wrong}`, `dev ${wrong}`];
      assert.deepEqual(auditLines().slice(0, 7), [...lines, 'dev 400', 'x 403', 'dev 400']);
    });

    it('start a synchronisation or a check, and respond with its uuid', async () => {
      const { calls, wan } = recordingWan();
      const { follow, auditLines } = member(name, { wan });
      for (const [call, rest, action, uuid] of [
        ['sync/map', '&m%26', 'Sync', SYNC_UUID],
        ['sync/allmaps', '', 'Sync', SYNC_UUID],
        ['sync/allMaps', '', 'Sync', SYNC_UUID],
        ['consistencyCheck/map', '&m', 'Consistency check', CHECK_UUID],
      ] as const) {
        const path = `rest/wan/${call}`;
        const success = { status: 'success', message: `${action} initiated`, uuid };
        await follow([
          [`POST ${path} dev&&w&p${rest}`, `200 ${JSON.stringify(success)}`],
          [`POST ${path} dev&&no&x${rest}`, `${wrong} ${unknownTo('x')}`],
          [`POST ${path} dev&&two&${rest}`, `${wrong} …a, b…`],
          [`POST ${path} x&&w${rest && '&p'}`, few(rest === '' ? 4 : 5)],
          [`POST ${path} x&&w&p${rest}`, unauthenticated],
          [`POST ${path} dev&&w&%f${rest}`, '400 …parameter 4…'],
          [`GET ${path}`, '405…'],
          [`DELETE ${path}`, '405…'],
        ]);
        if (rest === '') continue;
        await follow([
          [`POST ${path} dev&&w&p&`, `${wrong} …wan-replication-ref to WAN replication w…`],
          [`POST ${path} dev&&w&p&other`, `${wrong} …map \\"other…`],
          [`POST ${path} dev&&w&p&busy`, `${refused} …${SYNC_UUID}…`],
          [`POST ${path} dev&&w&p&off`, `${refused} …merkle-tree…`],
        ]);
      }
      const done = ['m&', 'all maps', 'all maps'].map((map) => `synchronise w ${map}`);
      assert.deepEqual(calls, [...done, 'check w m']);
      assert.deepEqual(auditLines().slice(0, 2), ['dev 200', `dev ${wrong}`]);
    });

    it('report the progress, with the fields in order', async () => {
      const { follow } = member(name, { wan: recordingWan().wan });
      const path = 'rest/wan/sync/progress';
      const result = (stage: string, progress: number, more: string) =>
        `200 {"status":"success","result":{"stage":"${stage}","progress":${progress},` +
        `"wanReplicationName":"w","wanPublisherId":"p","creationTime":1700000000000${more}}}`;
      const figures =
        ',"checkedPartitions":271,"differentPartitions":1,"checkedLeaves":138752,' +
        '"differentLeaves":2,"entriesToSync":3';
      const notTaken = name === 'hazelcast' ? '' : ',"entriesNotTaken":4';
      const unknown = (uuid: string) =>
        `${name === 'none' ? 404 : 200} ` +
        failure(`WAN synchronisation or check ${uuid} couldn't be found`);
      await follow([
        [`GET ${path}/${SYNC_UUID}`, result('IN_PROGRESS', 7, notTaken)],
        [`GET ${path}/${CHECK_UUID}`, result('FINISHED', 100, figures)],
        [`GET ${path}/${FAILED_UUID}`, result('FAILED', 7, ',"message":"the target is away"')],
        [`GET ${path}/${OTHER_UUID}`, unknown(OTHER_UUID)],
        [`GET ${path}/abc`, unknown('abc')],
        [`GET ${path}/a%26b`, unknown('a&b')],
        [`GET ${path}/${'x'.repeat(500)}`, unknown('x'.repeat(100))],
        [`POST ${path}/${SYNC_UUID}`, '405…'],
      ]);
    });

    it('add either all publishers or none', async () => {
      const { calls, wan } = recordingWan();
      const { follow } = member(name, { wan });
      const path = 'rest/wan/addWanConfig';
      const added =
        '"message":"WAN configuration added.","addedPublisherIds":["p"],"ignoredPublisherIds":[]}';
      await follow([[`POST ${path} dev&&{%22a%22:1}&b`, `200 {"status":"success",${added}`]]);
      assert.deepEqual(calls, ['add {"a":1}&b']);
      await follow([
        [`POST ${path} dev&&wrong`, `${wrong} …batchPublishers[0].batchSize…`],
        [`POST ${path} dev&&many`, `${refused} …64…`],
        [`POST ${path} dev&&%ff`, `${wrong} …`],
        [`POST ${path} dev&`, few(3)],
      ]);
    });

    it('report the publishers, with the fields in order', async () => {
      const publisher =
        '{"wanReplicationName":"w","wanPublisherId":"p","clusterName":"dev",' +
        '"state":"PAUSED","queueSize":1,"queueCapacity":2,"queueBytes":3,"eventsSent":4,' +
        '"eventsDropped":5,"eventsRejected":6,"lagMillis":7,"lastError":null}';
      await member(name, { wan: recordingWan().wan }).follow([
        ['GET rest/wan/publishers', `200 {"publishers":[${publisher}]}`],
        ['POST rest/wan/publishers dev&', '405…'],
      ]);
    });

    it('are not found at other paths', async () => {
      const paths = ['', '/sync', '/sync/progress', '/sync/progress/', '/PausePublisher'];
      const rows = paths.map((path) => [`GET rest/wan${path}`, '404'] as const);
      await member(name).follow(rows);
    });

    it('that begin a sync or check are 503 if the members cannot record it', async () => {
      const { wan } = recordingWan();
      const running = { ...wan.runningOf('w', 'p'), progressOf: () => undefined };
      for (const task of ['synchronise', 'check'] as const) {
        running[task] = () =>
          Promise.reject(new GridError('WAN_TASK_NOT_KEPT', { action: task, reason: 'away' }));
      }
      const notKept = name === 'none' ? 503 : 500;
      const { follow } = member(name, { wan: { ...wan, running, runningOf: () => running } });
      for (const [call, body] of [
        ['sync/map', 'dev&&w&p&m'],
        ['sync/allmaps', 'dev&&w&p'],
        ['sync/allMaps', 'dev&&w&p'],
        ['consistencyCheck/map', 'dev&&w&p&m'],
      ] as const) {
        await follow([
          [`POST rest/wan/${call} ${body}`, `${notKept} …away…`],
          [`POST rest/wan/${call} dev&`, '400…'],
          [`POST rest/wan/${call} x${body}`, '403…'],
        ]);
      }
    });

    it('that add or remove a publisher are 503 if not every member acts on it', async () => {
      const { wan } = recordingWan();
      const cause = new OutcomeUnknown(new Error('x'));
      const refusal = new GridError('CONFIG_UNCONFIRMED', { members: 'h:1' }, { cause });
      const unconfirmed = async () => ({ faults: [refusal.message], refusal });
      const { ask } = member(name, { wan: { ...wan, add: unconfirmed, remove: unconfirmed } });
      for (const [call, body] of [
        ['addWanConfig', 'dev&&{}'],
        ['removeWanConfig', 'dev&&w&p'],
      ] as const) {
        assert.match(
          await ask('POST', `rest/wan/${call}`, body),
          name === 'none' ? /^503 .*not every member acts on it yet: not h:1/ : /^500 .*not every/,
        );
      }
    });

    it('accept a message, or report why it was not accepted', async () => {
      const { calls, wan } = recordingWan();
      const { ask, auditLines, open } = member(name, { wan });
      assert.equal(await ask('POST', RECEIVE, 'message'), '200 a');
      const again = open();
      for (let count = 0; count < 3; count++) await again.askWhole('POST', RECEIVE, 'm');
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
        const response = await failing.askWhole('POST', RECEIVE, 'm');
        const body = error.status === 413 ? '' : failure(error.message);
        assert.deepEqual([response?.status, response?.body], [error.status, body]);
        assert.equal(response?.fields.has('retry-after'), error.status === 503);
        assert.deepEqual(failing.auditLines(), [`undefined ${error.status}`]);
      }
    });

    it('accept no message while the cluster is PASSIVE or the member is starting', async () => {
      const { calls, wan } = recordingWan();
      await member(name, { wan }).follow([
        ['POST rest/management/cluster/changeState dev&&passive', '200 …'],
        [`POST ${RECEIVE} m`, '503 …PASSIVE…'],
      ]);
      const cluster = new StandaloneCluster('1.2.3', new LocalRecord('1.2'));
      await member(name, { wan, cluster }).follow([[`POST ${RECEIVE} m`, '503…']]);
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
      const { open, askWhole, auditLines } = member(name, { wan, memberLogin });
      const basic = (text: string) =>
        `Authorization: Basic ${Buffer.from(text).toString('base64')}\r\n`;
      const { askWhole: ask } = open();
      const none = await ask('POST', RECEIVE, 'm');
      assert.deepEqual(
        [none?.status, none?.fields.get('www-authenticate')?.slice(0, 5)],
        [401, 'Basic'],
      );
      assert.equal((await ask('POST', RECEIVE, 'm', basic('ann:no')))?.status, 401);
      assert.equal((await ask('POST', RECEIVE, 'm', basic('ann:pw')))?.status, 200);
      assert.equal((await ask('POST', RECEIVE, 'm', basic('ann:pw')))?.status, 200);
      // A client needs no login on this member.
      assert.equal((await ask('GET', 'rest/wan/publishers'))?.status, 200);
      assert.deepEqual(auditLines(), ['ann 401', 'ann 200']);
      assert.equal(calls.length, 2);
      for (let count = 0; count < 4; count++) await askWhole('POST', RECEIVE, 'm', basic('ann:no'));
      const throttled = await askWhole('POST', RECEIVE, 'm', basic('ann:pw'));
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
    assert.equal(await ask('POST', RECEIVE, 'x'.repeat(most)), '200 a');
    assert.equal(await ask('POST', RECEIVE, 'x'.repeat(most + 1)), '413');
    assert.equal(await ask('POST', 'rest/maps/m/k', 'x'.repeat(1001)), '413');
    assert.deepEqual(calls, [`receive ${most}`]);
  });

  it('is accepted although in-flight-bytes-max is used up, if no other content is in flight', async () => {
    const { calls, wan } = recordingWan();
    const { open } = member('none', { wan }, { inFlightBytesMax: 2000 });
    /** A connection that has sent the head and the first byte of a message. */
    const begun = () => {
      const { socket, read } = open();
      socket.receive(`${postHead('wan/receive', 5000)}x`);
      return { read, finish: () => socket.receive('x'.repeat(4999)) };
    };
    const other = open().socket;
    other.receive(postHead('maps/m/k', 1000));
    assert.equal(begun().read()?.status, 503);
    other.receive('x'.repeat(1000));
    for (let message = 0; message < 2; message++) {
      const { read, finish } = begun();
      assert.equal(read(), undefined);
      if (message === 0) assert.equal(begun().read()?.status, 503);
      finish();
      await nextTurn();
      assert.equal(read()?.status, 200);
    }
    assert.deepEqual(calls, ['receive 5000', 'receive 5000']);
  });
});
