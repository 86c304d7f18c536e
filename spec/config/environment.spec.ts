/** The environment: settings, the name of the file, and variables that only the original reads. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { lineOf } from '../../src/config/finding.ts';
import { loadConfig } from '../../src/member/load.ts';
import { load, withFindings, writeConfig } from './documents.ts';

async function loadOf(environment: NodeJS.ProcessEnv) {
  return withFindings(await loadConfig({ file: undefined, environment, flags: [] }));
}

const NAMES_FILE = 'use GRID_CONFIG or --config for the configuration file';

/** Variables, and the start of the only warning; without it, no warning is expected. */
const rows: readonly (readonly [name: string, text: string, warning?: string])[] = [
  ['HZ_MAP_MY_ORDERS_TIMETOLIVESECONDS', '5', 'no setting in map, whose names are free'],
  ['GRID_MAP_MY_ORDERS_TIMETOLIVESECONDS', '5', 'no setting in map, whose names are free'],
  ['HZ_QUEUE_MY_JOBS_MAXSIZE', '5', 'no setting in queue, whose names are free'],
  ['HZ_NETWORK_PORT', '8000', 'no setting in network'],
  ['HZ_NETWORK_PORT', 'tcp://10.0.0.1:80'],
  ['HZ_PORT', 'tcp://10.0.0.1:80'],
  ['HZ_PORT_5701_TCP_ADDR', '10.0.0.1'],
  ['GRID_SERVICE_HOST', '10.0.0.1'],
  ['GRID_NETWORK_PORT', 'tcp://10.0.0.1:80'],
  ['HZ_CS_AUTH_USER', 'x', 'no setting'],
  ['HZ_HOST', '0.0.0.0', 'no setting'],
  ['HZ_NETWORK_INTERFACES_INTERFACES', '10.0.*.*', 'no setting; did you mean "HZ_NETWORK_INTER'],
  ['HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_DATA', 'true', 'no setting in network'],
  ['HZ_NETWORK_PORT_PROT', '1', 'no setting; did you mean "HZ_NETWORK_PORT_PORT"?'],
  ['GRID_CONFG', 'f', 'no setting; did you mean "GRID_CONFIG"?'],
  ['GRID_ADRESS', 'f', 'no setting; did you mean "GRID_ADDRESS"?'],
  ['GRID_SOMETHING', 'x', 'no setting'],
  ['HZ_HOME', '/opt/other'],
  ['HZ_LICENSE_KEY', 'x'],
  ['HZ_MAPPING', 'x', 'no setting'],
  ['GRID_ADDRESS', 'h:1'],
  ['GRID_USER', 'ann'],
  ['GRID_PASSWORD', 'p'],
  ['GRID_FROM_PASSWORD', 'p'],
  ['GRID_CA', 'ca.pem'],
  ['GRID_PATH_SEGMENT', 'cache'],
  ['HAZELCAST_CONFIG', '/data/h.xml', NAMES_FILE],
  ['HZ_CONFIG', '/data/h.xml', NAMES_FILE],
  ['HAZELCAST_CONFIG', ''],
  ['LOGGING_LEVEL', 'FINE', 'use GRID_LOGLEVEL or --log-level'],
  ['JAVA_OPTS', '-Dfile.encoding=UTF-8', 'there is no JVM'],
  ['JAVA_OPTS', ''],
  ['JAVA_OPTS', '-Xmx1g', 'there is no JVM; use --max-memory'],
  ['JAVA_OPTS', '-ea -Dhazelcast.config=h.xml', 'there is no JVM; use --config or GRID_CONFIG'],
  ['JAVA_OPTS', '-Dhz.network.port.port=1', 'there is no JVM; use flags, GRID_ variables'],
];

