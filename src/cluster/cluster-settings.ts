/** Settings of the cluster and of a member in it. Tested by member/config.spec.ts. */

import { SETTINGS_IN_MESSAGES } from '../base/settings-in-messages.ts';
import {
  booleanSetting,
  listSetting,
  nameRule,
  textSetting,
  type ValuesOf,
} from '../config/setting.ts';
import type { SettingRows } from '../config/setting-table.ts';

export const CLUSTER_SETTINGS = {
  tcpIpEnabled: booleanSetting({
    path: 'network.join.tcp-ip.enabled',
    about:
      'Whether a list of members is stored for requests to read and change; it has no other effect',
    fallback: false,
  }),
  tcpIpMembers: listSetting({
    path: 'network.join.tcp-ip.member-list',
    aliases: ['interface', 'member', 'members'].map((name) => `network.join.tcp-ip.${name}`),
    about: 'Members of that list',
    fallback: [],
    fallbackText: 'none',
    example: '10.3.10.4:5701',
    expects: 'addresses',
    allows: (text) => !/\s/.test(text),
  }),
  clusterName: textSetting({
    path: SETTINGS_IN_MESSAGES.clusterName,
    flag: { name: '--cluster-name', argument: 'NAME' },
    about: 'Name of the cluster, which administrative requests must contain',
    fallback: 'dev',
    ...nameRule,
  }),
  instanceName: textSetting({
    path: 'instance-name',
    flag: { name: '--instance-name', argument: 'NAME' },
    about: 'Name of this member',
    fallback: undefined,
    fallbackText: 'gridnode-<port>',
    example: 'member-1',
    ...nameRule,
  }),
  liteMember: booleanSetting({
    path: 'lite-member.enabled',
    about: 'Whether the member is reported as a lite member; it serves the same requests',
    fallback: false,
  }),
} as const satisfies SettingRows;

export type ClusterConfig = ValuesOf<typeof CLUSTER_SETTINGS>;
