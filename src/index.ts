/** The public door: what a program that embeds a member may use. */
export { type Config, resolveConfig } from './config/config.ts';
export { type Member, startMember } from './member.ts';
export { createLog, type Log, openLog } from './telemetry/log.ts';
