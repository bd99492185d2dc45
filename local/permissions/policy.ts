/** A statement of a policy with its intrinsics resolved. */
export type Statement = {
  readonly Effect: string
  readonly Action?: string | readonly string[]
  readonly NotAction?: string | readonly string[]
  readonly Resource?: string | readonly string[]
  readonly NotResource?: string | readonly string[]
  readonly Condition?: Conditions
}

/** An action that a call needs. A request that does not name its resource, such as GetRecords, matches every resource. */
export type RequestedAction = {
  readonly action: string
  readonly resource: string | undefined
  readonly context?: Context
}

/**
 * The resource of an action that concerns no single resource, such as a list of all tables, and of a call that cannot be judged. Only
 * a policy for all resources covers it.
 */
export const EVERYTHING = '*'

export type Policy = ReturnType<typeof compilePolicy>

const NOTHING: Context = () => undefined

/** The cache has at most this many pairs of action and resource: new schedules bring new names without end. */
const CACHED_PAIRS_MAX = 1_000

/** Combines all policies of a role. It caches the statements for an action and a resource, and evaluates conditions per request. */
export function compilePolicy(statements: readonly Statement[]) {
  const cached = new Map<string, readonly Statement[]>()

  function statementsFor({ action, resource }: RequestedAction): readonly Statement[] {
    const name = `${action} ${resource}`
    const known = cached.get(name)
    if (known) return known
    const found = statements.filter(statement => covers(statement, action, resource))
    if (cached.size >= CACHED_PAIRS_MAX) cached.clear()
    cached.set(name, found)
    return found
  }

  return {
    /** Whether a statement allows the action and none denies it. */
    allows: (requested: RequestedAction) => {
      const { context = NOTHING } = requested
      const covering = statementsFor(requested)
      const has = (effect: string, unclear: Unclear) =>
        covering.some(one => one.Effect === effect && conditionsHold(one.Condition ?? {}, context, unclear))
      return (
        !has('Deny', { ifUnknown: false, ifUnjudged: true }) &&
        has('Allow', { ifUnknown: true, ifUnjudged: false })
      )
    },
  }
}

function covers(statement: Statement, action: string, resource: string | undefined): boolean {
  const { Action, NotAction, Resource, NotResource } = statement
  const coversAction = Action
    ? matchesPattern(Action, action, 'is')
    : NotAction && !matchesPattern(NotAction, action, 'is')
  if (!coversAction) return false
  if (resource === undefined) return true
  return Resource
    ? matchesPattern(Resource, resource, 's')
    : NotResource !== undefined && !matchesPattern(NotResource, resource, 's')
}

function matchesPattern(patterns: string | readonly string[], text: string, flags: string): boolean {
  return [patterns].flat().some(pattern => wildcard(pattern, flags).test(text))
}

/** Creates the value at its first use, once. */
export function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** What a request has for a condition key that is not judged: no `Allow` with such a condition covers it, and every `Deny` does. */
export const UNJUDGED = 'unjudged'

/** The values of a request for a condition key; undefined if the request has none. */
export type Context = (key: string) => readonly string[] | typeof UNJUDGED | undefined

/** The `Condition` of a statement: the wanted values by operator and key. */
type Conditions = Readonly<Record<string, Readonly<Record<string, unknown>>>>

type Match = (given: string, wanted: string) => boolean

/** The condition keys that are emulated, in lower case. A condition on another key cannot be evaluated. */
const KNOWN_KEYS = new Set(['dynamodb:leadingkeys', 'dynamodb:attributes', 'iam:passedtoservice'])

const MATCHES: Readonly<Record<string, Match>> = {
  StringEquals: (given, wanted) => given === wanted,
  StringLike: (given, wanted) => wildcard(wanted).test(given),
  ArnEquals: (given, wanted) => wildcard(wanted).test(given),
  ArnLike: (given, wanted) => wildcard(wanted).test(given),
}

const NEGATED: Readonly<Record<string, Match>> = {
  StringNotEquals: (given, wanted) => given !== wanted,
  StringNotLike: (given, wanted) => !wildcard(wanted).test(given),
}

const compiled = new Map<string, RegExp>()

/** The RegExp of an IAM pattern: `*` matches any text, `?` any one character. */
function wildcard(pattern: string, flags = 's'): RegExp {
  const name = `${flags} ${pattern}`
  const known = compiled.get(name)
  if (known) return known
  const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
  const made = new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`, flags)
  compiled.set(name, made)
  return made
}

/** The operators and keys of the conditions that cannot be evaluated here. */
export function unknownConditions(conditions: Conditions): string[] {
  return Object.entries(conditions).flatMap(([operator, keys]) =>
    Object.keys(keys)
      .filter(key => !isKnown(operator, key))
      .map(key => `${operator} ${key}`),
  )
}

/** The result of a condition that cannot be evaluated, and of one about what is not judged of the request. */
type Unclear = { readonly ifUnknown: boolean; readonly ifUnjudged: boolean }

function conditionsHold(
  conditions: Conditions,
  context: Context,
  { ifUnknown, ifUnjudged }: Unclear,
): boolean {
  return Object.entries(conditions).every(([operator, keys]) =>
    Object.entries(keys).every(([key, wanted]) => {
      if (!isKnown(operator, key)) return ifUnknown
      const given = context(key)
      return given === UNJUDGED ? ifUnjudged : holds(operator, given, listOf(wanted))
    }),
  )
}

function isKnown(operator: string, key: string): boolean {
  const { name } = partsOf(operator)
  return KNOWN_KEYS.has(key.toLowerCase()) && (name in MATCHES || name in NEGATED)
}

function partsOf(operator: string) {
  const [set, rest] = operator.includes(':') ? operator.split(':') : [undefined, operator]
  const isOptional = rest?.endsWith('IfExists') ?? false
  return { set, isOptional, name: rest?.replace(/IfExists$/, '') ?? '' }
}

/** As in IAM, `ForAllValues` holds for a request without a value for the key. */
function holds(operator: string, given: readonly string[] | undefined, wanted: readonly string[]): boolean {
  const { set, isOptional, name } = partsOf(operator)
  if (given === undefined) return isOptional || set === 'ForAllValues' || name in NEGATED
  const [match, negated] = [MATCHES[name], NEGATED[name]]
  const fits = (value: string) =>
    match ? wanted.some(one => match(value, one)) : wanted.every(one => negated?.(value, one))
  return set === 'ForAnyValue' ? given.some(fits) : given.every(fits)
}

function listOf(value: unknown): string[] {
  return [value].flat().map(String)
}
