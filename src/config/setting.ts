/**
 * The form of a setting: a row of the table in member/settings.ts. A row describes its setting completely,
 * so that flags, help, checks and the effective configuration are derived from it. A row with free
 * names (`queue.{name}.max-size`) has a value for each name. Tested by member/config.spec.ts.
 */

/** The parsed value, or its fault: not of the type, or of the type but out of range. */
type Parsed<Value> = { readonly value: Value } | { readonly fault: 'type' | 'range' };

/** A command line flag of a setting. */
export interface Flag {
  /** Name with its dashes. */
  readonly name: string;
  /** Word for the flag's argument in the help. */
  readonly argument: string;
  /** Description of the flag; default: that of the setting. */
  readonly about?: string;
  /** Texts that the flag accepts; default: those of the setting. */
  readonly expects?: string;
  /** Other settings that the flag sets, by their keys, and their texts. */
  readonly implies?: Readonly<Record<string, string>>;
  /**
   * For settings with free names: returns the names and value texts that the flag's text stands
   * for, or undefined if it does not have the flag's form.
   */
  split?(text: string): readonly (readonly [name: string, text: string])[] | undefined;
}

export interface Setting<Value> {
  /** Path in the configuration file; missing for a setting that only flags set. */
  readonly path?: string;
  /** Other paths of the same setting: a shorter form, or the original's property. */
  readonly aliases?: readonly string[];
  /** Whether the value is a list, whose items are separated by commas in a text. */
  readonly isList?: true;
  /** Whether it is a list that only this member has: a file may also write it as one text. */
  readonly isOwnList?: true;
  /** Whether the value must not be shown. */
  readonly isSecret?: true;
  /** Whether a blank text counts as missing, as in the original. */
  readonly isBlankMissing?: true;
  /** Whether an invalid text must not be shown, because it may contain a secret. */
  hides?(text: string): boolean;
  /** Returns a correction of an invalid text, if one is known, without any part of the text. */
  advice?(text: string): string | undefined;
  readonly flags: readonly Flag[];
  /** Description, as a phrase that starts a sentence. */
  readonly about: string;
  /** Unit of a number. */
  readonly unit?: string;
  /** Allowed values, as a phrase after "not": `an integer from 0 to 65535`. */
  readonly expects: string;
  /** The value if no source sets one. */
  readonly fallback: Value;
  /** A value to show in an example, if there is no default. */
  readonly example?: string;
  /** The fallback in words, if the value itself does not explain it. */
  readonly fallbackText?: string;
  parse(text: string): Parsed<Value>;
}

/** A setting whose path has `{name}`, with a value for each name. */
export interface NamedSetting<Name extends string, Value> extends Omit<Setting<Value>, 'fallback'> {
  readonly path: string;
  /** Names that have a value if no source sets one. */
  readonly fallback: ReadonlyMap<Name, Value>;
  /** Whether a name in a file without this setting has no value; otherwise it has 0. */
  readonly isSparse?: true;
  /** Returns the name as it is stored, or undefined for a name that is not allowed. */
  parseName(text: string): Name | undefined;
}

/** A setting whose changes a running member applies, by a function of Reloads. */
export type Reloadable<Row> = Row & { readonly isReloadable: true };

export function reloadable<Row extends object>(row: Row): Reloadable<Row> {
  return { ...row, isReloadable: true };
}

/** A row of the table. */
export type AnySetting = Setting<unknown> | NamedSetting<string, unknown>;

/** Text shown in place of a secret. */
export const MASK = '****';

/** Whether a message must not show the invalid text. */
export function isHidden(row: Pick<AnySetting, 'isSecret' | 'hides'>, text: string): boolean {
  return row.isSecret === true || row.hides?.(text) === true;
}

/** Returns the reason why the text cannot be used: `not true or false`, with the advice. */
export function notExpected(
  { expects, advice }: Omit<AnySetting, 'fallback'>,
  text: string,
): string {
  const more = advice?.(text);
  return more === undefined ? `not ${expects}` : `not ${expects}; ${more}`;
}

export function isNamed(row: AnySetting): row is NamedSetting<string, unknown> {
  return 'parseName' in row;
}

