/** Covers src/member.ts and src/rest. Maps and queues of a whole member over real sockets. */
import { resolveConfig } from '../../src/config/config.ts';
import { startMember } from '../../src/member.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { dataCases } from './data.case.ts';

dataCases('a member', () => {
  const source = { kind: 'flag', name: 'test' } as const;
  const config = resolveConfig([
    { key: 'port', text: '0', source },
    { key: 'maxMemory', text: '16m', source },
    { key: 'endpointGroups', name: 'DATA', text: 'true', source },
  ]);
  return startMember(config, createLog('OFF', process.stdout));
});
