/**
 * Operations on all stored data: backups, and starts that wait for an operator's decision.
 * Responses are sent when the work is done.
 */
import { GridError } from '../base/errors.ts';
import { pathOf } from '../config/setting.ts';
import { ENGINE_SETTINGS } from '../engine/engine-settings.ts';
import type { Fields } from '../http/response.ts';
import type { Actions, Work } from '../surface/action.ts';
import { type AdministrativeCall, refusalOf } from '../surface/administrative-call.ts';
import type { Dialect } from '../surface/dialect.ts';
import type { BackupMade, Maintenance } from './maintenance.ts';
import { PERSISTENCE_ROUTES } from './persistence-routes.ts';
import { PERSISTENCE_SETTINGS } from './persistence-settings.ts';

/** `maintenance`: undefined without persistence. `isShared`: whether servers store the data. */
export function persistenceActions(
  maintenance: Maintenance | undefined,
  dialect: Dialect,
  isShared: boolean,
): Actions<typeof PERSISTENCE_ROUTES> {
  /**
   * A backup resolves with the fields of its response. `replacement`: the path of the current name
   * of the call, if it has an old one.
   */
  const work = (
    run: (maintenance: Maintenance) => Promise<BackupMade | undefined>,
    refuse: (call: AdministrativeCall, fields?: Fields) => void,
    replacement?: string,
  ): Work => {
    return (call) => {
      const isOld = replacement !== undefined && dialect.reportsOldNames;
      const fields = isOld ? deprecation(call, replacement) : undefined;
      if (maintenance === undefined) return refuse(call, fields);
      call.await(run(maintenance).catch(refusalOf), (outcome) => {
        if (outcome instanceof GridError) call.fail(outcome, dialect.statusOf(outcome), {});
        else call.succeed((dialect.reportsBackups && outcome) || {}, fields);
      });
    };
  };

  const refuseStart = (call: AdministrativeCall): void => {
    if (dialect.answersWithoutPersistence) call.respondWithFailure();
    else refuse(call, isShared);
  };
  const refuseBackup = (call: AdministrativeCall, fields?: Fields): void => {
    if (dialect.answersWithoutPersistence) call.succeed({}, fields);
    else refuse(call, isShared);
  };

  const backUp = (all: Maintenance) => all.backUp();
  const interrupt = (all: Maintenance) => all.interruptBackup().then(nothing);
  return {
    forceStart: work((all) => all.forceStart().then(nothing), refuseStart),
    partialStart: work((all) => all.partialStart().then(nothing), refuseStart),
    backUp: work(backUp, refuseBackup),
    interruptBackup: work(interrupt, refuseBackup),
    hotBackup: work(backUp, refuseBackup, PERSISTENCE_ROUTES.backUp.path),
    interruptHotBackup: work(interrupt, refuseBackup, PERSISTENCE_ROUTES.interruptBackup.path),
  };
}

/** Refuses a call on a member that stores no data on its disk. */
function refuse(call: AdministrativeCall, isShared: boolean): void {
  const { action } = call;
  if (isShared)
    call.refuse('DATA_ELSEWHERE', { action, setting: pathOf(ENGINE_SETTINGS.engineUrl) });
  else
    call.refuse('PERSISTENCE_OFF', {
      action,
      setting: pathOf(PERSISTENCE_SETTINGS.persistenceEnabled),
    });
}

function deprecation(call: AdministrativeCall, replacement: string): Fields {
  const [, segment] = call.action.split('/', 2);
  const advice = `Please use /${segment}/${replacement} instead.`;
  const warning = `299 - "Deprecated API". ${advice} This API will be removed in future releases.`;
  return { Deprecation: 'true', Warning: warning };
}

function nothing(): undefined {}
