/**
 * One operation of the OpenAPI document, from its row and its part: the parameters in the path, the
 * content of the request, the responses and the login. Tested by openapi-document.spec.ts.
 */
import assert from 'node:assert';
import type { AccessControl } from '../../security/access-control.ts';
import type { Dialect } from '../dialect.ts';
import { type Parameter, type Permission, type Route, statusesOf } from '../route.ts';
import {
  type DescribedResponse,
  json,
  named,
  type OperationPart,
  only,
  type Schema,
  TEXT,
} from './schema.ts';
import type { SharedResponse } from './shared-responses.ts';

export interface OperationOptions {
  readonly dialect: Dialect;
  /** HTTP Basic of clients, and of other members; undefined if no login is required. */
  readonly login: Pick<AccessControl, 'coversHealth'> | undefined;
  readonly memberLogin: object | undefined;
}

/** Number of parameters of a form that are credentials. */
const CREDENTIAL_COUNT = 2;
/** Maximum number of parameters of a form. */
const PARAMETERS_MAX = 5;

const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  map: 'The name of the map',
  key: 'The key; a slash is sent as `%2F`',
  queue: 'The name of the queue',
  seconds: 'The time to wait, at most',
  uuid: 'The uuid',
  group: 'The name of the group',
  id: 'The id of the session',
  lock: 'The name of the lock',
};

const QUERY_PARAMETERS: Readonly<Record<string, string>> = {
  prefix: 'The beginning of the names or keys to list',
  limit: 'Maximum number of lines before the last one; without it, all are listed',
  cursor: 'The cursor with which an earlier response of the same list ended',
};

/**
 * Returns the operation of a row; `name`: its id. `shared`: the shared responses of the dialect, by
 * status.
 */
export function operationOf(
  name: string,
  row: Route,
  part: OperationPart,
  shared: ReadonlyMap<number, SharedResponse>,
  options: OperationOptions,
): object {
  const { group, summary, permission, path } = row;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, variable = '']) =>
    pathParameter(variable, row.parameters, part),
  );
  const inHeader = Object.entries(part.fields ?? {}).map(([field, described]) => {
    return { name: field, in: 'header', ...described };
  });
  const inQuery = row.parameters.filter(({ place }) => place === 'query').map(queryParameter);
  const parameters = [...inPath, ...inQuery, ...inHeader];
  const body = requestBodyOf(row, part);
  return {
    operationId: name,
    tags: [group],
    summary,
    ...(part.description === undefined ? {} : { description: part.description }),
    ...(part.isOldName === true ? { deprecated: true } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: responsesOf(row, part, shared, options),
    security: needsBasic(permission.login, options) ? [{ basic: [] }] : [],
  };
}

function pathParameter(
  name: string,
  parameters: readonly Parameter[],
  part: OperationPart,
): object {
  const declared = parameters.find((each) => each.name === name);
  const schema =
    declared?.kind === 'integer'
      ? { type: 'integer', maximum: declared.most }
      : { type: 'string', minLength: 1 };
  const description = part.inPath?.[name] ?? PATH_PARAMETERS[name];
  return { name, in: 'path', required: true, description, schema };
}

function queryParameter({ name, kind, least, most }: Parameter): object {
  const schema =
    kind === 'integer' ? { type: 'integer', minimum: least, maximum: most } : { type: 'string' };
  return { name, in: 'query', description: QUERY_PARAMETERS[name], schema };
}

/** The content of a request; undefined if it is not used. */
function requestBodyOf({ permission, parameters }: Route, part: OperationPart): object | undefined {
  const { content, values = {} } = part;
  if (permission.login !== 'credentials') return content && { content };
  const names = ['user', 'password', ...parameters.map(({ name }) => name)];
  const form = names.join('&');
  const [[name = '', known = []] = []] = Object.entries(values);
  const examples = known.map((value) => [value, { value: form.replace(name, value) }] as const);
  const schema = named(formName(names.length));
  return {
    description: `\`${form}\``,
    required: true,
    content: {
      'text/plain': {
        schema,
        ...(examples.length > 1
          ? { examples: Object.fromEntries(examples) }
          : { example: examples[0]?.[1].value ?? form }),
      },
    },
  };
}

/** Returns the schemas of forms, by their names. */
export function formSchemas(): Readonly<Record<string, Schema>> {
  const forms = Array.from({ length: PARAMETERS_MAX + 1 - CREDENTIAL_COUNT }, (_, index) => {
    const count = CREDENTIAL_COUNT + index;
    return [formName(count), { type: 'string', pattern: formPattern(count) }] as const;
  });
  return Object.fromEntries(forms);
}

/** Returns the name of the schema of a form with this number of parameters. */
function formName(count: number): string {
  return `Form${count}`;
}

/** Further ampersands belong to the last parameter. */
function formPattern(count: number): string {
  return `^(${FORM_CHARACTER}*&){${count - 1}}(${FORM_CHARACTER}|&)*$`;
}

const FORM_CHARACTER = '([^&%]|%[0-9A-Fa-f]{2})';

function responsesOf(
  row: Route,
  part: OperationPart,
  shared: ReadonlyMap<number, SharedResponse>,
  options: OperationOptions,
): object {
  const { distinguishesFailures, reportsOldNames } = options.dialect;
  const hidesFailures = !distinguishesFailures && row.dialect === undefined;
  const isHidden = (status: number) =>
    hidesFailures &&
    (status === 404 || status === 409) &&
    (part.failsWith200 === true || row.permission.login === 'credentials');
  const described: Record<string, object> = {};
  for (const status of [...statusesOf(row)].sort((a, b) => a - b)) {
    if (isHidden(status) || !isPossible(status, row, options)) continue;
    const own = part.responses[status];
    const common = shared.get(status);
    if (own !== undefined) described[status] = own;
    else if (common !== undefined)
      described[status] = { $ref: `#/components/responses/${common.name}` };
    else assert.fail(`status ${status} of ${row.path} is described`);
  }
  const { 200: success } = part.responses;
  if (success !== undefined) {
    const fails = hidesFailures && part.failsWith200 === true;
    const fields = reportsOldNames && part.isOldName === true ? { headers: OLD_NAME_FIELDS } : {};
    described[200] = { ...(fails ? orFailure(success) : success), ...fields };
  }
  return { ...described, default: { $ref: '#/components/responses/Unreadable' } };
}

const OLD_NAME_FIELDS = {
  Deprecation: { schema: only('true') },
  Warning: { description: 'The current name', schema: TEXT },
};

/** A result that may also be a failure. */
function orFailure({ description, content = {} }: DescribedResponse): DescribedResponse {
  const { schema } = content['application/json'] ?? {};
  return json(`${description}, or a failure`, { anyOf: [schema, named('FailureInState')] });
}

/** Whether the operation can have the status with these logins. */
function isPossible(
  status: number,
  { permission: { login } }: Route,
  options: OperationOptions,
): boolean {
  if (status === 401) return needsBasic(login, options);
  if (status !== 429) return true;
  return needsBasic(login === 'credentials' ? 'member' : login, options);
}

/** Whether HTTP Basic is required. */
export function needsBasic(
  needed: Permission['login'],
  { login, memberLogin }: OperationOptions,
): boolean {
  if (needed === 'member') return memberLogin !== undefined;
  if (needed === 'health') return login?.coversHealth === true;
  return needed === 'user' && login !== undefined;
}
