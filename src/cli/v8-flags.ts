/**
 * Sets flags of V8. A request passes through one long chain of small functions, and V8 inlines only so
 * many bytes of them into one function. With higher limits pipelined requests are a tenth faster
 * (bench: http-load). Under load V8 also doubles the space of young objects, up to 32 MiB, and keeps
 * it. A request leaves so little garbage that the space at start-up is enough, so the space does not
 * grow. The flags are set before any function is optimized. They concern the whole process, so the
 * program (and its benches) sets them, and the library does not.
 */
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--max-inlined-bytecode-size=1500');
setFlagsFromString('--max-inlined-bytecode-size-cumulative=4500');
setFlagsFromString('--semi-space-growth-factor=1');
