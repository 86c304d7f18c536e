/** The environment: settings, the file's name, and variables that only the original reads. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Assignment } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { told, writeConfig } from './documents.ts';

async function loadOf(environment: NodeJS.ProcessEnv, flags: readonly Assignment[] = []) {
  return told(await loadConfig({ file: undefined, environment, flags }));
}

function flag(key: 'host' | 'compatibility', text: string): Assignment {
  return { key, text, source: { kind: 'flag', name: `--${key}` } };
}

const NAMES_FILE = 'GRID_CONFIG or --config names the configuration file';

/** Variables, and the beginning of the only warning; without it no warning is expected. */
const rows: readonly (readonly [name: string, text: string, warning?: string])[] = [
  ['HZ_MAP_ORDERS_TIMETOLIVESECONDS', '5', 'no setting here: names in map are free'],
  ['GRID_MAP_ORDERS_TIMETOLIVESECONDS', '5', 'no setting here: names in map are free'],
  ['HZ_QUEUE_JOBS_MAXSIZE', '5', 'no setting here: names in queue are free'],
  ['GRID_QUEUE_JOBS_MAXSIZE', '5', 'no setting here: names in queue are free'],
  ['HZ_SECURITY_REALMS_0_NAME', 'r', 'no setting here'],
  ['HZ_NETWORK_PORT_PROT', '1', 'no setting; did you mean "HZ_NETWORK_PORT_PORT"?'],
  ['GRID_CONFG', 'f', 'no setting; did you mean "GRID_CONFIG"?'],
  ['GRID_ADRESS', 'f', 'no setting; did you mean "GRID_ADDRESS"?'],
  ['GRID_SOMETHING', 'x', 'no setting'],
  ['HZ_HOME', '/opt/other'],
  ['HZ_MAPPING', 'x'],
  ['GRID_ADDRESS', 'h:1'],
  ['GRID_USER', 'ann'],
  ['GRID_PASSWORD', 'p'],
  ['GRID_CA', 'ca.pem'],
  ['GRID_PATH_SEGMENT', 'cache'],
  ['HAZELCAST_CONFIG', '/data/h.xml', NAMES_FILE],
  ['HZ_CONFIG', '/data/h.xml', NAMES_FILE],
  ['HAZELCAST_CONFIG', ''],
  ['LOGGING_LEVEL', 'FINE', 'GRID_LOGLEVEL or --log-level'],
  ['JAVA_OPTS', '-Dfile.encoding=UTF-8', 'there is no JVM'],
  ['JAVA_OPTS', ''],
  ['JAVA_OPTS', '-Xmx1g', 'there is no JVM; --max-memory'],
  ['JAVA_OPTS', '-ea -Dhazelcast.config=h.xml', 'there is no JVM; --config or GRID_CONFIG'],
  ['JAVA_OPTS', '-Dhz.network.port.port=1', 'there is no JVM; settings are flags, variables'],
];

describe('loadConfig of the environment', () => {
  for (const [name, text, warning] of rows) {
    it(`${warning === undefined ? 'says nothing' : 'warns'} of ${name}="${text}"`, async () => {
      const { warnings, config } = await loadOf({ [name]: text });
      assert.equal(warnings.length, warning === undefined ? 0 : 1, warnings.join('\n'));
      const verb = /^(HZ_(?!CONFIG)|GRID_)/.test(name) ? 'names' : 'has no meaning here:';
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

  it('takes the file that GRID_CONFIG names, unless one was typed', async () => {
    const named = writeConfig('named.yaml', 'grid: {cluster-name: named}');
    const typed = writeConfig('typed.yaml', 'grid: {cluster-name: typed}');
    const environment = { GRID_CONFIG: named };
    const { config, warnings } = await loadOf(environment);
    assert.deepEqual([config.clusterName, config.restEnabled, warnings], ['named', false, []]);
    const both = await loadConfig({ file: typed, environment, flags: [] });
    assert.equal(both.config.clusterName, 'typed');
    await assert.rejects(
      loadOf({ GRID_CONFIG: '/nowhere/at/all' }),
      /^Error: Cannot read configuration file "\/nowhere\/at\/all" of GRID_CONFIG: no such file$/,
    );
    // A text that is added to a running member is no file, and does not depend on its environment.
    const added = await loadConfig({ file: { text: 'grid: {}' }, environment, flags: [] });
    assert.equal(added.config.clusterName, 'dev');
  });

  it('takes the address of GRID_HOST, above the file and below --host', async () => {
    const interfaces = 'interfaces: {enabled: true, interfaces: [10.3.10.*]}';
    const file = writeConfig('host.yaml', `grid: {network: {${interfaces}}}`);
    const environment = { GRID_HOST: '127.0.0.2' };
    const { config } = await loadConfig({ file, environment, flags: [] });
    const source = { kind: 'environment', name: 'GRID_HOST' };
    assert.deepEqual([config.host, config.sources.get('--host')], ['127.0.0.2', source]);
    const typed = await loadConfig({ file, environment, flags: [flag('host', '127.0.0.3')] });
    assert.equal(typed.config.host, '127.0.0.3');
  });

  it('takes the compatibility of GRID_COMPATIBILITY, below --compatibility', async () => {
    const environment = { GRID_COMPATIBILITY: 'hazelcast' };
    const { config, notes } = await loadOf(environment);
    const source = { kind: 'environment', name: 'GRID_COMPATIBILITY' };
    assert.deepEqual(
      [config.compatibility, config.sources.get('compatibility')],
      ['hazelcast', source],
    );
    assert.deepEqual(notes, []);
    const typed = await loadOf(environment, [flag('compatibility', 'none')]);
    assert.equal(typed.config.compatibility, 'none');
    await assert.rejects(loadOf({ GRID_COMPATIBILITY: 'x' }), /GRID_COMPATIBILITY "x": not one of/);
  });
});
