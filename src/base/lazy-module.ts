/**
 * Loads a module when it is first needed. The promise is retained: repeating the `import()` would
 * access the disk if a loader compiles the sources. Tested by member/load.spec.ts.
 */
export function lazyModule<Module>(load: () => Promise<Module>): () => Promise<Module> {
  let module: Promise<Module> | undefined;
  return () => {
    module ??= load();
    return module;
  };
}
