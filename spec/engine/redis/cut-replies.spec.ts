/**
 * Covers src/engine/redis/queue-takes.ts and src/engine/redis/primary.ts. Replies cut off, on a
 * fake server.
 */
import { startFaultyServer } from '../../world/world-engines.ts';
import { describeCutReplies } from './cut-replies.case.ts';

describeCutReplies('on a fake server', startFaultyServer);
