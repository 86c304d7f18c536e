/** The operations of persistence. */
import {
  COUNT,
  json,
  NUMBER,
  type OperationPart,
  type OperationParts,
  success,
  TEXT,
} from './schema.ts';

const START: OperationPart = {
  failsWith200: true,
  responses: { 200: json('The member has started', success()) },
};
const BACKUP: OperationPart = {
  responses: {
    200: json(
      'The backup is complete',
      success(
        {},
        {
          path: { ...TEXT, description: 'The directory of the backup' },
          bytes: COUNT,
          seconds: NUMBER,
        },
      ),
    ),
  },
};
const INTERRUPTION: OperationPart = {
  failsWith200: true,
  responses: { 200: json('The backup is interrupted', success()) },
};

export const PERSISTENCE_OPERATIONS: OperationParts = {
  forceStart: START,
  partialStart: START,
  backUp: BACKUP,
  interruptBackup: INTERRUPTION,
  hotBackup: { ...BACKUP, isOldName: true },
  interruptHotBackup: { ...INTERRUPTION, isOldName: true },
};
