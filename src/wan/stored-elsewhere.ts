/** The refusal of a call that needs the data in this member. Tested by shared-wan.spec.ts. */
import { GridError } from '../base/errors.ts';
import { pathOf } from '../config/setting.ts';
import { ENGINE_SETTINGS } from '../engine/engine-settings.ts';

export function storedElsewhere(action: string): GridError {
  return new GridError('WAN_ELSEWHERE', { action, setting: pathOf(ENGINE_SETTINGS.engineUrl) });
}