/**
 * Returns the path of a setting, with `name` in place of its free name, or the flag of a setting
 * without a path.
 */
export function pathOf(
  { path, flags }: Pick<AnySetting, 'path' | 'flags'>,
  name = '{name}',
): string {
  if (path === undefined) return flags[0]?.name ?? '';
  const at = path.indexOf('{name}');
  return at < 0 ? path : path.slice(0, at) + name + path.slice(at + '{name}'.length);
}

/** The value of a row; for a row with free names, a value for each name. */
type ValueOf<Row> =
  Row extends NamedSetting<infer Name, infer Value>
    ? ReadonlyMap<Name, Value>
    : Row extends Setting<infer Value>
      ? Value
      : never;

/** The values of rows, by key. */
export type ValuesOf<Rows> = { readonly [Key in keyof Rows]: ValueOf<Rows[Key]> };

type Rule<Value> = Pick<Setting<Value>, 'expects' | 'parse'>;

/** The fields of a row that the functions below do not fill in. */
type Row<Value> = Omit<Setting<Value>, keyof Rule<Value> | 'flags'> & { readonly flag?: Flag };

/** A row of a number from `minimum` to `maximum`, both included. */
type NumberRow = Row<number> & { readonly minimum: number; readonly maximum: number };

function setting<Value>({ flag, ...row }: Row<Value>, rule: Rule<Value>): Setting<Value> {
  return { ...row, flags: flag === undefined ? [] : [flag], ...rule };
}

/** Returns a setting for a whole number. */
export function integerSetting({ minimum, maximum, ...row }: NumberRow): Setting<number> {
  return setting(row, integerRule(minimum, maximum));
}

/** Returns a setting for a number of bytes; k, m and g stand for powers of 1,024. */
export function bytesSetting({ minimum, maximum, ...row }: NumberRow): Setting<number> {
  return setting(row, {
    expects: `an integer from ${minimum} to ${maximum}, or one with k, m or g`,
    parse(text) {
      const value = parseBytes(text);
      if (value === undefined) return { fault: 'type' };
      return value < minimum || value > maximum ? { fault: 'range' } : { value };
    },
  });
}

/**
 * Parses a number of bytes, with k, m or g for 2^10, 2^20 or 2^30; returns undefined for any other
 * text.
 */
export function parseBytes(text: string): number | undefined {
  const [, digits, unit = ''] = /^([+-]?\d{1,15})([kmg]?)$/i.exec(text) ?? [];
  if (digits === undefined) return undefined;
  return Number(digits) * 1024 ** ' kmg'.indexOf(unit.toLowerCase() || ' ');
}

/** Returns a setting for a text that `allows` accepts; `expects` describes such texts. */
export function textSetting<Fallback extends string | undefined>({
  expects,
  allows,
  ...row
}: Omit<Row<string | Fallback>, 'fallback'> & TextRule & { readonly fallback: Fallback }): Setting<
  string | Fallback
> {
  const parse: Setting<string | Fallback>['parse'] = (text) =>
    allows(text) ? { value: text } : { fault: 'type' };
  return setting<string | Fallback>(row, { expects, parse });
}

/** Returns a setting that is true or false. */
export function booleanSetting(row: Row<boolean>): Setting<boolean> {
  return setting(row, booleanRule);
}

/**
 * Returns a setting for a list of texts, each of which `allows` accepts; `expects` describes them.
 */
export function listSetting({
  expects,
  allows,
  ...row
}: Row<readonly string[]> & TextRule): Setting<readonly string[]> {
  return setting<readonly string[]>(
    { ...row, isList: true },
    {
      expects,
      parse(text) {
        const items = text.split(',').map((item) => item.trim());
        const nonEmpty = items.filter((item) => item !== '');
        return nonEmpty.every(allows) ? { value: nonEmpty } : { fault: 'type' };
      },
    },
  );
}

/**
 * Returns a setting for one of several words; `read` returns the word as it is stored, or
 * undefined.
 */
