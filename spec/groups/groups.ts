/**
 * Groups of spec files that `make test` runs in one process each. A process per file would take
 * much longer, because each process starts Node and tsx and loads most of src. Each file becomes a
 * suite with its path as the name: its hooks apply only to its own tests, and a failure names the
 * file.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { endHooks } from './test-context.ts';

const SPEC = join(import.meta.dirname, '..');

/**
 * Files and folders of each group, by their paths in `spec`. For a folder, a group runs those of
 * its files that no group names. `GROUP.group.ts` runs a group; `run-files.ts` starts them in this
 * order, the longest first.
 */
export const GROUPS: Readonly<Record<string, readonly string[]>> = {
  // First, because it waits for real time.
  'integration-wan': [
    'integration/wan.spec.ts',
    'integration/wan-killed.spec.ts',
    'integration/wan-restored.spec.ts',
    'integration/wan-sync.spec.ts',
  ],
  integration: ['integration'],
  config: ['config', 'config/original', 'base', 'bin', 'security', 'telemetry'],
  engine: ['engine', 'engine/embedded'],
  persistence: ['persistence'],
  wan: ['wan'],
  http: ['http'],
  commands: ['cli', 'docs', 'bench', 'mutate'],
  member: [
    '.',
    'member',
    'servers',
    'cluster',
    'embedding',
    'local',
    'surface',
    'surface/openapi',
    'administration',
    'cp',
    'data',
    'health',
    'monitoring',
    'v1',
  ],
  redis: ['engine/redis', 'soak/servers'],
};

/** Returns the spec files of a group, by their paths in `spec`, sorted. */
export function filesOf(group: string): string[] {
  const named = new Set(Object.values(GROUPS).flat());
  const files = (GROUPS[group] ?? []).flatMap((place) =>
    place.endsWith('.spec.ts')
      ? [place]
      : readdirSync(join(SPEC, place))
          .filter((name) => name.endsWith('.spec.ts'))
          .map((name) => join(place, name))
          .filter((file) => !named.has(file)),
  );
  return files.sort();
}

/** Runs the spec files of a group in this process, one after the other. */
export function runGroup(group: string): void {
  runFiles(filesOf(group));
}

/** Runs spec files, given by their paths in `spec`, in this process. */
export function runFiles(specs: readonly string[]): void {
  const imports: Promise<unknown>[] = [];
  for (const file of specs) {
    describe(`spec/${file}`, async () => {
      const imported = import(join(SPEC, file));
      imports.push(imported);
      await imported;
      await Promise.all(imports);
    });
  }
  Promise.all(imports).then(endHooks);
}
