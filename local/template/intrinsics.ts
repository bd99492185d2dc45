export type TemplateResource = {
  readonly Type: string
  readonly Properties?: Record<string, unknown>
  readonly Metadata?: Record<string, unknown>
  readonly Condition?: string
  readonly DependsOn?: string | readonly string[]
}

export type Template = {
  readonly Resources: Record<string, TemplateResource>
  readonly Parameters?: Record<string, { readonly Type?: string; readonly Default?: unknown }>
  readonly Conditions?: Record<string, unknown>
  readonly Mappings?: Record<string, Record<string, Record<string, unknown>>>
  readonly Outputs?: Record<string, { readonly Value: unknown }>
}

/** The stack's answers to the intrinsic functions of its template. */
export type Scope = {
  ref(logicalId: string): unknown
  attribute(logicalId: string, name: string): unknown
  condition(name: string): boolean
  mapping(name: string, topKey: string, secondKey: string): unknown
}

type Intrinsic = (argument: unknown, scope: Scope) => unknown

/** The value of `AWS::NoValue`: a property or list entry that resolves to it is removed. */
export const noValue = Symbol('AWS::NoValue')

/**
 * Replaces every intrinsic function in a template value by its result. It throws on an unknown intrinsic: a half-resolved value
 * would fail far away from its cause.
 */
export function resolveIntrinsics(value: unknown, scope: Scope): unknown {
  if (Array.isArray(value))
    return value.map(entry => resolveIntrinsics(entry, scope)).filter(entry => entry !== noValue)
  if (!isRecord(value)) return value
  const [name, argument] = soleEntry(value)
  if (name === undefined || !looksIntrinsic(name)) return resolveEntries(value, scope)
  const intrinsic = intrinsics[name]
  if (!intrinsic) throw new Error(`The template uses ${name}, which the local cloud cannot resolve`)
  return intrinsic(argument, scope)
}

function resolveEntries(value: Record<string, unknown>, scope: Scope) {
  const entries = Object.entries(value)
    .map(([key, entry]) => [key, resolveIntrinsics(entry, scope)] as const)
    .filter(([, entry]) => entry !== noValue)
  return Object.fromEntries(entries)
}

const intrinsics: Record<string, Intrinsic> = {
  Ref: (argument, scope) => scope.ref(String(argument)),
  Condition: (argument, scope) => scope.condition(String(argument)),
  'Fn::GetAtt': (argument, scope) => {
    const [id, name] = Array.isArray(argument) ? argument : splitOnce(String(argument), '.')
    return scope.attribute(String(id), String(name))
  },
  'Fn::Join': (argument, scope) => {
    const [separator, parts] = resolvedList(argument, scope)
    return (parts as unknown[]).map(String).join(String(separator))
  },
  'Fn::Split': (argument, scope) => {
    const [separator, text] = resolvedList(argument, scope)
    return String(text).split(String(separator))
  },
  'Fn::Select': (argument, scope) => {
    const [index, list] = resolvedList(argument, scope)
    return (list as unknown[])[Number(index)]
  },
  'Fn::Sub': substitute,
  'Fn::If': (argument, scope) => {
    const [condition, whenTrue, whenFalse] = argument as [string, unknown, unknown]
    return resolveIntrinsics(scope.condition(condition) ? whenTrue : whenFalse, scope)
  },
  'Fn::Equals': (argument, scope) => {
    const [left, right] = resolvedList(argument, scope)
    return String(left) === String(right)
  },
  'Fn::And': (argument, scope) => resolvedList(argument, scope).every(Boolean),
  'Fn::Or': (argument, scope) => resolvedList(argument, scope).some(Boolean),
  'Fn::Not': (argument, scope) => !resolvedList(argument, scope)[0],
  'Fn::FindInMap': (argument, scope) => {
    const [map, top, second] = resolvedList(argument, scope)
    return scope.mapping(String(map), String(top), String(second))
  },
  'Fn::Base64': (argument, scope) =>
    Buffer.from(String(resolveIntrinsics(argument, scope))).toString('base64'),
}

function substitute(argument: unknown, scope: Scope) {
  const [text, variables] = Array.isArray(argument) ? argument : [argument, {}]
  const own = resolveIntrinsics(variables, scope) as Record<string, unknown>
  return String(text).replace(/\$\{([^}]+)\}/g, (_whole, name: string) => {
    if (name.startsWith('!')) return `\${${name.slice(1)}}`
    if (name in own) return String(own[name])
    const [id, attribute] = splitOnce(name, '.')
    return String(attribute === '' ? scope.ref(id) : scope.attribute(id, attribute))
  })
}

const resolvedList = (argument: unknown, scope: Scope) => resolveIntrinsics(argument, scope) as unknown[]

const looksIntrinsic = (key: string) => key === 'Ref' || key === 'Condition' || key.startsWith('Fn::')

export function soleEntry(value: Record<string, unknown>): [string, unknown] | [undefined] {
  const keys = Object.keys(value)
  const key = keys[0]
  // A policy statement has a `Condition` and other keys; only `{ "Condition": "Name" }` alone is the intrinsic.
  if (keys.length !== 1 || key === undefined) return [undefined]
  if (key === 'Condition' && typeof value[key] !== 'string') return [undefined]
  return [key, value[key]]
}

export function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)]
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
