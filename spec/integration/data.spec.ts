/** Covers src/member/member.ts and src/surface. Maps and queues of a whole member over real sockets. */
import { dataCases } from './data.case.ts';
import { memberWith } from './member-on.ts';

dataCases('a member', () => memberWith({ maxMemory: '64m' }));
