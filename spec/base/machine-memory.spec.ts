import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { machineMemory, memoryBelow } from '../../src/base/machine-memory.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const MIB = 1_048_576;
const TOTAL = 1024 * MIB;
const V2 = '25 21 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n';
const V1 = '30 21 0:26 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n';
const OTHERS =
  '21 1 8:1 / / rw - ext4 /dev/sda1 rw\n' +
  '29 21 0:25 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n';
const UNLIMITED = '9223372036854771712\n';

/** Returns the memory of a system with these files. */
function memoryWith(files: Readonly<Record<string, string>>) {
  const root = temporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return memoryBelow(root, TOTAL);
}

const ALL = { bytes: TOTAL, isContainer: false };

function limited(mib: number) {
  return { bytes: mib * MIB, isContainer: true };
}

test('machineMemory is the memory of a machine without control groups or limits', () => {
  assert.deepEqual(memoryWith({}), ALL);
  const cgroup = '0::/user.slice\n';
  assert.deepEqual(memoryWith({ 'proc/self/cgroup': cgroup }), ALL);
  const files = { 'proc/self/cgroup': cgroup, 'proc/self/mountinfo': OTHERS + V2 };
  assert.deepEqual(memoryWith(files), ALL);
  assert.deepEqual(memoryWith({ ...files, 'sys/fs/cgroup/user.slice/memory.max': 'max\n' }), ALL);
  const more = `${4096 * MIB}\n`;
  assert.deepEqual(memoryWith({ ...files, 'sys/fs/cgroup/user.slice/memory.max': more }), ALL);
  const { bytes } = machineMemory();
  assert.ok(bytes > 0 && bytes <= totalmem());
});

test('machineMemory is the lowest limit along the path in version 2', () => {
  const files = {
    'proc/self/cgroup': '0::/a/b/c\n',
    'proc/self/mountinfo': OTHERS + V2,
    'sys/fs/cgroup/a/b/c/memory.max': 'max\n',
    'sys/fs/cgroup/a/b/memory.max': `${256 * MIB}\n`,
    'sys/fs/cgroup/a/memory.max': `${512 * MIB}\n`,
  };
  assert.deepEqual(memoryWith(files), limited(256));
  const own = { 'sys/fs/cgroup/a/b/c/memory.max': `${128 * MIB}\n` };
  assert.deepEqual(memoryWith({ ...files, ...own }), limited(128));
  const upper = { 'sys/fs/cgroup/a/memory.max': `${64 * MIB}\n` };
  assert.deepEqual(memoryWith({ ...files, ...upper }), limited(64));
});

test('machineMemory is the lowest limit along the path in version 1', () => {
  const files = {
    'proc/self/cgroup': '12:cpu,cpuacct:/x\n4:memory:/a/b\n0::/\n',
    'proc/self/mountinfo': OTHERS + V1,
    'sys/fs/cgroup/memory/memory.limit_in_bytes': UNLIMITED,
    'sys/fs/cgroup/memory/a/memory.limit_in_bytes': `${256 * MIB}\n`,
    'sys/fs/cgroup/memory/a/b/memory.limit_in_bytes': UNLIMITED,
  };
  assert.deepEqual(memoryWith(files), limited(256));
  const own = { 'sys/fs/cgroup/memory/a/b/memory.limit_in_bytes': `${128 * MIB}\n` };
  assert.deepEqual(memoryWith({ ...files, ...own }), limited(128));
  // The memory controller is a version 1 hierarchy; the version 2 hierarchy has no memory limit.
  const both = `${OTHERS}${V1}31 21 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n`;
  assert.deepEqual(memoryWith({ ...files, 'proc/self/mountinfo': both }), limited(256));
});

test('machineMemory finds the limit if a container sees only its own groups', () => {
  const path = '/docker/0123';
  // The mount begins at the container's group,
  const first = {
    'proc/self/cgroup': `4:memory:${path}\n`,
    'proc/self/mountinfo': V1.replace(' / ', ` ${path} `),
    'sys/fs/cgroup/memory/memory.limit_in_bytes': `${256 * MIB}\n`,
  };
  assert.deepEqual(memoryWith(first), limited(256));
  // or at a group that is not on the path,
  assert.deepEqual(
    memoryWith({ ...first, 'proc/self/cgroup': '4:memory:/elsewhere\n' }),
    limited(256),
  );
  // or the path begins at a root that is not visible.
  const third = {
    'proc/self/cgroup': '0::/../outside\n',
    'proc/self/mountinfo': V2,
    'sys/fs/cgroup/memory.max': `${128 * MIB}\n`,
  };
  assert.deepEqual(memoryWith(third), limited(128));
});
