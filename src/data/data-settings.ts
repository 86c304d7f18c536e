/** Settings of maps and queues. Tested by member/config.spec.ts. */
import { integerRule, type NamedSetting, type ValuesOf } from '../config/setting.ts';
import type { SettingRows } from '../config/setting-table.ts';

/** The largest 32-bit integer, as in other members' configuration. */
const QUEUE_SIZE_MAX = 2_147_483_647;
const MAP_SECONDS_MAX = 2_147_483_647;

export const QUEUE_SETTINGS = {
  queueMaxSizes: {
    path: 'queue.{name}.max-size',
    flags: [
      {
        name: '--queue',
        argument: 'NAME=MAX',
        about: 'Capacity of the queue in items, 0 for no limit; "*" in NAME matches any text',
        expects: `NAME=MAX with a NAME and MAX ${integerRule(0, QUEUE_SIZE_MAX).expects}`,
        split: splitAtLastEquals,
      },
    ],
    about: 'Capacity of the queue; 0 for no limit',
    unit: 'items',
    fallback: new Map(),
    parseName: (text) => (text === '' ? undefined : text),
    ...integerRule(0, QUEUE_SIZE_MAX),
  } satisfies NamedSetting<string, number> as NamedSetting<string, number>,
} as const satisfies SettingRows;

export const MAP_SETTINGS = {
  mapTimeToLiveSeconds: secondsByMap(
    'time-to-live-seconds',
    'Time that an entry remains after it was written; 0 for no limit',
  ),
  mapMaxIdleSeconds: secondsByMap(
    'max-idle-seconds',
    'Time that an entry remains after it was last read or written; 0 for no limit',
  ),
} as const satisfies SettingRows;

export type DataConfig = ValuesOf<typeof QUEUE_SETTINGS & typeof MAP_SETTINGS>;

function secondsByMap(name: string, about: string): NamedSetting<string, number> {
  return {
    path: `map.{name}.${name}`,
    flags: [],
    about,
    unit: 'seconds',
    fallback: new Map(),
    parseName: (text) => (text === '' ? undefined : text),
    ...integerRule(0, MAP_SECONDS_MAX),
  };
}

function splitAtLastEquals(text: string): [[name: string, text: string]] | undefined {
  const at = text.lastIndexOf('=');
  return at < 0 ? undefined : [[text.slice(0, at), text.slice(at + 1)]];
}
