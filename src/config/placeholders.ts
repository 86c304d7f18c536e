/**
 * Placeholders in a file's values: `${NAME}` is replaced by the environment variable of exactly that
 * name, or else by that of the name in upper case. `${NAME:text}` is replaced by `text` where neither
 * is set. A placeholder without a value stays as it is.
 */

interface Replaced {
  readonly text: string;
  /** Names without a value. */
  readonly unset: readonly string[];
}

export function replacePlaceholders(text: string, environment: NodeJS.ProcessEnv): Replaced {
  const unset: string[] = [];
  const replaced = text.replace(
    /\$\{([^{}:]+)(?::([^{}]*))?\}/g,
    (whole, name: string, fallback) => {
      const value =
        variable(environment, name) ?? variable(environment, name.toUpperCase()) ?? fallback;
      if (value === undefined) unset.push(name);
      return value ?? whole;
    },
  );
  return { text: replaced, unset };
}

/** Inherited properties are not variables. */
function variable(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  return Object.hasOwn(environment, name) ? environment[name] : undefined;
}
