/** Replies cut off, on a fake server: src/engine/redis/queue-takes.ts, primary.ts. */
import { startFaultyServer } from '../../world/world-engines.ts';
import { describeCutReplies } from './cut-replies.case.ts';

describeCutReplies('on a fake server', startFaultyServer);