export function wordSetting<Value>({
  expects,
  read,
  ...row
}: Row<Value> & {
  readonly expects: string;
  read(text: string): Value | undefined;
}): Setting<Value> {
  return setting(row, {
    expects,
    parse(text) {
      const value = read(text);
      return value === undefined ? { fault: 'range' } : { value };
    },
  });
}

/** Returns the rule of a whole number from `minimum` to `maximum`. */
export function integerRule(minimum: number, maximum: number): Rule<number> {
  return {
    expects: `an integer from ${minimum} to ${maximum}`,
    parse(text) {
      if (!/^[+-]?\d+$/.test(text)) return { fault: 'type' };
      const value = Number(text);
      return value < minimum || value > maximum ? { fault: 'range' } : { value };
    },
  };
}

/** Maximum length of a name, in characters: it has to fit into a log line and a JSON field. */
const NAME_LENGTH_MAX = 255;

/** Texts that a setting accepts. */
interface TextRule {
  readonly expects: string;
  allows(text: string): boolean;
}

/** The rule of a name. */
export const nameRule: TextRule = {
  expects: `a text of 1 to ${NAME_LENGTH_MAX} characters without control characters`,
  allows: (text) => text.length <= NAME_LENGTH_MAX && /^\P{Cc}+$/u.test(text),
};

/** The rule of a path; the system accepts no NUL in it. */
export const pathRule: TextRule = {
  expects: 'a path',
  allows: (text) => text !== '' && !text.includes('\0'),
};

/** The texts of a boolean, as a phrase after "not"; 1 and 0, from XML Schema, are also accepted. */
export const BOOLEAN_TEXTS = 'true or false';

/** The rule of a boolean. */
export const booleanRule: Rule<boolean> = {
  expects: BOOLEAN_TEXTS,
  parse(text) {
    const value = readBoolean(text);
    return value === undefined ? { fault: 'type' } : { value };
  },
};

/**
 * The type of a setting that this member recognizes but does not use, so that wrong values are also
 * reported for it.
 */
export interface ValueType {
  /** Allowed values, as a phrase after "not". */
  readonly expects: string;
  accepts(text: string): boolean;
}

/**
 * Reads a type: `s` text, `b` boolean, `i` integer and `n` number (`i0..6`, `i1..`), `a` anything,
 * or words such as `READ|WRITE`.
 */
export function readValueType(notation: string): ValueType {
  if (notation === 's' || notation === 'a' || notation === 'o') return ANY_TEXT;
  if (notation === 'b') return { expects: BOOLEAN_TEXTS, accepts: isBoolean };
  const range = /^([in])(?:(-?\d+)?\.\.(\d+)?)?$/.exec(notation);
  if (range === null) return wordType(notation.split('|'));
  return numberType(range[1] === 'i', Number(range[2] ?? -Infinity), Number(range[3] ?? Infinity));
}

/**
 * Reads a boolean, for every source: `true`, `false`, `1`, `0` in any case. Returns undefined for
 * any other text, which is an error wherever a boolean is expected.
 */
export function readBoolean(text: string): boolean | undefined {
  if (/^(true|1)$/i.test(text)) return true;
  return /^(false|0)$/i.test(text) ? false : undefined;
}

export function isBooleanType({ expects }: ValueType): boolean {
  return expects === BOOLEAN_TEXTS;
}

function isBoolean(text: string): boolean {
  return readBoolean(text) !== undefined;
}

const ANY_TEXT: ValueType = { expects: 'a text', accepts: () => true };

function wordType(words: readonly string[]): ValueType {
  return {
    expects: `one of ${words.join(', ')}`,
    accepts: (text) => words.some((word) => word.toUpperCase() === text.toUpperCase()),
  };
}

function numberType(isInteger: boolean, minimum: number, maximum: number): ValueType {
  const kind = isInteger ? 'an integer' : 'a number';
  const from = minimum === -Infinity ? '' : ` from ${minimum}`;
  const to = maximum === Infinity ? '' : ` to ${maximum}`;
  const pattern = isInteger ? /^[+-]?\d+$/ : /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
  return {
    expects: kind + (from === '' ? to : from + (to === '' ? ' up' : to)),
    accepts: (text) => pattern.test(text) && Number(text) >= minimum && Number(text) <= maximum,
  };
}
