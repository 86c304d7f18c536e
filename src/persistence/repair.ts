/** Saves the whole records of a damaged data directory into another one, on which a member can start. */
import { writeCheckedFile } from './checked-file.ts';
import { fillDirectory } from './fill-directory.ts';
import { writeManifest } from './manifest.ts';
import { MEMBER } from './member-file.ts';
import { Salvage, type Salvaged, type SalvageOptions } from './salvage.ts';
import type { Storage } from './storage.ts';

/** Without a target it only reports. Rejects as Salvage.run and fill do. */
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
