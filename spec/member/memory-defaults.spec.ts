import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveConfig } from '../../src/member/config.ts';
import { explainMemory } from '../../src/member/explain.ts';
import { memoryDefaults, memoryWarning } from '../../src/member/memory-defaults.ts';

const MIB = 1_048_576;
const NO_WAN = {
  ...{ wanQueueBytesMax: 256 * MIB, endpointGroups: new Map(), wanReplications: new Map() },
};
const SIZES = [64, 128, 256, 512, 1024, 2048, 16_384];

function container(mib: number) {
  return { bytes: mib * MIB, isContainer: true };
}

function defaultsOf(mib: number) {
  const { maxMemory, bodyBytesMax, inFlightBytesMax } = memoryDefaults({}, container(mib));
  return [maxMemory, bodyBytesMax, inFlightBytesMax].map(({ value }) => value / MIB);
}

test('memoryDefaults are shares of the memory, up to their maximum', () => {
  assert.deepEqual(defaultsOf(64).slice(1), [8, 8]);
  assert.deepEqual(defaultsOf(128).slice(1), [16, 16]);
  assert.deepEqual(defaultsOf(512).slice(1), [16, 64]);
  assert.deepEqual(defaultsOf(2048).slice(1), [16, 256]);
  assert.deepEqual(defaultsOf(16_384), [Math.floor(16_384 * MIB * 0.7) / MIB, 16, 256]);
});

test('memoryDefaults leave memory for the process if there is enough', () => {
  for (const mib of SIZES) {
    const [data = 0, , flight = 0] = defaultsOf(mib);
    assert.ok(data > 0 && data <= mib * 0.7, `${data} of ${mib}`);
    const config = { ...NO_WAN, maxMemory: data * MIB, inFlightBytesMax: flight * MIB };
    assert.equal(memoryWarning(config, container(mib)) === undefined, mib > 64, `${mib}`);
  }
});

test('memoryDefaults of the other settings depend on a given value', () => {
  const bodyBytesMax = 40 * MIB;
  const ofBody = memoryDefaults({ bodyBytesMax }, container(256));
  assert.equal(ofBody.inFlightBytesMax.value, bodyBytesMax);
  assert.equal(ofBody.inFlightBytesMax.from, 'network.http.body-bytes-max');
  const none = memoryDefaults({}, container(256));
  assert.ok(none.maxMemory.value > ofBody.maxMemory.value);
});

test('a default that is a share shows the amount it is a share of, and one at its maximum does not', () => {
  const source = { kind: 'flag', name: '--max-memory' } as const;
  const machine = { bytes: 16_384 * MIB, isContainer: false };
  assert.deepEqual(explainMemory(resolveConfig([], machine)), {
    maxMemory: { bytes: 12_025_908_428, source: 'default: 70 % of 16384 MiB, machine' },
    bodyBytesMax: { bytes: 16 * MIB, source: 'default' },
    inFlightBytesMax: { bytes: 256 * MIB, source: 'default' },
    wanQueueBytesMax: { bytes: 256 * MIB, source: 'default' },
  });
  const given = [{ key: 'maxMemory', text: '32m', source } as const];
  assert.deepEqual(explainMemory(resolveConfig(given, container(128))), {
    maxMemory: { bytes: 32 * MIB, source: 'flag --max-memory' },
    bodyBytesMax: { bytes: 16 * MIB, source: 'default' },
    inFlightBytesMax: { bytes: 16 * MIB, source: 'default: 1/8 of 128 MiB, container' },
    wanQueueBytesMax: { bytes: 16 * MIB, source: 'default: 1/8 of 128 MiB, container' },
  });
});

test('memoryWarning shows the three numbers if their sum is too large', () => {
  const config = { ...NO_WAN, maxMemory: 100 * MIB, inFlightBytesMax: 16 * MIB };
  const warning = memoryWarning(config, container(128)) ?? '';
  assert.match(
    warning,
    /^max-memory \(100 MiB\), network\.http\.in-flight-bytes-max \(16 MiB\) and/,
  );
  assert.match(warning, /the process \(\d+ MiB\) are more than the container has, 128 MiB$/);
  assert.equal(memoryWarning(config, container(256)), undefined);
});

test('memoryDefaults leave memory for WAN replication if a member takes part in it, and the warning includes it', () => {
  for (const mib of [256, 512, 1024, 4096]) {
    const memory = container(mib);
    const [without, { maxMemory, inFlightBytesMax, wanQueueBytesMax }] = [
      memoryDefaults({}, memory),
      memoryDefaults({}, memory, true),
    ];
    assert.equal(wanQueueBytesMax.value, Math.min(256 * MIB, (mib * MIB) / 8));
    const queues = wanQueueBytesMax.value * 1.25;
    const config = {
      ...{ maxMemory: maxMemory.value, inFlightBytesMax: inFlightBytesMax.value },
      ...{ wanQueueBytesMax: wanQueueBytesMax.value, endpointGroups: new Map([['WAN', true]]) },
      wanReplications: new Map(),
    };
    assert.ok(maxMemory.value <= without.maxMemory.value);
    assert.ok(config.maxMemory + config.inFlightBytesMax + queues < memory.bytes, `${mib}`);
    assert.equal(memoryWarning(config, memory), undefined, `${mib}`);
    const more = { ...config, wanQueueBytesMax: memory.bytes };
    assert.match(
      memoryWarning(more, memory) ?? '',
      /, WAN replication \(\d+(\.\d)? MiB, wan\.queue-bytes-max\) and the process/,
    );
    const none = { ...more, endpointGroups: new Map() };
    assert.equal(memoryWarning(none, memory), undefined);
    const publishing = { ...none, wanReplications: new Map([['r', {}]]) };
    assert.ok(memoryWarning(publishing, memory) !== undefined);
  }
});
