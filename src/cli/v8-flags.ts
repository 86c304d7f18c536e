/**
 * Sets V8 flags. A request passes through a long chain of small functions, and V8 limits the bytes that it
 * inlines into one function. With higher limits pipelined requests are a tenth faster (bench: http-load).
 * Under load V8 also doubles the space of young objects, up to 32 MiB, and retains it. As a request
 * creates little garbage, the initial space is enough, so its growth is disabled. The flags must be set
 * before any function is optimized. They affect the whole process, so the program and its benches set
 * them, but not the library.
 */
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--max-inlined-bytecode-size=1500');
setFlagsFromString('--max-inlined-bytecode-size-cumulative=4500');
setFlagsFromString('--semi-space-growth-factor=1');