describe('loadConfig of the environment', () => {
  for (const [name, text, warning] of rows) {
    it(`${warning === undefined ? 'does not warn' : 'warns'} of ${name}="${text}"`, async () => {
      const { warnings, config } = await loadOf({ [name]: text });
      assert.equal(warnings.length, warning === undefined ? 0 : 1, warnings.join('\n'));
      const verb = /^(HZ_(?!CONFIG)|GRID_)/.test(name) ? 'matches' : 'has no effect:';
      const begin = `Environment variable ${name} ${verb} ${warning}`;
      if (warning !== undefined) assert.equal(warnings[0]?.slice(0, begin.length), begin);
      assert.deepEqual(
        [...config.sources.values()].filter(({ kind }) => kind !== 'default'),
        [],
      );
    });
  }

  it('never repeats the values of JVM options', async () => {
    const { warnings } = await loadOf({
      JAVA_OPTS: '-Dhz.password=secret -Dhazelcast.config=secret',
    });
    assert.doesNotMatch(warnings.join('\n'), /secret/);
  });

  it('reads the file that GRID_CONFIG names, unless the command line names one', async () => {
    const named = writeConfig('named.yaml', 'grid: {cluster-name: named}');
    const typed = writeConfig('typed.yaml', 'grid: {cluster-name: typed}');
    const environment = { GRID_CONFIG: named };
    const { config, warnings } = await loadOf(environment);
    assert.deepEqual([config.clusterName, config.restEnabled, warnings], ['named', false, []]);
    const both = await loadConfig({ file: typed, environment, flags: [] });
    assert.equal(both.config.clusterName, 'typed');
    await assert.rejects(
      loadOf({ GRID_CONFIG: '/nowhere/at/all' }),
      /^ConfigFault: Cannot read configuration file "\/nowhere\/at\/all" of GRID_CONFIG: no such file$/,
    );
    // A text that is added to a running member is not a file, and does not depend on the
    // environment.
    const added = await loadConfig({ file: { text: 'grid: {}' }, environment, flags: [] });
    assert.equal(added.config.clusterName, 'dev');
  });

  it('uses the address of GRID_HOST, which overrides the file, unless --host is given', async () => {
    const interfaces = 'interfaces: {enabled: true, interfaces: [10.3.10.*]}';
    const file = writeConfig('host.yaml', `grid: {network: {${interfaces}}}`);
    const environment = { GRID_HOST: '127.0.0.2' };
    const { config } = await loadConfig({ file, environment, flags: [] });
    const source = { kind: 'environment', name: 'GRID_HOST' };
    assert.deepEqual([config.host, config.sources.get('--host')], ['127.0.0.2', source]);
    const flag = {
      key: 'host',
      text: '127.0.0.3',
      source: { kind: 'flag', name: '--host' },
    } as const;
    const typed = await loadConfig({ file, environment, flags: [flag] });
    assert.equal(typed.config.host, '127.0.0.3');
  });

  it('uses the cluster name of GRID_CLUSTER_NAME, but not together with GRID_CLUSTERNAME', async () => {
    const { config } = await loadOf({ GRID_CLUSTER_NAME: 'blue' });
    assert.equal(config.clusterName, 'blue');
    await assert.rejects(
      loadOf({ GRID_CLUSTER_NAME: 'blue', GRID_CLUSTERNAME: 'green' }),
      /Cannot use GRID_CLUSTER_NAME: GRID_CLUSTERNAME sets the same setting/,
    );
  });

  it('ignores case, "-" and blanks in names, and accepts "_" or "." between steps', async () => {
    const names = [
      'HZ_NETWORK_PORT_PORT',
      'HZ_network.port.port',
      'GRID_Network_Port.PORT',
      'HZ_ NETWORK_PORT_PORT_',
    ];
    for (const name of names) assert.equal((await loadOf({ [name]: ' 6001\t' })).config.port, 6001);
    const groups = [
      'HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_CLUSTERWRITE_ENABLED',
      'HZ_NETWORK_RESTAPI_ENDPOINTGROUPS.CLUSTER_WRITE.ENABLED',
      'HZ_NETWORK_REST-API_ENDPOINT-GROUPS_cluster-write_ENABLED',
      'GRID_NETWORK_RESTAPI_ENDPOINTGROUPS_CLUSTER_WRITE_ENABLED',
      'GRID_NETWORK_RESTAPI_ENDPOINTGROUPS_CLUSTERWRITE_ENABLED',
    ];
    for (const name of groups) {
      const { config } = await loadOf({ [name]: 'True' });
      assert.equal(config.endpointGroups.get('CLUSTER_WRITE'), true, name);
    }
  });

  it('resolves the names of a file: as the original with HZ_, all of them with GRID_', async () => {
    const names = '"my-orders": {}, My_Jobs: {}, "v1.x": {}, a-b: {}, a_b: {}';
    const file = writeConfig('names.yaml', `grid: {map: {${names}}}`);
    const secondsOf = async (variables: NodeJS.ProcessEnv) => {
      const loaded = await loadConfig({ file, environment: variables, flags: [] });
      const set = [...loaded.config.mapTimeToLiveSeconds].filter(([, seconds]) => seconds > 0);
      return [Object.fromEntries(set), withFindings(loaded).warnings] as const;
    };
    for (const [variable, name] of [
      ['GRID_MAP_MYORDERS_TIMETOLIVESECONDS', 'my-orders'],
      ['GRID_MAP_MY_ORDERS_TIMETOLIVESECONDS', 'my-orders'],
      ['GRID_MAP_MY_JOBS_TIMETOLIVESECONDS', 'My_Jobs'],
      ['GRID_MAP_V1.X_TIMETOLIVESECONDS', 'v1.x'],
      ['GRID_MAP_OTHER_TIMETOLIVESECONDS', 'other'],
      ['HZ_MAP_MY-ORDERS_TIMETOLIVESECONDS', 'my-orders'],
      ['HZ_MAP_OTHER_TIMETOLIVESECONDS', 'other'],
    ] as const) {
      assert.deepEqual(await secondsOf({ [variable]: '7' }), [{ [name]: 7 }, []], variable);
    }
    const [set, warnings] = await secondsOf({ HZ_MAP_MYORDERS_TIMETOLIVESECONDS: '7' });
    assert.deepEqual(set, { myorders: 7 });
    assert.match(warnings.join(), /not "my-orders"; GRID_MAP_MYORDERS_TIMETOLIVESECONDS sets that/);
    await assert.rejects(
      secondsOf({ GRID_MAP_AB_TIMETOLIVESECONDS: '7' }),
      /GRID_MAP_AB_TIMETOLIVESECONDS: it is ambiguous: map\.a-b\.time.* and map\.a_b\.time/,
    );
  });

  it('replaces a list of the file with GRID_, and appends to it with HZ_', async () => {
    const join = 'join: {tcp-ip: {enabled: true, member-list: [a, b]}}';
    const file = writeConfig('list.yaml', `grid: {network: {${join}}}`);
    const membersOf = async (environment: NodeJS.ProcessEnv) =>
      (await loadConfig({ file, environment, flags: [] })).config.tcpIpMembers;
    const name = 'NETWORK_JOIN_TCPIP_MEMBERLIST';
    assert.deepEqual(await membersOf({ [`GRID_${name}`]: 'c, d' }), ['c', 'd']);
    assert.deepEqual(await membersOf({ [`GRID_${name}_0`]: 'c', [`GRID_${name}_1`]: 'd' }), [
      'c',
      'd',
    ]);
    assert.deepEqual(await membersOf({ [`HZ_${name}_0`]: 'c' }), ['a', 'b', 'c']);
    assert.deepEqual(await membersOf({ HZ_NETWORK_JOIN_TCPIP_INTERFACE: 'c' }), ['a', 'b', 'c']);
  });

  it('refuses an unknown variable that could be meant to disable an enabled setting', async () => {
    const rest = 'network: {rest-api: {enabled: true, endpoint-groups: {DATA: {enabled: true}}}}';
    const file = writeConfig('on.yaml', `grid: {${rest}, security: {enabled: true}}`);
    const refusedBy = async (name: string, text = 'false') => {
      const environment = { [name]: text };
      const { refused } = await load('on.yaml', readFileSync(file, 'utf8'), environment);
      return refused.map(lineOf).filter((line) => line.startsWith(name)).length;
    };
    for (const name of [
      'HZ_NETWORK_REST_API_ENABLED',
      'HZ_NETWORK_RESTAPI',
      'HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_DATA',
      'HZ_NETWORK_RESTAPI_ENDPOINTGROUP_DATA_ENABLED',
      'HZ_DATA_ENABLED',
      'GRID_SECURITY',
      'HZ_SECURITY_ENABLE',
    ]) {
      assert.equal(await refusedBy(name), 1, name);
      assert.equal(await refusedBy(name, 'true'), 0, name);
    }
    for (const name of [
      'HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_WAN',
      'HZ_SSL_ENABLED',
      'HZ_CS_AUTH_ENABLED',
      'HZ_CS_SECURITY',
    ]) {
      assert.equal(await refusedBy(name), 0, name);
    }
  });

  it('refuses an HZ_ variable of REST that disables REST in the original', async () => {
    const name = 'NETWORK_RESTAPI_ENDPOINTGROUPS_CLUSTERWRITE_ENABLED';
    const refusedWith = async (environment: NodeJS.ProcessEnv, isOn = true) => {
      const file = `grid: {network: {rest-api: {enabled: ${isOn}}}}`;
      return (await load('rest.yaml', file, environment)).refused.map(lineOf);
    };
    assert.deepEqual(await refusedWith({ [`HZ_${name}`]: 'true' }), [
      `HZ_${name}: Cannot serve with network.rest-api.endpoint-groups.CLUSTER_WRITE.enabled: ` +
        'without HZ_NETWORK_RESTAPI_ENABLED the original turns REST off, which the file enables; ' +
        `also set that variable, or write GRID_${name}`,
    ]);
    assert.deepEqual(await refusedWith({ [`HZ_${name}`]: 'true' }, false), []);
    assert.deepEqual(await refusedWith({ [`GRID_${name}`]: 'true' }), []);
    for (const switched of ['HZ_NETWORK_RESTAPI_ENABLED', 'GRID_NETWORK_RESTAPI_ENABLED']) {
      assert.deepEqual(await refusedWith({ [`HZ_${name}`]: 'true', [switched]: 'true' }), []);
    }
  });
});
