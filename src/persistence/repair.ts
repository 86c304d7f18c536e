/**
 * Saves the valid records of a damaged data directory to another one, on which a member can start.
 */
import { writeCheckedFile } from './checked-file.ts';
import { fillDirectory } from './fill-directory.ts';
import { writeManifest } from './manifest.ts';
import { MEMBER } from './member-file.ts';
import { Salvage, type Salvaged, type SalvageOptions } from './salvage.ts';
import type { Storage } from './storage.ts';

/**
 * Saves the records, or only reports faults if there is no target. Rejects as Salvage.run and
 * fillDirectory do.
 */
export async function repair(options: SalvageOptions, target?: Storage): Promise<Salvaged> {
  const salvage = new Salvage(options);
  if (target === undefined) return await salvage.run(undefined, 1);
  return await fillDirectory(target, async () => {
    const salvaged = await salvage.run({ storage: target, suffix: '' }, 1);
    await writeCheckedFile(target, MEMBER, salvaged.member ?? {});
    await writeManifest(target, salvaged.manifest);
    return salvaged;
  });
}
