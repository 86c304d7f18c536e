/**
 * The way of a request is one long chain of small functions. V8 inlines only so many bytes of them
 * into one; with more, pipelined requests are a tenth faster (bench: http-load). And V8 doubles the
 * space of young objects under load up to 32 MiB and keeps it; a request leaves so little behind that
 * the space that start-up took is enough. Set before anything is optimized, by the program (and its
 * benches) and not by the library, because it concerns the whole process.
 */
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--max-inlined-bytecode-size=1500');
setFlagsFromString('--max-inlined-bytecode-size-cumulative=4500');
setFlagsFromString('--semi-space-growth-factor=1');
