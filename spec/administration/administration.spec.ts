/**
 * Covers src/surface/administrative-call.ts and src/administration. Cluster administration over
 * the wire: each call's response, its changes and its line in the audit log.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { GridError, OutcomeUnknown } from '../../src/base/errors.ts';
import type { Cluster } from '../../src/cluster/cluster.ts';
import { License } from '../../src/cluster/license.ts';
import { LocalRecord } from '../../src/cluster/shared-record.ts';
import { StandaloneCluster } from '../../src/cluster/standalone.ts';
import { TcpIpMembers } from '../../src/cluster/tcp-ip-members.ts';
import type { HttpLimits } from '../../src/http/limits.ts';
import { Authenticator } from '../../src/security/authenticator.ts';
import { hashPassword } from '../../src/security/password.ts';
import { DIALECTS } from '../../src/surface/dialect.ts';
import { FakeClock } from '../fake-clock.ts';
import type { ServiceParts } from '../http/test-server.ts';
import { failure, restMember } from '../surface/rest-member.ts';

const MANAGEMENT = 'rest/management/cluster';
const RECONFIGURATION = {
  ...{ tcpIpMembers: undefined, reload: () => assert.fail(), add: () => assert.fail() },
};

function member(services?: ServiceParts, limits?: Partial<HttpLimits>) {
  const member = restMember({ services, limits });
  const lastAudited = () => {
    const { user, action, status } = member.audited.at(-1) ?? {};
    return `${user} ${action} ${status}`;
  };
  return { ...member, lastAudited };
}

test('changeState moves through the states, in any case, and state reports them', async () => {
  const { follow, lastAudited } = member();
  for (const [sent, state] of [
    ['frozen', 'frozen'],
    ['PASSIVE', 'passive'],
    ['No_Migration', 'no_migration'],
    ['active', 'active'],
  ] as const) {
    const success = `200 {"status":"success","state":"${state}"}`;
    await follow([
      [`POST ${MANAGEMENT}/changeState dev&&${sent}`, success],
      [`POST ${MANAGEMENT}/state dev&`, success],
      ['GET health/cluster-state', `200 "${state.toUpperCase()}"`],
    ]);
    assert.equal(lastAudited(), `dev POST /grid/${MANAGEMENT}/state 200`);
  }
});

test('changeState refuses the current state, an invalid one and the internal one', async () => {
  const { follow, lastAudited } = member();
  const path = `${MANAGEMENT}/changeState`;
  await follow([[`POST ${path} dev&&active`, '409 {"status":"fail","state":"active"}']]);
  assert.equal(lastAudited(), `dev POST /grid/${path} 409`);
  for (const state of ['in_transition', 'bogus', '']) {
    const message = `Cannot change to state "${state}": not one of active, no_migration, frozen, passive`;
    await follow([[`POST ${path} dev&&${state}`, `400 ${failure(message)}`]]);
  }
});

test('a member that is cut off refuses changes and does not apply them', async () => {
  const standalone = new StandaloneCluster('1.2.3', new LocalRecord('1.2'));
  standalone.start('127.0.0.1:5701');
  const cluster: Cluster = Object.create(standalone, {
    ...{ acceptsWrites: { value: false }, isCutOff: { value: true } },
    ...{ nodeState: { value: 'ACTIVE' } },
  });
  const { ask, askWhole } = member({ cluster });
  const response = await askWhole('DELETE', 'rest/maps/m/k');
  assert.deepEqual(
    [response?.status, response?.fields.get('grid-outcome'), response?.fields.get('retry-after')],
    [503, 'not-applied', '5'],
  );
  const message =
    'Cannot DELETE /grid/rest/maps/m/k: this member has lost contact with its cluster and accepts no ' +
    'changes; nothing was done';
  assert.equal(response?.body, failure(message));
  assert.equal(await ask('GET', 'rest/maps/m/k'), '204');
});

for (const [compatibility, status] of [
  [undefined, 409],
  ['hazelcast', 500],
] as const) {
  test(`changeState refuses a change during another one with ${status}`, async () => {
    const { ask } = restMember({ compatibility });
    const responses = await Promise.all([
      ask('POST', `${MANAGEMENT}/changeState`, 'dev&&frozen'),
      ask('POST', `${MANAGEMENT}/changeState`, 'dev&&passive'),
    ]);
    assert.deepEqual(responses, [
      '200 {"status":"success","state":"frozen"}',
      `${status} ${failure('Cannot change to PASSIVE: another change is under way')}`,
    ]);
  });
}

test('PASSIVE refuses changes of data, serves reads, and ends waiting polls', async () => {
  const { ask, sent, follow } = member();
  await ask('POST', 'rest/maps/m/k', 'v');
  const waiting = sent('DELETE', 'rest/queues/q/60');
  await ask('POST', `${MANAGEMENT}/changeState`, 'dev&&passive');
  assert.equal(waiting.read()?.status, 503);
  assert.match(`${waiting.read()?.body}`, /Cannot wait for an item: the cluster is PASSIVE/);
  for (const [method, path] of [
    ['POST', 'rest/maps/m/k'],
    ['PUT', 'rest/maps/m/k'],
    ['DELETE', 'rest/maps/m/k'],
    ['DELETE', 'rest/maps/m'],
    ['POST', 'rest/queues/q'],
    ['DELETE', 'rest/queues/q/0'],
  ] as const) {
    const message = `Cannot ${method} /grid/${path}: the cluster is PASSIVE and accepts no changes`;
    assert.equal(await ask(method, path), `503 ${failure(message)}`);
  }
  await follow([
    ['GET rest/maps/m/k', '200 v'],
    ['GET rest/queues/q/size', '200 0'],
    ['GET health/node-state', '200 "PASSIVE"'],
    ['GET health/ready', '200'],
    [`POST ${MANAGEMENT}/changeState dev&&active`, '200 …'],
    ['POST rest/queues/q item', '200'],
    ['DELETE rest/queues/q/0', '200 item'],
  ]);
});

test('version is the member’s major and minor version, and no other is accepted', async () => {
  const { follow } = member();
  const path = `${MANAGEMENT}/version`;
  const current = '200 {"status":"success","version":"1.2"}';
  const refused = 'Cannot change to version 1.3: this member of version 1.2.3 does not support it';
  await follow([
    [`GET ${path}`, current],
    [`HEAD ${path}`, '200'],
    ...['1.2', '1.2.9', '1.2.9-SNAPSHOT'].map(
      (each) => [`POST ${path} dev&&${each}`, current] as const,
    ),
    [`POST ${path} dev&&1.3`, `409 ${failure(refused)}`],
  ]);
  for (const version of ['', 'abc', '1', '0.0', '128.0', '1.128', '1.2.x', '-1.2']) {
    const message = `Cannot change to version "${version}": not a cluster version`;
    await follow([[`POST ${path} dev&&${version}`, `400 ${failure(message)}`]]);
  }
});

test('cluster and nodes list the members and their versions, nodes also the version of Node', async () => {
  const { ask, follow } = member();
  const [{ uuid, ...listed }] = JSON.parse((await ask('GET', 'rest/cluster')).slice(4)).members;
  assert.match(uuid, /^[0-9a-f-]{36}$/);
  assert.deepEqual([listed.address, listed.memberVersion], ['127.0.0.1:5701', '1.2.3']);
  const lines = [`[Member 127.0.0.1:5701 - ${uuid} this]`, '1.2.3', process.version];
  const nodes = JSON.stringify({ status: 'success', response: lines.join('\n') });
  await follow([
    [`POST ${MANAGEMENT}/nodes dev&`, `200 ${nodes}`],
    ['HEAD rest/cluster', '200'],
    ['GET rest/instance', '200 {"name":"vectors"}'],
    ['HEAD rest/instance', '200'],
  ]);
});

for (const compatibility of ['none', 'hazelcast'] as const) {
  for (const call of ['clusterShutdown', 'memberShutdown']) {
    test(`${call} responds and then stops the member, --compatibility ${compatibility}`, async () => {
      const { ask, stops } = restMember({ compatibility });
      const path = `${MANAGEMENT}/${call}`;
      assert.equal(await ask('POST', path, 'nobody&'), `403 ${failure('unauthenticated')}`);
      assert.deepEqual(stops, []);
      assert.equal(await ask('POST', path, 'dev&'), '200 {"status":"success"}');
      const { pathSegment } = DIALECTS[compatibility];
      assert.deepEqual(stops, [`POST /${pathSegment}/${path}`]);
    });
  }
}

test('log-level reports the level that was set over HTTP, until it is reset', async () => {
  const levels = 'OFF, SEVERE, WARNING, INFO, CONFIG, FINE, FINER, FINEST';
  const success = '200 {"status":"success","message":"log level is';
  await member().follow([
    ['GET rest/log-level', '200 {"logLevel":null}'],
    ['POST rest/log-level dev&&fine', `${success} changed"}`],
    ['GET rest/log-level', '200 {"logLevel":"FINE"}'],
    [
      'POST rest/log-level dev&&loud',
      `400 ${failure(`Invalid level 'loud', known levels are: ${levels}`)}`,
    ],
    ['GET rest/log-level', '200 {"logLevel":"FINE"}'],
    ['POST rest/log-level/reset dev&', `${success} reset"}`],
    ['GET rest/log-level', '200 {"logLevel":null}'],
  ]);
});

test('license stores a hash of the key', async () => {
  const keyHash = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
  const licenseInfo = `"licenseInfo":{"keyHash":"${keyHash}"}`;
  await member().follow([
    ['GET rest/license', '200 {"licenseInfo":null}'],
    [
      'POST rest/license dev&&test',
      `200 {"status":"success",${licenseInfo},"message":"License updated at run time"}`,
    ],
    ['GET rest/license', `200 {${licenseInfo}}`],
  ]);
});

for (const call of [
  ...['forceStart', 'partialStart', 'backup', 'backupInterrupt', 'hotBackup'],
  'hotBackupInterrupt',
]) {
  test(`${call} is refused while persistence is off, and names the setting that turns it on`, async () => {
    const { ask } = member();
    assert.match(await ask('POST', `${MANAGEMENT}/${call}`, 'dev&'), /^409 .*persistence\.enabled/);
  });
}

test('an administrative call checks count, escapes, credentials and other escapes, in that order', async () => {
  const { follow, audited } = member();
  const path = `${MANAGEMENT}/changeState`;
  const few = `400 ${failure('This endpoint expects at least 3 parameters')}`;
  const unreadable = (parameter: number) =>
    `400 ${failure(`Cannot read parameter ${parameter}: an invalid percent-escape`)}`;
  await follow([
    ...['', ' dev', ' dev&x', ' %zz&x'].map((body) => [`POST ${path}${body}`, few] as const),
    [`POST ${path} nobody&%zz&frozen`, unreadable(2)],
    [`POST ${path} DEV&x&frozen`, `403 ${failure('unauthenticated')}`],
    [`POST ${path} nobody&x&%zz`, `403 ${failure('unauthenticated')}`],
    [`POST ${path} dev&x&%zz`, unreadable(3)],
    [`POST ${path} dev${'&x'.repeat(19)}`, '400 …'],
    [`POST ${path} %64e%76&a%26b+c&frozen`, '200 …'],
  ]);
  assert.deepEqual(
    audited.map(({ status }) => status),
    [400, 400, 400, 400, 400, 403, 403, 400, 400, 200],
  );
  for (const entry of audited)
    assert.ok(!JSON.stringify(entry).includes('a&b'), 'the audit log contains a password');
});

test('config/reload reports which settings were applied and which need a restart, or the errors', async () => {
  const outcomes = [
    { applied: ['log-level'], unapplied: ['partition-count'], faults: [] },
    { applied: [], unapplied: [], faults: ['f:1:1: wrong', 'f:2:1: wrong, too'] },
  ];
  const reload = async () => outcomes.shift() ?? assert.fail();
  const { ask } = member({ reconfiguration: { ...RECONFIGURATION, reload } });
  const done = {
    status: 'success',
    message: 'Configuration Reload successfully finished.',
    result: {
      addedConfigs: [{ sectionName: 'log-level' }],
      ignoredConfigs: [{ sectionName: 'partition-count' }],
    },
  };
  assert.equal(await ask('POST', 'rest/config/reload', 'dev&'), `200 ${JSON.stringify(done)}`);
  const wrong = failure('f:1:1: wrong; f:2:1: wrong, too');
  assert.equal(await ask('POST', 'rest/config/reload', 'dev&'), `400 ${wrong}`);
});

test('config/update passes the text on and reports what was added and ignored', async () => {
  const texts: string[] = [];
  const add = async (text: string) => {
    texts.push(text);
    if (texts.length > 1) return { faults: ['wrong'] };
    return {
      added: [{ sectionName: 'map', configName: 'm' }],
      ignored: [{ sectionName: 'network' }],
    };
  };
  const { ask, audited } = member({ reconfiguration: { ...RECONFIGURATION, add } });
  const done = {
    status: 'success',
    message: 'Configuration Update successfully finished.',
    result: {
      addedConfigs: [{ sectionName: 'map', configName: 'm' }],
      ignoredConfigs: [{ sectionName: 'network' }],
    },
  };
  const body = `dev&&${encodeURIComponent('grid: {map: {m: {}}}')}`;
  assert.equal(await ask('POST', 'rest/config/update', body), `200 ${JSON.stringify(done)}`);
  assert.equal(await ask('POST', 'rest/config/update', 'dev&&a+b&c'), `400 ${failure('wrong')}`);
  assert.equal(
    await ask('POST', 'rest/config/update', 'dev&&grid:%0A%20%FF'),
    `400 ${failure('configuration:2:2: Cannot read text: byte 0xFF at offset 7 is not valid UTF-8')}`,
  );
  const latin = '<?xml version="1.0" encoding="ISO-8859-1"?>';
  const wrong = `400 ${failure('wrong')}`;
  assert.equal(await ask('POST', 'rest/config/update', `dev&&${latin}%E9`), wrong);
  assert.deepEqual(texts, ['grid: {map: {m: {}}}', 'a b&c', `${latin}é`]);
  assert.deepEqual(
    audited.map(({ status }) => status),
    [200, 400, 400, 400],
  );
});

test('a change that could not be stored is 503, and reports if a crash may undo it', async () => {
  const responseTo = async (cause: Error) => {
    const refusal = new GridError('CONFIG_NOT_KEPT', { reason: cause.message }, { cause });
    const cannot = () => Promise.reject(cause);
    const record = new LocalRecord('1.2', cannot);
    const cluster = new StandaloneCluster('1.2.3', record);
    cluster.start('127.0.0.1:5701');
    const { askWhole } = member({
      cluster,
      license: new License(record),
      reconfiguration: { ...RECONFIGURATION, add: async () => ({ faults: ['no'], refusal }) },
    });
    const responses = [];
    for (const [path, body] of [
      [`${MANAGEMENT}/changeState`, 'dev&&frozen'],
      ['rest/license', 'dev&&key'],
      ['rest/config/update', 'dev&&text'],
    ] as const) {
      const { status, fields, body: content } = await askWhole('POST', path, body);
      responses.push([status, fields.get('grid-outcome'), JSON.parse(content).message]);
    }
    return responses;
  };
  const messages = [
    'Cannot change to FROZEN: EIO',
    'Cannot set the license: EIO',
    'Cannot store the change of the configuration: EIO',
  ];
  for (const [cause, outcome] of [
    [new Error('EIO'), undefined],
    [new OutcomeUnknown(new Error('EIO')), 'unknown'],
  ] as const) {
    const expected = messages.map((message) => [503, outcome, message]);
    assert.deepEqual(await responseTo(cause), expected);
  }
});

test('the member list is reported and changed while TCP-IP join is enabled', async () => {
  const path = 'rest/config/tcp-ip/member-list';
  const tcpIpMembers = new TcpIpMembers(new LocalRecord('1.2'), ['localhost:5701', 'b:2']);
  const message = 'The member list of TCP-IP join config is updated at run time. ';
  const changed = '"member-list":["localhost:8001","localhost:9001","localhost:10001"]}';
  await member({ reconfiguration: { ...RECONFIGURATION, tcpIpMembers } }).follow([
    [`GET ${path}`, '200 {"status":"success","member-list":["localhost:5701","b:2"]}'],
    [
      `POST ${path} dev&&localhost:8001, localhost:9001;;localhost:10001`,
      `200 {"status":"success","message":"${message}",${changed}`,
    ],
    [`GET ${path}`, `200 {"status":"success",${changed}`],
    [
      `POST ${path} dev&& ,`,
      `400 ${failure('Cannot change the member list to " ,": it names no member')}`,
    ],
  ]);
});

test('the member list is 400 while TCP-IP join is not enabled', async () => {
  const refused = `400 ${failure('TCP-IP join mechanism is not enabled in the cluster.')}`;
  await member().follow([
    ['GET rest/config/tcp-ip/member-list', refused],
    ['POST rest/config/tcp-ip/member-list dev&&a', refused],
  ]);
});

test('a user or password may have at most 4,096 encoded bytes', async () => {
  const long = (parameter: number) =>
    `400 ${failure(`Cannot read parameter ${parameter}: longer than 4096 bytes`)}`;
  await member(undefined, { bodyBytesMax: 10_000 }).follow([
    [`POST ${MANAGEMENT}/state dev&${'x'.repeat(4096)}`, '200 …'],
    [`POST ${MANAGEMENT}/state dev&${'x'.repeat(4097)}`, long(2)],
    [`POST ${MANAGEMENT}/state ${'x'.repeat(4097)}&`, long(1)],
  ]);
});

test('an invalid value is repeated up to 128 bytes', async () => {
  await member().follow([
    [`POST ${MANAGEMENT}/changeState dev&&${'x'.repeat(900)}`, `400 …\\"${'x'.repeat(128)}\\"…`],
    [`POST ${MANAGEMENT}/version dev&&${'1'.repeat(900)}`, `400 …\\"${'1'.repeat(128)}\\"…`],
  ]);
});

test('a call whose client disconnects before the response is done and in the audit log', async () => {
  const password = await hashPassword(Buffer.from('a&ü'));
  const credentials = new Authenticator([{ name: 'ann', password }], new FakeClock());
  const { ask, sent, audited, failures } = member({ credentials });
  for (const body of ['ann&a%26%C3%BC&frozen', 'ann&wrong&passive']) {
    sent('POST', `${MANAGEMENT}/changeState`, body).socket.destroy();
  }
  while (audited.length < 2) await nextTurn();
  assert.deepEqual(audited.map(({ user, status }) => `${user} ${status}`).sort(), [
    'ann 200',
    'ann 403',
  ]);
  assert.equal(await ask('GET', 'health/cluster-state'), '200 "FROZEN"');
  assert.deepEqual(failures, []);
});

test('a call that fails by a fault of the member is 500 and in the audit log', async () => {
  const fault = new Error('a fault');
  const credentials = { check: () => Promise.reject(fault) };
  const { ask, audited, failures } = member({ credentials });
  assert.equal(await ask('POST', `${MANAGEMENT}/state`, 'dev&'), '500');
  assert.deepEqual(
    audited.map(({ user, status }) => `${user} ${status}`),
    ['dev 500'],
  );
  assert.deepEqual(failures, [fault]);
});

test('a password with any characters is right if each is written as a form value', async () => {
  const password = 'a&b=c+d%e ü\u{1f511}\n\0';
  const credentials = new Authenticator([{ name: 'änn', password }], new FakeClock());
  const { ask, audited } = member({ credentials });
  const path = `${MANAGEMENT}/state`;
  const [user, right] = ['änn', password].map(encodeURIComponent);
  assert.match(await ask('POST', path, `${user}&${right}`), /^200/);
  assert.match(await ask('POST', path, `${user}&${right?.replaceAll('%20', '+')}`), /^200/);
  assert.match(await ask('POST', path, `änn&${right}`), /^200/);
  for (const wrong of [
    right?.toLowerCase().replace('a%26', 'A%26'),
    `${right}%00`,
    right?.replace('%2B', '+'),
  ]) {
    assert.match(await ask('POST', path, `${user}&${wrong}`), /^403/);
  }
  assert.deepEqual([...new Set(audited.map((entry) => entry.user))], ['änn']);
  assert.ok(!JSON.stringify(audited).includes('a&b'));
});
