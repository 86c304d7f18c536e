/**
 * The rows of all settings that a file may have: those of the table in settings.ts, and those of
 * WAN replication that have more than one free name or their own reader.
 */
import type { AnySetting } from './setting.ts';
import { SETTINGS } from './settings.ts';
import { MAP_WAN_SETTINGS, PUBLISHER_SETTINGS } from './wan-settings.ts';

export const ALL_ROWS: readonly AnySetting[] = [
  ...Object.values(SETTINGS),
  ...Object.values(PUBLISHER_SETTINGS),
  ...Object.values(MAP_WAN_SETTINGS),
];
