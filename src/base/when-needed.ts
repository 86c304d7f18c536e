/**
 * Modules that are loaded when they are first needed. The promise is kept: a further `import()` costs a look
 * at the disk where a loader compiles the sources.
 */
export function whenNeeded<Module>(load: () => Promise<Module>): () => Promise<Module> {
  let module: Promise<Module> | undefined;
  return () => {
    module ??= load();
    return module;
  };
}
