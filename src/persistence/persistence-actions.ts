/**
 * Operations on all stored data (group PERSISTENCE): backups, and starts that wait for an
 * operator's decision. Responses are sent when the work is done.
 */
import { GridError } from '../base/errors.ts';
import { pathOf } from '../config/settings.ts';
import type { Fields } from '../http/exchange.ts';
import type { AdministrativeCall } from '../surface/administrative-call.ts';
import type { BackupMade, Maintenance } from './maintenance.ts';

export const backUp = maintenanceWork((maintenance) => maintenance.backUp());
export const interruptBackup = maintenanceWork((maintenance) =>
  maintenance.interruptBackup().then(nothing),
);
export const forceStart = maintenanceWork((maintenance) => maintenance.forceStart().then(nothing));
export const partialStart = maintenanceWork((maintenance) =>
  maintenance.partialStart().then(nothing),
);

/**
 * Creates the work of an endpoint. A backup resolves with the fields of its response. `fields`:
 * header fields of a successful response.
 */
function maintenanceWork(run: (maintenance: Maintenance) => Promise<BackupMade | undefined>) {
  return (call: AdministrativeCall, fields?: Fields): void => {
    const { administration, dialect } = call.services;
    const { maintenance } = administration;
    if (maintenance === undefined) return refuse(call);
    call.await(run(maintenance).catch(refusalOf), (outcome) => {
      if (outcome instanceof GridError) call.fail(outcome, dialect.statusOf(outcome), {});
      else call.succeed((dialect.reportsBackups && outcome) || {}, fields);
    });
  };
}

/** Refuses a call on a member that stores no data on its disk. */
function refuse(call: AdministrativeCall): void {
  const { action, services } = call;
  if (services.data.isShared) {
    call.refuse('DATA_ELSEWHERE', { action, setting: pathOf('engineUrl') });
  } else call.refuse('PERSISTENCE_OFF', { action, setting: pathOf('persistenceEnabled') });
}

function refusalOf(error: unknown): GridError {
  if (error instanceof GridError) return error;
  throw error;
}

function nothing(): undefined {}
