/**
 * The command line flags of the settings, their help, and the assignments that they make.
 * Tested by member/config.spec.ts.
 */
import type { Assignment } from './resolve.ts';
import type { AnySetting, Flag } from './setting.ts';
import type { SettingTable } from './setting-table.ts';

export interface SettingFlag {
  readonly key: string;
  readonly row: AnySetting;
  readonly flag: Flag;
  /** Its meaning, with unit, range and default. */
  readonly help: string;
}

/** Returns every flag of a setting, in the order of the table. */
export function flagsOf(table: SettingTable): readonly SettingFlag[] {
  return table.keys.flatMap((key) => {
    const row = table.rowOf(key);
    return row.flags.map((flag) => ({ key, row, flag, help: helpOf(row, flag) }));
  });
}

/**
 * Returns the assignments of a flag with this text; several if the text stands for several names.
 * Throws TypeError if the text does not have the flag's form.
 */
export function assignmentsOf({ key, flag }: SettingFlag, text: string): readonly Assignment[] {
  const source = { kind: 'flag', name: flag.name } as const;
  const implied = Object.entries(flag.implies ?? {}).map(([implied, text]) => ({
    key: implied,
    text,
    source,
  }));
  const expects = flag.expects === undefined ? {} : { expects: flag.expects };
  if (flag.split === undefined) return [{ key, text, source, ...expects }, ...implied];
  const parts = flag.split(text);
  if (parts === undefined) {
    const wanted = flag.expects ?? flag.argument;
    throw new TypeError(`Cannot use ${flag.name} ${JSON.stringify(text)}: not ${wanted}`);
  }
  const assignments = parts.map(([name, value]) => ({
    key,
    name,
    text: value,
    source,
    seen: text,
    ...expects,
  }));
  return [...assignments, ...implied];
}

/** Returns the name of a flag as an option of a program: `--tls-key` is `tlsKey`. */
export function optionName(flag: string): string {
  return flag.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

function helpOf(row: AnySetting, flag: Flag): string {
  if (flag.about !== undefined) return flag.about;
  const unit = row.unit === undefined ? '' : `, in ${row.unit}`;
  const fallback = row.fallbackText ?? String(row.fallback);
  return `${row.about} (${row.expects}${unit}; default ${fallback})`;
}
