/** Settings of the CP subsystem. Tested by member/config.spec.ts. */
import { integerSetting, type ValuesOf } from '../config/setting.ts';
import type { SettingRows } from '../config/setting-table.ts';

const MEMBERS_MAX = 1000;
/** The largest 32-bit integer, as in other members' configuration. */
const SECONDS_MAX = 2_147_483_647;

export const CP_SETTINGS = {
  cpMemberCount: integerSetting({
    path: 'cp-subsystem.cp-member-count',
    about: 'Number of members that become CP members, in the order in which they join; 0 for all',
    unit: 'members',
    fallback: 0,
    minimum: 0,
    maximum: MEMBERS_MAX,
  }),
  cpSessionSeconds: integerSetting({
    path: 'cp-subsystem.session-time-to-live-seconds',
    about: 'Time without a heartbeat after which a CP session ends, and its locks with it',
    unit: 'seconds',
    fallback: 300,
    minimum: 1,
    maximum: SECONDS_MAX,
  }),
  cpRemovalSeconds: integerSetting({
    path: 'cp-subsystem.missing-cp-member-auto-removal-seconds',
    about: 'Time after which a CP member that has not left, but is gone, is removed; 0 for never',
    unit: 'seconds',
    fallback: 14_400,
    minimum: 0,
    maximum: SECONDS_MAX,
  }),
} as const satisfies SettingRows;

export type CpConfig = ValuesOf<typeof CP_SETTINGS>;
